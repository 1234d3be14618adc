"""Tool errors that the agent did not get over."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.errors import InputError
from evalkit.trace.model import StepError
from tests.build import a_trace, tool_step


def judged(*steps: Any, **params: Any) -> CheckResult:
    """The result of `no_tool_error` on some steps."""
    return judge_checks([Check("no_tool_error", params)], a_trace(*steps))[0]


DOWN = tool_step(0, "lookup", error="503")


def test_a_retry_that_succeeds_makes_up_for_the_error() -> None:
    """An injected outage must not fail a run that got over it."""
    assert judged(DOWN, tool_step(1, "lookup")).passed


def test_an_error_left_standing_is_named() -> None:
    """A success before the error, or of another tool, does not help."""
    result = judged(tool_step(0, "lookup"), tool_step(1, "lookup", error="503"), tool_step(2, "refund"))
    assert result.steps == (1,)
    assert "503" in result.reason


def test_strict_allows_no_error_at_all() -> None:
    """Where even a retried error is one too many."""
    assert not judged(DOWN, tool_step(1, "lookup"), strict=True).passed


def test_names_limit_it_to_some_tools() -> None:
    """Other tools may fail."""
    assert judged(DOWN, names=["refund"]).passed
    assert not judged(DOWN, names=["lookup"]).passed


def test_the_users_errors_are_not_the_agents() -> None:
    """A tool that the user called failed the user."""
    assert judged(tool_step(0, "reset", error="no", attributes={"requestor": "user"})).passed


@pytest.mark.parametrize("params", [{"strict": 1}, {"names": "lookup"}, {"name": "lookup"}])
def test_wrong_parameters_are_refused(params: dict[str, Any]) -> None:
    """A misspelt parameter would widen the check."""
    with pytest.raises(InputError):
        judged(DOWN, **params)


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (StepError("ReadTimeout", ""), True),
        (StepError("ToolError", "Error: 503 Service Unavailable"), True),
        (StepError("APIConnectionError", "Connection error."), True),
        (StepError("RateLimitError", "slow down"), True),
        (StepError("ToolError", "Error: user not found"), False),
        (StepError("ToolError", "payment amount does not add up, total price is 5032, but paid 1625"), False),
        (StepError("ValueError", "order 15030 is not delivered"), False),
    ],
)
def test_outages_are_told_from_answers(error: StepError, outage: bool) -> None:
    """A refusal is an answer that an agent may leave; an outage says nothing about what was asked."""
    trace = a_trace(tool_step(0, "find", {}, error=error))
    result = judge_checks([Check("no_tool_error", {"outages": True})], trace)[0]
    assert result.passed is not outage
