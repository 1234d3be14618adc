"""Identifiers that nobody gave."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.trace.model import USER_MESSAGE, Step
from tests.build import a_trace, tool_step


def refund_of(value: Any, *before: Step, given: Any = None) -> CheckResult:
    """The check's result on a refund with an argument, after some steps."""
    trace = a_trace(*before, tool_step(9, "refund", {"order": value}, effect="write"), input=given)
    return judge_checks([Check("arguments_grounded")], trace)[0]


USER = Step(0, "other", USER_MESSAGE, output={"role": "user", "content": "refund order #w8831, please"})
FOUND = tool_step(1, "search", {}, '{"orders": [{"id": "W8831"}]}')
PROMPT = Step(
    0, "model", "chat", {"messages": [{"role": "system", "content": "the test order is W8831"}]}, {"role": "assistant"}
)


@pytest.mark.parametrize("before", [USER, FOUND, PROMPT])
def test_what_was_said_found_or_prompted_is_grounded(before: Step) -> None:
    """A user's turn, a tool's result and the system prompt all ground an identifier, in any case."""
    assert refund_of("W8831", before).passed


def test_the_input_grounds_too() -> None:
    """What the agent was started with was given to it."""
    assert refund_of("W8831", given={"order": "W8831"}).passed


def test_an_invented_identifier_is_named() -> None:
    """The reason holds the argument's place and value."""
    result = refund_of("W9999", USER, FOUND)
    assert not result.passed
    assert result.steps == (9,)
    assert '/order="W9999"' in result.reason


@pytest.mark.parametrize(
    "value", ["2024-05-20", "10:30", "economy", 4711, "a free note with 12 words in it", None, True]
)
def test_what_is_no_identifier_needs_no_ground(value: Any) -> None:
    """Dates, words, prose and numbers are the agent's own to compute and to spell."""
    assert refund_of(value).passed


def test_the_agents_own_words_ground_nothing() -> None:
    """An identifier that only the model said before is invented all the same."""
    said = Step(0, "model", "chat", {"messages": []}, {"role": "assistant", "content": "I will refund W9999"})
    assert not refund_of("W9999", said).passed
