"""Calls that must, or must not, be made."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.errors import InputError
from tests.build import a_trace, tool_step

TRACE = a_trace(
    tool_step(0, "lookup", {"order": 7, "by": {"name": "x"}}),
    tool_step(1, "refund", {"order": 7, "amount": 5.0}, effect="write"),
    tool_step(2, "refund", {"order": 8, "amount": 5}, effect="write"),
    tool_step(3, "reset", {}, attributes={"requestor": "user"}, effect="write"),
)


def judged(type_name: str, **params: Any) -> CheckResult:
    """The result of one check on `TRACE`."""
    return judge_checks([Check(type_name, params)], TRACE)[0]


@pytest.mark.parametrize(
    ("params", "passed"),
    [
        ({"name": "refund"}, True),
        ({"name": "refund", "arguments": {"amount": 5}}, True),
        ({"name": "refund", "arguments": {"order": 9}}, False),
        ({"name": "lookup", "arguments": {"by": {"name": "x"}}}, True),
        ({"name": "refund", "max": 1}, False),
        ({"name": "refund", "min": 3}, False),
        ({"name": "refund", "arguments": {"order": 7}, "min": 1, "max": 1}, True),
    ],
)
def test_called_counts_the_calls_that_match(params: dict[str, Any], passed: bool) -> None:
    """Name, a subset of the arguments, and the count decide."""
    assert judged("called", **params).passed is passed


def test_a_forbidden_call_is_named_with_its_steps() -> None:
    """The reason says what was found against what was wanted, and where."""
    result = judged("not_called", name="refund", arguments={"order": 7})
    assert not result.passed
    assert result.steps == (1,)
    assert result.reason == 'refund with {"order":7} was called once, wanted never'


def test_the_users_own_calls_are_not_the_agents() -> None:
    """A tool that the user called is neither required of the agent nor forbidden to it."""
    assert judged("not_called", name="reset").passed
    assert not judged("called", name="reset").passed


@pytest.mark.parametrize(
    ("first", "then", "passed"),
    [("lookup", "refund", True), ("refund", "lookup", False), ("refund", "absent", True), ("absent", "lookup", False)],
)
def test_order_wants_the_first_tool_before_the_second(first: str, then: str, passed: bool) -> None:
    """A trace without the second tool keeps every order."""
    assert judged("order", first=first, then=then).passed is passed


def test_a_failed_call_does_not_count_as_done_before() -> None:
    """Order is about what was achieved: a lookup that failed gave nothing to act on."""
    trace = a_trace(tool_step(0, "lookup", error="down"), tool_step(1, "refund", effect="write"))
    assert not judge_checks([Check("order", {"first": "lookup", "then": "refund"})], trace)[0].passed


@pytest.mark.parametrize(
    "check",
    [
        Check("called", {}),
        Check("called", {"name": "x", "argument": {}}),
        Check("called", {"name": "x", "min": 2, "max": 1}),
        Check("called", {"name": "x", "min": -1}),
        Check("called", {"name": "x", "max": True}),
        Check("not_called", {"name": "x", "arguments": []}),
        Check("order", {"first": "x"}),
    ],
)
def test_wrong_parameters_are_refused(check: Check) -> None:
    """A misspelt parameter would silently weaken a check, so none is ignored."""
    with pytest.raises(InputError, match=r"check (called|not_called|order)"):
        judge_checks([check], TRACE)
