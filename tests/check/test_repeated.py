"""No side effect twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.errors import InputError
from tests.build import a_trace, tool_step

TWICE = a_trace(
    tool_step(0, "lookup", {"order": 7}),
    tool_step(1, "refund", {"order": 7, "note": "a"}, {"ok": True}, effect="write"),
    tool_step(2, "lookup", {"order": 7}),
    tool_step(3, "refund", {"order": 7, "note": "b"}, {"ok": True}, effect="write"),
    tool_step(4, "mail", {"to": "x"}, effect="write"),
    tool_step(5, "mail", {"to": "x"}, effect="write"),
)


@pytest.mark.parametrize(
    ("params", "steps"),
    [
        ({}, (4, 5)),
        ({"names": ["refund"]}, ()),
        ({"names": ["refund"], "keys": {"refund": ["order"]}}, (1, 3)),
        ({"keys": {"mail": ["to"]}, "names": ["mail"]}, (4, 5)),
    ],
)
def test_the_same_change_twice_fails_with_both_steps(params: dict[str, Any], steps: tuple[int, ...]) -> None:
    """All arguments count, or those that are declared as the key; repeated reads are no effect."""
    result = judge_checks([Check("repeated_effect", params)], TWICE)[0]
    assert result.steps == steps
    assert result.passed is not bool(steps)


def test_a_retry_after_an_error_is_no_repetition() -> None:
    """Only successful writes change the world."""
    trace = a_trace(
        tool_step(0, "refund", {"order": 7}, error="down", effect="write"),
        tool_step(1, "refund", {"order": 7}, {"ok": True}, effect="write"),
    )
    assert judge_checks([Check("repeated_effect")], trace)[0].passed


def test_keys_must_be_lists() -> None:
    """A key given as text would be read letter by letter."""
    with pytest.raises(InputError):
        judge_checks([Check("repeated_effect", {"keys": {"refund": "order"}})], TWICE)


def test_a_call_that_says_nothing_is_no_repetition() -> None:
    """A toggle or a reboot twice is no duplicate, unless somebody declared it a change, or named it."""
    guessed = [replace(tool_step(at, "toggle_roaming", {}, effect="write"), effect_source="guessed") for at in range(2)]
    assert judge_checks([Check("repeated_effect")], a_trace(*guessed))[0].passed
    assert not judge_checks([Check("repeated_effect", {"names": ["toggle_roaming"]})], a_trace(*guessed))[0].passed
    declared = [tool_step(at, "charge", {}, effect="write") for at in range(2)]
    assert not judge_checks([Check("repeated_effect")], a_trace(*declared))[0].passed
