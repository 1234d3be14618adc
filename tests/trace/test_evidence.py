"""How complete a trace is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from evalkit.trace.evidence import evidence
from evalkit.trace.model import Step, StepError, Trace
from tests.strategies import traces

CALL = {"id": "c1", "name": "get_x", "arguments": {}}
ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"name": "get_x", "parameters": {}}],
    "params": {},
}
BARE = {**ASKED, "tools": []}


def model(seq: int, output: Any = None, given: Any = ASKED, **more: Any) -> Step:
    """A model step that lacks nothing."""
    answer = {"role": "assistant", "content": "x"} if output is None else output
    return replace(Step(seq, "model", "chat", given, answer, started_at=1.0, ended_at=2.0), **more)


def tool(seq: int, call_id: str | None = "c1", **more: Any) -> Step:
    """A tool step that lacks nothing."""
    attributes = {} if call_id is None else {"tool_call_id": call_id}
    return replace(Step(seq, "tool", "get_x", {}, 1, started_at=1.0, ended_at=2.0, attributes=attributes), **more)


def trace(*steps: Step, **more: Any) -> Trace:
    """A trace of some steps."""
    return Trace("t", "agent", "evalkit", steps, **more)


CUT = {"tool_call_id": "c1", "unfinished": True}
BLANK = {"tool_call_id": "c1", "missing": ["output"]}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def words(letter: str, length: int) -> str:
    """Prose of some length."""
    return (f"{letter}{letter}{letter} " * length)[: length - 1] + letter


@pytest.mark.parametrize("call_id", ["c1", None])
def test_a_whole_trace_scores_one(call_id: str | None) -> None:
    """Every call answered, by id or by name and order, every message there: nothing is missing."""
    found = evidence(trace(model(0, CALLING), tool(1, call_id), model(2)))
    assert (found.score, found.gaps) == (1.0, ())


@pytest.mark.parametrize(
    ("steps", "score", "gap"),
    [
        ((model(0, CALLING),), 0.5, "step 0: tool result missing: no step for the call of get_x"),
        ((tool(0, None), model(1, CALLING)), 0.75, "step 1: tool result missing: no step for the call of get_x"),
        ((model(0, {**CALLING, "tool_calls": [CALL] * 2}), tool(1)), 0.75, "step 0: tool result missing"),
        ((model(0, CALLING), tool(1, attributes=CUT)), 0.5, "step 1: tool result"),
        ((model(0, CALLING), tool(1, attributes=BLANK)), 0.5, "step 1: tool result missing"),
        ((model(0, CALLING), tool(1, input=None)), 0.5, "step 1: arguments of get_x missing"),
        ((model(0), model(1, given={"messages": []})), 0.85, "step 1: messages missing"),
        ((model(0, given="a prompt"),), 0.7, "step 0: messages missing"),
        ((model(0), replace(model(1), output=None)), 0.85, "step 1: model answer missing"),
        ((model(0, CALLING, BARE), tool(1), model(2)), 0.95, "step 0: tool definitions of get_x missing"),
        ((model(0), model(1, ended_at=None)), 0.95, "step 1: times missing"),
    ],
)  # fmt: skip
def test_each_gap_is_named_by_step_and_costs(steps: tuple[Step, ...], score: float, gap: str) -> None:
    """What is missing stands in a sentence with its step's number, and lowers the score by its share."""
    found = evidence(trace(*steps))
    assert found.score == pytest.approx(score)
    assert any(each.startswith(gap) for each in found.gaps), found.gaps


def test_an_error_is_an_answer() -> None:
    """A failed call is known in full: its error is what came back."""
    failed = tool(1, output=None, error=StepError("Timeout"))
    assert evidence(trace(model(0, CALLING), failed, model(2, error=StepError("x")))).score == 1.0
    assert evidence(trace(replace(model(0), output=None, error=StepError("x")))).score == 1.0


def test_a_cut_off_trace_says_so_after_its_own_gaps() -> None:
    """The source's own gaps come first, each only once; an unfinished run counts for less."""
    found = evidence(trace(model(0), status="unfinished", gaps=("no end", "no end")))
    assert found.gaps == ("no end", "the record stops before the run did")
    assert found.score == pytest.approx(0.8 * 0.95)


def test_a_gap_that_the_source_names_costs() -> None:
    """A trace that says itself what it lacks is never complete; many such sentences cost a fifth at most."""
    assert evidence(trace(model(0), gaps=("messages can't be rebuilt",))).score == pytest.approx(0.95)
    assert evidence(trace(model(0), gaps=tuple("abcdefgh"))).score == pytest.approx(0.8)


@pytest.mark.parametrize(("ours", "theirs"), [("", "c1"), ("c1", ""), ("", ""), ("", None)])
def test_an_empty_call_id_is_no_missing_result(ours: str, theirs: str | None) -> None:
    """Where the call or the step has no id, name and order tell which belong together."""
    calling = {**CALLING, "tool_calls": [{**CALL, "id": ours}, {**CALL, "id": ours}]}
    assert evidence(trace(model(0, calling), tool(1, theirs), tool(2, theirs), model(3))).gaps == ()
    assert evidence(trace(model(0, calling), tool(1, theirs), model(2))).gaps == (
        "step 0: tool result missing: no step for the call of get_x",
    )


def test_an_id_that_fits_another_call_is_not_taken_by_name() -> None:
    """Two ids that differ are two calls."""
    gaps = evidence(trace(model(0, CALLING), tool(1, "other"))).gaps
    assert gaps == ("step 0: tool result missing: no step for the call of get_x",)


@pytest.mark.parametrize(
    ("tools", "gap"),
    [
        ([{"name": "get_y", "parameters": {}}], "step 0: tool definitions of get_x missing"),
        ([{"name": "get_x"}], "step 0: tool definitions of get_x missing"),  # a name without its schema
        ([{"name": "get_x", "inputSchema": {}}], ""),
        ([{"name": "get_x", "type": "provider_tool"}], ""),
    ],
)
def test_missing_schemas_are_named(tools: list[dict[str, Any]], gap: str) -> None:
    """By the tool."""
    found = evidence(trace(model(0, CALLING, {**ASKED, "tools": tools}), tool(1), model(2)))
    assert found.gaps == ((gap,) if gap else ())
    assert (found.score < 1.0) == bool(gap)


def test_an_unknown_answer_may_have_called_a_tool() -> None:
    """Definitions count as complete only when it is known that none is needed."""
    hollow = model(0, given={"messages": [], "tools": []}, attributes={"missing": ["input", "output"]})
    assert evidence(trace(hollow, tool(1))).gaps == (
        "step 0: messages missing",
        "step 0: model answer missing",
        "step 0: tool definitions missing",
    )


LIMIT = 128
LONG, LONGER = words("x", LIMIT), words("y", LIMIT)


@pytest.mark.parametrize(
    ("step", "gap"),
    [
        (model(0, given={"messages": [{"role": "user", "content": LONGER}]}), "messages cut off at 128 characters"),
        (model(0, {"content": [{"type": "text", "text": LONGER}]}), "model answer cut off at 128 characters"),
        (tool(0, output={"a": [LONGER]}), "tool result cut off at 128 characters"),
        (tool(0, input={"a": LONGER}), "arguments of get_x cut off at 128 characters"),
        (tool(0, output="__REDACTED__"), "tool result masked by the exporter"),
        (tool(0, output={"x": "[Scrubbed due to 'password']"}), "tool result masked by the exporter"),
        (tool(0, output="<truncated due to size exceeding limit>"), "tool result left out by the exporter"),
        (
            tool(0, input=None, attributes={"missing": ["input"], "gen_ai.args": "[" + LONGER[1:]}),
            "arguments of get_x missing (gen_ai.args breaks off after 128 characters)",
        ),
    ],
)  # fmt: skip
def test_what_the_exporter_cut_off_is_named(step: Step, gap: str) -> None:
    """Two texts that end at one round length are cut there; marks tell the rest. It counts as missing."""
    found = evidence(trace(step, tool(1, output=LONG)))
    assert any(each.replace("steps 0-1", "step 0").startswith(f"step 0: {gap}") for each in found.gaps)
    assert found.score < 0.9


def test_long_texts_are_not_taken_for_cut_ones() -> None:
    """Equal texts, lengths that are not round, and one text at a small round length prove nothing."""
    for texts in (
        [words("x", 101), words("y", 101)],
        [LONG, LONG],
        [LONG],
        [words("x", 128), words("y", 256), words("z", 300)],
    ):
        found = evidence(trace(*(tool(seq, output=text) for seq, text in enumerate(texts))))
        assert found.gaps == (), texts
    assert evidence(trace(tool(0, output=words("x", 4096)))).score < 1.0


def test_nothing_to_go_by_scores_zero() -> None:
    """A trace without calls holds nothing that could be replayed."""
    assert evidence(trace(Step(0, "other", "x"))).score == 0.0


def test_many_steps_with_one_gap_are_one_line() -> None:
    """Numbers are drawn together, so that a long trace without times gives one sentence."""
    steps = [model(seq, ended_at=None if seq in (0, 1, 2, 4) else 2.0) for seq in range(6)]
    assert evidence(trace(*steps)).gaps == ("steps 0-2, 4: times missing",)
    every_other = [model(seq, ended_at=2.0 if seq % 2 else None) for seq in range(40)]
    assert evidence(trace(*every_other)).gaps == ("steps 0, 2, 4, 6, 8, 10 and 14 more: times missing",)


@given(traces())
def test_any_trace_has_a_score_between_0_and_1(any_trace: Trace) -> None:
    """Whatever a trace holds, the score is in its range, and 1 exactly when nothing is missing."""
    found = evidence(any_trace)
    assert 0.0 <= found.score <= 1.0
    assert (found.score < 1.0) == bool(found.gaps)


def test_digests_of_one_length_are_not_cut_texts() -> None:
    """Hashes and keys are all as long as each other, and whole."""
    documents: list[Any] = [{"id": at, "content": "short", "content_hash": format(at, "064x")} for at in range(3)]
    step = Step(0, "retrieval", "search", {"query": "terms"}, documents, started_at=1.0, ended_at=2.0)
    assert evidence(trace(step)).gaps == ()


def test_an_agent_used_as_a_tool_or_handed_over_to_answers_the_call() -> None:
    """Frameworks run sub-agents behind calls; their steps are of kind agent."""
    calls = [{"id": "c1", "name": "ask_expert", "arguments": {}}, {"id": "c2", "name": "to_billing", "arguments": {}}]
    asked = model(0, {"role": "assistant", "content": None, "tool_calls": calls})
    expert = Step(1, "agent", "ask_expert", "why", "because")
    billing = Step(2, "agent", "billing", None, None, attributes={"handoff": "to_billing"})
    assert not any("no step for the call" in gap for gap in evidence(trace(asked, expert, billing)).gaps)
    assert any("no step for the call of to_billing" in gap for gap in evidence(trace(asked, expert)).gaps)
