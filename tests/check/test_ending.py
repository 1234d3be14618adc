"""How a run ends, and how long it may take."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.errors import InputError
from evalkit.trace.model import USER_MESSAGE, Step, StepError, Trace
from tests.build import a_trace, tool_step

USER = Step(1, "other", USER_MESSAGE, output={"role": "user", "content": "bye"})


@pytest.mark.parametrize(
    ("fields", "passed"),
    [({}, True), ({"status": "unfinished"}, False), ({"error": StepError("TimeoutError", "30 s")}, False)],
)
def test_completed_wants_an_end_without_an_error(fields: dict[str, Any], passed: bool) -> None:
    """A record that stops, and an error that ended the run, both fail."""
    assert judge_checks([Check("completed")], a_trace(tool_step(0, "x"), **fields))[0].passed is passed


@pytest.mark.parametrize(
    ("params", "trace", "passed"),
    [
        ({"kind": "other", "name": USER_MESSAGE}, a_trace(tool_step(0, "x"), USER), True),
        ({"kind": "other"}, a_trace(USER), True),
        ({"kind": "model"}, a_trace(USER), False),
        ({"kind": "tool", "name": "y"}, a_trace(tool_step(0, "x")), False),
        ({"kind": "tool"}, a_trace(), False),
    ],
)
def test_the_last_step_is_of_a_kind(params: dict[str, Any], trace: Trace, passed: bool) -> None:
    """Kind, and the name where it is given."""
    assert judge_checks([Check("ends_with", params)], trace)[0].passed is passed


@pytest.mark.parametrize(
    ("params", "passed", "steps"),
    [
        ({"max_steps": 4}, True, ()),
        ({"max_steps": 3}, False, (3,)),
        ({"max_tool_calls": 2}, True, ()),
        ({"max_tool_calls": 1}, False, (2,)),
    ],
)
def test_a_limit_shows_the_first_step_beyond_it(params: dict[str, Any], passed: bool, steps: tuple[int, ...]) -> None:
    """The user's own calls are steps, but no calls of the agent."""
    mine = tool_step(3, "z", attributes={"requestor": "user"})
    trace = a_trace(tool_step(0, "x"), USER, tool_step(2, "y"), mine)
    result = judge_checks([Check("step_limit", params)], trace)[0]
    assert (result.passed, result.steps) == (passed, steps)


@pytest.mark.parametrize(
    "check",
    [
        Check("step_limit", {}),
        Check("step_limit", {"max_steps": "9"}),
        Check("ends_with", {"kind": "tea"}),
        Check("completed", {"x": 1}),
    ],
)
def test_wrong_parameters_are_refused(check: Check) -> None:
    """A limit without a number is none."""
    with pytest.raises(InputError):
        judge_checks([check], a_trace())
