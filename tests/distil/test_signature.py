"""The same incident has the same signature."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.distil.signature import signature
from evalkit.trace.model import StepError, Trace
from tests.build import a_trace, tool_step


def twice(order: str, *, reads: int = 1) -> Trace:
    """A refund made twice after some reads."""
    steps = [tool_step(at, "find", {}, {"id": order}) for at in range(reads)]
    writes = [tool_step(reads + at, "refund", {"id": order}, effect="write") for at in range(2)]
    return a_trace(*steps, *writes, output={"severity": "P1", "team": {"name": "x"}})


def signed(trace: Trace, *checks: Check) -> str:
    """The signature of a trace by some checks."""
    return signature(trace, judge_checks(checks, trace))


@pytest.mark.parametrize(
    ("type_name", "params", "wanted"),
    [
        ("repeated_effect", {}, "SIDE_EFFECT_REPEATED:refund"),
        ("not_called", {"name": "refund"}, "SIDE_EFFECT_FORBIDDEN:refund"),
        ("not_called", {"name": "find"}, "MODEL_DECISION_FORBIDDEN_CALL:find"),
        ("called", {"name": "mail"}, "MODEL_DECISION_MISSING_CALL:mail"),
        ("effects_equal", {"effects": []}, "SIDE_EFFECT_UNEXPECTED:refund"),
        (
            "output_fields",
            {"fields": {"severity": "P0", "team": {"name": "y"}}},
            "DATA_OUTPUT_WRONG:severity+team/name",
        ),
        ("tells", {"values": [5]}, "MODEL_DECISION_TOLD_WRONG"),
        ("step_limit", {"max_steps": 1}, "MODEL_DECISION_TOO_MANY_STEPS"),
    ],
)
def test_the_type_and_the_tools_make_the_name(type_name: str, params: dict[str, Any], wanted: str) -> None:
    """Nothing of the run's values is in it."""
    assert signed(twice("W1"), Check(type_name, params)) == wanted


def test_a_missing_effect_is_told_from_a_wrong_one() -> None:
    """What should have happened names it, when nothing else did."""
    check = Check("effects_equal", {"effects": [{"name": "refund", "arguments": {}}]})
    assert signed(a_trace(tool_step(0, "find")), check) == "SIDE_EFFECT_MISSING:refund"


def test_other_values_and_more_reads_are_the_same_incident() -> None:
    """The signature recognises the pattern, not the customer."""
    check = Check("repeated_effect")
    assert signed(twice("W1"), check) == signed(twice("W2", reads=3), check)


def test_the_gravest_failure_names_it() -> None:
    """What was done before what was said; gating before observed."""
    said, done = Check("tells", {"values": [5]}), Check("repeated_effect")
    assert signed(twice("W1"), said, done) == "SIDE_EFFECT_REPEATED:refund"
    observed = Check("repeated_effect", gating=False)
    assert signed(twice("W1"), said, observed) == "MODEL_DECISION_TOLD_WRONG"


def test_a_combined_check_is_named_by_its_failing_part() -> None:
    """`all_of` is no pattern of its own."""
    parts: list[Any] = [{"type": "completed"}, {"type": "tells", "params": {"values": [5]}}]
    assert signed(twice("W1"), Check("all_of", {"checks": parts})) == "MODEL_DECISION_TOLD_WRONG"


def test_a_run_that_failed_is_named_by_its_error() -> None:
    """And one without a failed check is unknown."""
    failed = a_trace(status="failed", error=StepError("TimeoutError"))
    assert signed(failed, Check("completed")) == "INFRASTRUCTURE_RUN_FAILED:TimeoutError"
    assert signed(twice("W1"), Check("completed")) == "UNKNOWN"
