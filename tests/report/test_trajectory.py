"""What is shown of the steps, and where runs part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evalkit.report.trajectory import MAX_LINES, build_trajectory, step_texts
from evalkit.trace.model import Step, StepError, Trace
from tests.report.build import refund_trace, tool

INCIDENT, FIXED = refund_trace("a", buggy=True), refund_trace("a", buggy=False)
BUGGY = INCIDENT.steps
RUNS = [("incident", INCIDENT), ("failing replay", INCIDENT), ("passing replay", FIXED)]


def runs(*steps: Sequence[Step]) -> list[tuple[str, Trace]]:
    """An incident and a failing replay of it, of these steps."""
    names = ("incident", "failing replay")
    return [(name, replace(INCIDENT, steps=tuple(own))) for name, own in zip(names, steps, strict=False)]


def test_the_first_divergence_from_the_passing_replay_is_marked() -> None:
    """The mark stands where the failing replay leaves the passing one, and only there."""
    found = build_trajectory(RUNS, 500)
    assert [at for at, line in enumerate(found.lines) if line.first] == [1]
    assert found.divergence.endswith("the model calls refund_order instead of lookup_order")
    assert found.kind == "model decision"


def test_without_a_passing_replay_the_incident_is_the_measure() -> None:
    """A failing replay that repeats the incident parts nowhere, and that is said."""
    found = build_trajectory(RUNS[:2], 500)
    assert not found.parts
    assert found.divergence == "the failing replay takes the same steps as the incident"


def test_another_result_is_a_divergence() -> None:
    """Same call, other outcome."""
    call = tool(0, "lookup_order", {"order_id": "1"})
    failed = replace(call, output=None, error=StepError("Timeout"))
    found = build_trajectory(runs([call], [failed]), 500)
    assert found.divergence.endswith("tool lookup_order had another outcome")
    assert found.kind == "result"
    assert found.lines[0].cells[1] is not None
    assert not found.lines[0].cells[1].same


def test_a_missing_step_is_a_divergence() -> None:
    """A step that only one run has."""
    found = build_trajectory(runs(BUGGY, BUGGY[:-1]), 500)
    assert found.divergence.endswith("a step less, model chat")


@pytest.mark.parametrize(
    ("then", "now", "kind"),
    [
        (tool(0, "pay", {"amount": 1}), tool(0, "pay", {"amount": 2}), "argument"),
        (tool(0, "pay", {"amount": 1}), tool(0, "refund_order", {"amount": 1}), "tool"),
        (
            Step(0, "policy", "limits", {}, {"allowed": False}),
            Step(0, "policy", "limits", {}, {"allowed": True}),
            "policy",
        ),
        (
            Step(0, "retrieval", "docs", {"q": "a"}, ["d1"]),
            Step(0, "retrieval", "docs", {"q": "a"}, ["d2"]),
            "citation",
        ),
    ],
)
def test_the_kind_of_a_divergence_is_named(then: Step, now: Step, kind: str) -> None:
    """What differs first: a tool, an argument, a policy's word, what was found."""
    assert build_trajectory(runs([then], [now]), 500).kind == kind


def test_equal_steps_with_another_end_differ_in_their_outcome() -> None:
    """The steps are the same, the answer is not; both are shown."""
    other = replace(INCIDENT, output="It was refused.")
    found = build_trajectory([("incident", INCIDENT), ("failing replay", other)], 500)
    assert found.kind == "outcome"
    assert [end.text.short for end in found.endings if end.text] == ["Your refund is on its way.", "It was refused."]


def test_an_end_says_what_it_is() -> None:
    """An error is no answer; what stopped a replay is told in words, not by the name of a class."""
    crash = replace(INCIDENT, output=None, error=StepError("ConnectionError", "refused"))
    halt = replace(INCIDENT, output=None, error=StepError("ReplayHalt", "call 1 has no recorded answer"))
    found = build_trajectory([("incident", INCIDENT), ("failing replay", crash), ("missed replay", halt)], 500)
    assert [(end.label, end.text and end.text.short) for end in found.endings] == [
        ("final answer", "Your refund is on its way."),
        ("ended with an error", "ConnectionError: refused"),
        ("the replay was stopped", "call 1 has no recorded answer"),
    ]


def test_equal_steps_are_shown_once() -> None:
    """A step like the incident's only says so."""
    line = build_trajectory(RUNS, 500).lines[2]
    assert line.cells[0] is not None
    assert line.cells[1] is not None
    assert (line.cells[0].same, line.cells[1].same) == (False, True)
    assert line.cells[1].given is None


def test_a_long_run_is_shown_around_its_divergence() -> None:
    """The number of lines is bounded, the divergence is among them, and the gaps are counted."""
    long = [tool(at, "lookup_order", {"order_id": str(at)}) for at in range(300)]
    other = [*long[:200], tool(200, "refund_order", {"order_id": "1"}), *long[201:]]
    lines = build_trajectory(runs(long, other), 500).lines
    shown = [line for line in lines if not line.gap]
    assert len(shown) <= MAX_LINES
    assert any(line.first for line in shown)
    assert len(shown) + sum(line.gap for line in lines) == 300


def test_a_long_value_is_cut_with_its_length() -> None:
    """Neither the short text nor the text on demand grows with the value."""
    step = tool(0, "lookup_order", {"q": "x" * 1_000_000})
    cell = build_trajectory(runs([step]), 500).lines[0].cells[0]
    assert cell is not None
    assert cell.given is not None
    assert len(cell.given.short) < 200
    assert len(cell.given.more) < 600
    assert "(1,000,008 characters)" in cell.given.more


def test_a_model_step_shows_the_last_message_and_the_decision() -> None:
    """The whole conversation stands above already."""
    given, gave = step_texts(BUGGY[1])
    assert given == "user (after 1 message): Where is my refund?"
    assert gave == 'calls refund_order({"amount":49.9,"order_id":"A-1001"})'


def test_foreign_shapes_of_model_steps_are_shown_as_they_are() -> None:
    """A step that is not in the normal form is no reason to fail."""
    assert step_texts(Step(0, "model", "chat", ["a"], {"tool_calls": "b", "content": None})) == ('["a"]', "")
    assert step_texts(Step(0, "model", "chat", {"messages": [1]}, "text")) == ('{"messages":[1]}', "text")
