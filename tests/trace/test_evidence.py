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
ASKED = {"messages": [{"role": "user", "content": "hi"}], "tools": [{"name": "get_x"}], "params": {}}


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
        ((model(0, CALLING, {**ASKED, "tools": []}), tool(1), model(2)), 0.95, "step 0: tool definitions missing"),
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
    assert found.score == pytest.approx(0.8)


def test_nothing_to_go_by_scores_zero() -> None:
    """A trace without calls holds nothing that could be replayed."""
    assert evidence(trace(Step(0, "other", "x"))).score == 0.0


def test_many_steps_with_one_gap_are_one_line() -> None:
    """Numbers are drawn together, so that a long trace without times gives one sentence."""
    steps = [model(seq, ended_at=None if seq in (0, 1, 2, 4) else 2.0) for seq in range(6)]
    assert evidence(trace(*steps)).gaps == ("steps 0-2, 4: times missing",)


@given(traces())
def test_any_trace_has_a_score_between_0_and_1(any_trace: Trace) -> None:
    """Whatever a trace holds, the score is in its range, and less than 1 exactly when something is missing."""
    found = evidence(any_trace)
    assert 0.0 <= found.score <= 1.0
    own = found.gaps[len(set(any_trace.gaps)) :]
    assert (found.score < 1.0) == bool(own)
