"""Two runs side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from evalkit.trace.diff import DifferenceKind, compare
from evalkit.trace.model import Kind, Step, StepError, Trace, Usage
from tests.build import BOUGHT_AT, a_trace, tool_step
from tests.strategies import traces


def model(seq: int, text: str | None, *calls: tuple[str, Any], call_id: str = "c") -> Step:
    """A model's answer."""
    asked: list[Any] = [
        {"id": f"{call_id}{at}", "name": name, "arguments": given} for at, (name, given) in enumerate(calls)
    ]
    return Step(seq, "model", "chat", {"messages": []}, {"role": "assistant", "content": text, "tool_calls": asked})


def run(*, amount: int = 5, tool: str = "refund", found: Any = "W1", said: str = "done", call_id: str = "c") -> Trace:
    """A small run: lookup, decision, write, answer."""
    return a_trace(
        tool_step(0, "lookup", {"order": 7}, found),
        model(1, None, (tool, {"amount": amount}), call_id=call_id),
        tool_step(2, tool, {"amount": amount}, effect="write"),
        model(3, said),
        output=said,
    )


def test_equal_runs_have_no_difference() -> None:
    """Other ids of calls and another time are no difference."""
    again = run(call_id="z")
    later = tuple(replace(step, started_at=None, ended_at=None) for step in again.steps)
    found = compare(run(), replace(again, id="run-2", steps=later))
    assert found.first is None
    assert (found.same_outcome, found.same_tools, found.same_effects, found.similarity) == (True, True, True, 1.0)
    assert all(pair.same and pair.left == pair.right for pair in found.pairs)


@pytest.mark.parametrize(
    ("other", "kind", "at"),
    [
        (run(amount=6), "decision", 1),
        (run(tool="cancel"), "decision", 1),
        (run(found="W2"), "result", 0),
        (run(said="sorry"), "decision", 3),
    ],
)
def test_the_first_divergence_is_named(other: Trace, kind: DifferenceKind, at: int) -> None:
    """What parted the runs first, with its step on each side."""
    first = compare(run(), other).first
    assert first is not None
    assert (first.kind, first.left, first.right) == (kind, at, at)


def test_an_argument_is_the_first_divergence_where_no_model_was_recorded() -> None:
    """The sentence holds both values."""
    left, right = (a_trace(tool_step(0, "refund", {"amount": sum_}, effect="write")) for sum_ in (5, 6))
    found = compare(left, right)
    assert found.first is not None
    assert found.first.kind == "argument"
    assert found.first.sentence == 'refund was given {"amount":5} against {"amount":6}'
    assert not found.same_effects


def test_one_more_call_stands_beside_nothing() -> None:
    """The steps after it are aligned again."""
    more = a_trace(tool_step(0, "find"), tool_step(1, "check"), tool_step(2, "pay"))
    found = compare(a_trace(tool_step(0, "find"), tool_step(1, "pay")), more)
    assert [(pair.left, pair.right) for pair in found.pairs] == [(0, 0), (None, 1), (1, 2)]
    assert [one.sentence for one in found.differences] == ["only the right run calls check"]


def test_the_order_of_effects_is_a_difference_of_tools_only() -> None:
    """Effects are a multiset; the sequence of tools is a sequence."""
    left = a_trace(tool_step(0, "pay", effect="write"), tool_step(1, "mail", effect="write"))
    right = a_trace(tool_step(0, "mail", effect="write"), tool_step(1, "pay", effect="write"))
    found = compare(left, right)
    assert (found.same_effects, found.same_tools) == (True, False)


@pytest.mark.parametrize("fields", [{"status": "failed"}, {"error": StepError("KeyError")}, {"output": "x"}])
def test_another_end_is_another_outcome(fields: dict[str, Any]) -> None:
    """Status, error type and final answer make the outcome."""
    found = compare(a_trace(output="y"), a_trace(**{"output": "y", **fields}))
    assert not found.same_outcome
    assert found.differences[-1].kind == "outcome"


@given(traces(), traces())
def test_every_step_stands_in_exactly_one_pair(left: Trace, right: Trace) -> None:
    """A view side by side loses no step and shows none twice."""
    pairs = compare(left, right).pairs
    assert [pair.left for pair in pairs if pair.left is not None] == [step.seq for step in left.steps]
    assert [pair.right for pair in pairs if pair.right is not None] == [step.seq for step in right.steps]


@given(traces())
def test_a_run_equals_itself(trace: Trace) -> None:
    """Whatever it holds."""
    found = compare(trace, trace)
    assert found.differences == ()
    assert found.similarity == 1.0


def asked(kind: Kind, name: str, output: Any, seq: int = 0) -> Step:
    """A retrieval, a policy or an approval."""
    return Step(seq, kind, name, {"query": "terms"}, output)


@pytest.mark.parametrize(
    ("left", "right", "kind", "said"),
    [
        (asked("policy", "may_refund", "allow"), asked("policy", "may_refund", "deny"), "policy", "allow against deny"),
        (asked("approval", "confirm", {"approved": True}), asked("approval", "confirm", {"approved": False}), "policy",
         'confirm said {"approved":true} against {"approved":false}'),
        (asked("approval", "confirm", True), None, "policy", "only the left run asks confirm"),
        (asked("retrieval", "search", [{"id": "faq-1"}, {"id": "faq-2"}]), asked("retrieval", "search", []), "citation",
         'search found ["faq-1","faq-2"] against []'),
    ],
)  # fmt: skip
def test_what_was_decided_and_found_has_kinds_of_its_own(
    left: Step, right: Step | None, kind: DifferenceKind, said: str
) -> None:
    """A reviewer looks for another decision, or other sources."""
    (difference,) = compare(a_trace(left), a_trace(*([right] if right else []))).differences
    assert difference.kind == kind
    assert said in difference.sentence


def test_an_answer_that_names_other_documents_is_another_citation() -> None:
    """Of those that were found; a word that only holds an id does not name it."""
    search = asked("retrieval", "search", [{"id": "faq-1"}, {"id": "faq-2"}, {"id": "f"}])
    left, right = (a_trace(search, output=f"See {name}. f xfaq-2y") for name in ("faq-1", "faq-2"))
    found = compare(left, right)
    assert [one.kind for one in found.differences] == ["citation", "outcome"]
    assert found.differences[0].sentence == "the answer cites faq-1 against faq-2"


def used(tokens: int, cost: float | None, seconds: float) -> Trace:
    """A run that took so much."""
    step = Step(0, "model", "chat", {"messages": []}, {"role": "assistant"}, usage=Usage(tokens, 0, cost_usd=cost))
    return a_trace(step, ended_at=BOUGHT_AT + seconds)


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        (used(100, 1.0, 10), used(900, 1.05, 10.5), []),
        (used(100, 1.0, 10), used(100, 1.5, 10), ["cost"]),
        (used(100, None, 10), used(200, 1.0, 10), ["cost"]),
        (used(100, None, 10), used(100, None, 20), ["latency"]),
        (used(100, None, 10), replace(used(900, None, 99), started_at=None), ["cost"]),
    ],
)
def test_more_than_a_tenth_dearer_or_slower_is_told(left: Trace, right: Trace, kinds: list[str]) -> None:
    """In money where both tell it, else in tokens; what one does not tell is no difference."""
    assert [one.kind for one in compare(left, right).differences] == kinds
