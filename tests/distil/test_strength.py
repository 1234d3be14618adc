"""Checks are measured on changed copies of a healthy run."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from evalkit.check.model import Check
from evalkit.distil.mutate import harmful, harmless
from evalkit.distil.propose import propose
from evalkit.distil.strength import strength
from evalkit.trace.model import Step, StepError, Trace
from tests.build import a_trace, tool_step
from tests.strategies import traces

HEALTHY = a_trace(
    tool_step(0, "find", {"order": "W8831"}, {"payment": "card_77", "total": 40}),
    tool_step(1, "rates", {"currency": "EUR"}, {"rate": 1.1}),
    tool_step(2, "refund", {"payment": "card_77", "amount": 40, "why": "the parcel was lost on its way"}, "done",
              effect="write"),
    Step(3, "model", "chat", {"messages": []}, {"role": "assistant", "content": "I refunded 40."}),
    output={"refunded": 40},
)  # fmt: skip
INCIDENT = a_trace(
    tool_step(0, "find", {"order": "W8831"}, {"payment": "card_77", "total": 40}),
    tool_step(1, "close_account", {"payment": "card_77"}, "done", effect="write"),
    Step(2, "model", "chat", {"messages": []}, {"role": "assistant", "content": "Closed."}),
)


def test_every_kind_of_fault_is_tried() -> None:
    """Left out, twice, each argument, too early, stopped, another answer, and what the incident did."""
    kinds = Counter(one.kind for one in harmful(HEALTHY, INCIDENT))
    assert kinds == {"drop": 1, "repeat": 1, "order": 1, "argument": 3, "stop": 1, "output": 1, "add": 1}


def test_an_approval_left_out_and_a_blind_retry_are_faults() -> None:
    """Both cost money in production."""
    trace = a_trace(
        Step(0, "approval", "refund", output="yes"),
        tool_step(1, "refund", {"order": 7}, error="no answer", effect="write"),
    )
    assert [one.kind for one in harmful(trace)] == ["approval"]
    timed_out = Step(1, "tool", "refund", {"order": 7}, error=StepError("ReadTimeout", "30 s"), effect="write")
    kinds = [one.kind for one in harmful(a_trace(trace.steps[0], timed_out))]
    assert kinds == ["approval", "unknown"]


def test_effects_by_contrast_catch_all_but_the_answer() -> None:
    """What a survivor says is what a person adds a check for."""
    checks = propose(INCIDENT, passing=[HEALTHY])
    found = strength(checks, [HEALTHY], INCIDENT)
    assert found is not None
    assert found.survivors == ("the answer has another /refunded",)
    assert (found.caught, found.faults) == (8, 9)
    assert (found.passed, found.blamed) == (found.variations, ())


def test_a_check_that_is_too_strict_is_told() -> None:
    """It would blame an agent that looks twice."""
    found = strength([Check("step_limit", {"max_tool_calls": 3})], [HEALTHY])
    assert found is not None
    assert set(found.blamed) == {"find is called twice", "rates is called twice"}


def test_without_a_healthy_run_nothing_is_measured() -> None:
    """Neither where none is given, nor where the checks fail on it, nor where none gates."""
    check = Check("not_called", {"name": "refund"})
    assert strength([check], []) is None
    assert strength([check], [HEALTHY]) is None
    assert strength([Check("called", {"name": "refund"}, gating=False)], [HEALTHY]) is None


@given(traces())
def test_any_trace_can_be_varied(trace: Trace) -> None:
    """A variant is a whole trace again: its numbers are its order, and a parent is one of its steps."""
    for variant in [*harmful(trace), *harmless(trace)]:
        numbers = [step.seq for step in variant.trace.steps]
        assert numbers == list(range(len(numbers)))
        assert {step.parent for step in variant.trace.steps} <= {None, *numbers}
        assert variant.sentence
