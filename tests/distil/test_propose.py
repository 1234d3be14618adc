"""Checks that fail on the incident, hold on healthy runs, and read well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.canonical import Json
from evalkit.check.judge import compile_checks, judge_checks
from evalkit.check.model import Check
from evalkit.distil.contrast import contrast_tiers
from evalkit.distil.invariant import broken_invariants
from evalkit.distil.propose import propose
from evalkit.errors import InputError
from evalkit.trace.model import USER_MESSAGE, Step, StepError, Trace
from tests.build import a_trace, tool_step
from tests.strategies import traces


def writing_twice(trace: Trace) -> Trace:
    """The run with each of its steps as two calls that change something."""
    steps = [replace(step, kind="tool", name=step.name or "t", effect="write") for step in trace.steps]
    twice = [replace(step, parent=None) for step in steps for _ in range(2)]
    return replace(trace, steps=tuple(replace(step, seq=seq) for seq, step in enumerate(twice)))


@given(traces().map(writing_twice), traces().map(writing_twice))
def test_no_candidate_is_lost_for_its_form(incident: Trace, passing: Trace) -> None:
    """What can't be compiled is left out without a word, so all of it must compile where tools have names."""
    tiers = contrast_tiers(incident, [passing], [passing])
    compile_checks([*broken_invariants(incident), *(check for tier, _ in tiers for check in tier)])


def gating(checks: list[Check]) -> list[str]:
    """The types of the gating checks."""
    return [check.type for check in checks if check.gating]


def refund(seq: int, amount: int = 5) -> Step:
    """A write."""
    return tool_step(seq, "refund", {"order": "W8831", "amount": amount}, {"ok": True}, effect="write")


FOUND = tool_step(0, "find", {}, {"id": "W8831"})
HEALTHY = a_trace(FOUND, refund(1), output={"done": True})
TWICE = a_trace(FOUND, refund(1), refund(2), output={"done": True})


def conversation(question: str, answer: str, *steps: Step) -> Trace:
    """A run in which the user asks once."""
    start = len(steps)
    return a_trace(
        *steps,
        Step(start, "other", USER_MESSAGE, output={"role": "user", "content": question}),
        Step(start + 1, "model", "chat", {}, {"role": "assistant", "content": answer}),
        output=answer,
    )


@pytest.mark.parametrize(
    ("incident", "type_name", "evidence"),
    [
        (TWICE, "repeated_effect", (1, 2)),
        (a_trace(refund(0)), "arguments_grounded", (0,)),
        (a_trace(tool_step(0, "find", error="503")), "no_tool_error", (0,)),
        (a_trace(FOUND, error=StepError("KeyError")), "completed", (0,)),
    ],
)
def test_a_broken_invariant_is_proposed_from_the_incident_alone(
    incident: Trace, type_name: str, evidence: tuple[int, ...]
) -> None:
    """With its rule and the steps that show it."""
    checks = propose(incident)
    assert gating(checks) == [type_name]
    assert checks[0].rule.startswith("incident:")
    assert checks[0].evidence == evidence


def test_nothing_gates_on_a_run_that_breaks_nothing() -> None:
    """The case is refused rather than made of checks that can't fail."""
    assert gating(propose(HEALTHY)) == []
    assert gating(propose(HEALTHY, passing=[HEALTHY])) == []


@pytest.mark.parametrize(
    ("expect", "types"),
    [
        ({"done": False}, ["output_fields"]),
        ("finished", ["output_contains"]),
        ({"output": "finished"}, ["output_contains"]),
        ({"effects": []}, ["effects_equal"]),
        ({"not_called": ["refund"], "called": [{"name": "mail"}]}, ["called", "not_called"]),
        ({"checks": [{"type": "step_limit", "params": {"max_steps": 1}}]}, ["step_limit"]),
    ],
)
def test_an_expectation_states_the_checks(expect: Json, types: list[str]) -> None:
    """Each form of `distil.expect`."""
    assert gating(propose(HEALTHY, expect=expect)) == types


def test_an_expectation_that_the_incident_meets_does_not_gate() -> None:
    """It is shown as an observation."""
    found = propose(HEALTHY, expect={"done": True})
    assert [(check.type, check.gating) for check in found] == [("output_fields", False)]


@pytest.mark.parametrize(
    "expect", [[], {}, 5, {"effects": [], "severity": "P0"}, {"called": "x"}, {"output": 5}, {"called": [5]}]
)
def test_an_expectation_of_no_form_is_refused(expect: Any) -> None:
    """A reserved key beside fields of an answer could mean either."""
    with pytest.raises(InputError):
        propose(HEALTHY, expect=expect)


def test_an_expectation_must_hold_on_the_healthy_runs() -> None:
    """Else one of both is wrong, and only a person knows which."""
    with pytest.raises(InputError, match="healthy run"):
        propose(TWICE, expect={"effects": []}, passing=[HEALTHY])


def test_contrast_gates_what_was_done_to_the_world() -> None:
    """The strongest tier; weaker ones and unsure invariants are observed."""
    wrong = a_trace(FOUND, refund(1, amount=50), tool_step(2, "cancel", {}, effect="write"), output={"done": True})
    checks = propose(wrong, passing=[HEALTHY])
    assert gating(checks) == ["effects_equal"]
    assert [check.type for check in checks if not check.gating] == ["not_called"]


def test_healthy_runs_that_differ_are_all_right() -> None:
    """Every effect list that a healthy run had is accepted."""
    other = a_trace(FOUND, tool_step(1, "cancel", {}, effect="write"), output={"done": True})
    checks = propose(TWICE, passing=[HEALTHY, other])
    assert "effects_equal" in gating(checks)
    for run in (HEALTHY, other):
        assert all(result.passed for result in judge_checks(checks, run))


def test_an_answer_tells_runs_apart_that_changed_the_same() -> None:
    """The number that the user asked for, together with the effects."""
    healthy = conversation("How many bags in total?", "You may take 4 bags.")
    incident = conversation("How many bags in total?", "You may take 6 bags.")
    check = propose(incident, passing=[healthy])[0]
    assert (check.type, check.rule, check.gating) == ("all_of", "contrast:told", True)
    wrote = conversation("How many bags in total?", "You may take 4 bags.", FOUND, refund(1))
    assert [result.passed for run in (healthy, incident, wrote) for result in judge_checks([check], run)] == [
        True,
        False,
        False,
    ]


def test_a_number_that_the_user_said_is_no_answer() -> None:
    """Repeating the user promises nothing."""
    healthy = conversation("How much are 4 bags?", "For your 4 bags I need a moment.")
    incident = conversation("How much are 4 bags?", "One moment.")
    assert gating(propose(incident, passing=[healthy])) == []


@pytest.mark.parametrize("passing", [[], [HEALTHY], [HEALTHY, a_trace(FOUND, refund(1), refund(2, 6), output={})]])
def test_gating_checks_fail_on_the_incident_and_hold_on_healthy_runs(passing: list[Trace]) -> None:
    """For each and all of them, however they were found; and each says where it came from."""
    checks = [check for check in propose(TWICE, passing=passing) if check.gating]
    assert checks
    assert not any(result.passed for result in judge_checks(checks, TWICE))
    assert all(result.passed for run in passing for result in judge_checks(checks, run))
    assert all(check.rule != "manual" and check.evidence and 0 < check.confidence <= 1 for check in checks)


@given(traces(), st.lists(traces(), max_size=2))
def test_the_promise_holds_for_any_traces(incident: Trace, passing: list[Trace]) -> None:
    """Whatever the runs hold: gating checks fail on the incident and hold on each healthy run."""
    checks = [check for check in propose(incident, passing=passing) if check.gating]
    assert not any(result.passed for result in judge_checks(checks, incident))
    assert all(result.passed for run in passing for result in judge_checks(checks, run))


NAMELESS = tool_step(0, "", {"order": 7}, {"ok": True}, effect="write")
LOOKED_UP = tool_step(1, "", {"order": 7}, {"ok": True})


@pytest.mark.parametrize("incident", [a_trace(NAMELESS, replace(NAMELESS, seq=1)), a_trace(NAMELESS, LOOKED_UP)])
@pytest.mark.parametrize("passing", [[], [a_trace(NAMELESS)], [a_trace(LOOKED_UP), a_trace(FOUND, refund(1))]])
def test_every_proposed_check_can_be_judged(incident: Trace, passing: list[Trace]) -> None:
    """A tool without a name is in no check that names it, and whatever is proposed, gating or not, holds in a case."""
    checks = propose(incident, passing=passing)
    assert len(judge_checks(checks, incident)) == len(checks)
