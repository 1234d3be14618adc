"""The registry of check types, judging several, and combining them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given

from evalkit.check.judge import compile_checks, judge_checks
from evalkit.check.model import Check
from evalkit.check.registry import CHECKS
from evalkit.errors import ConfigError, InputError
from evalkit.trace.model import Trace
from tests.build import a_trace, tool_step
from tests.strategies import traces

TRACE = a_trace(tool_step(0, "lookup"), tool_step(1, "refund", {"order": 7}, effect="write"), output={"done": True})

EXAMPLES: dict[str, dict[str, Any]] = {
    "called": {"name": "lookup"},
    "not_called": {"name": "refund", "arguments": {"order": 7}},
    "order": {"first": "lookup", "then": "refund"},
    "effects_equal": {"effects": [{"name": "refund", "arguments": {"order": 7}}]},
    "repeated_effect": {"keys": {"refund": ["order"]}},
    "arguments_grounded": {"names": ["refund"]},
    "output_fields": {"fields": {"done": True}},
    "output_contains": {"text": "done"},
    "output_matches": {"pattern": "done"},
    "tells": {"values": [5]},
    "no_tool_error": {},
    "completed": {},
    "ends_with": {"kind": "tool"},
    "all_of": {"checks": [{"type": "completed"}, {"type": "called", "params": {"name": "lookup"}}]},
    "step_limit": {"max_steps": 9},
    "approved": {"names": ["refund"]},
    "policy_kept": {},
    "unknown_retry": {"names": ["refund"]},
    "usage_limit": {"max_seconds": 9},
    "only_tools": {"names": ["lookup", "refund"]},
    "trajectory": {"calls": ["lookup", {"name": "refund", "arguments": {"order": 7}}]},
    "arguments": {"name": "refund", "where": {"/order": {"min": 1}}},
    "output_equals": {"value": True, "path": "/done"},
    "output_schema": {"schema": {"type": "object"}},
    "output_number": {"path": "/total", "value": 5, "tolerance": 0.5},
    "output_similar": {"text": "done"},
    "any_of": {"checks": [{"type": "completed"}]},
    "not": {"check": {"type": "called", "params": {"name": "cancel"}}},
}


JUDGE_ALL = compile_checks([Check(name, params) for name, params in EXAMPLES.items()])


@pytest.mark.parametrize("name", CHECKS.names())
def test_every_check_type_speaks_and_judges(name: str) -> None:
    """The registry's name is the type's own; the sentence is one; the result has a reason and steps that exist."""
    check_type = CHECKS.get(name)
    sentence = check_type.sentence(EXAMPLES[name])
    finding = check_type.compile(EXAMPLES[name])(TRACE)
    assert check_type.name == name
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert finding.reason
    assert {step.seq for step in TRACE.steps}.issuperset(finding.steps)


@pytest.mark.parametrize("name", CHECKS.names())
def test_every_check_type_judges_an_empty_trace(name: str) -> None:
    """A trace without steps gets a result, not an exception."""
    assert CHECKS.get(name).compile(EXAMPLES[name])(a_trace(input=None)).steps == ()


@given(traces())
def test_no_trace_breaks_a_judge(trace: Trace) -> None:
    """A trace is hostile data: whatever it holds, each check type gives a result that can be pickled and shown."""
    results = JUDGE_ALL(trace)
    assert [result.check.type for result in results] == list(EXAMPLES)
    assert pickle.loads(pickle.dumps(results)) == results


def test_results_come_in_the_order_of_the_checks() -> None:
    """One for each check, observations too."""
    checks = [
        Check("called", {"name": "nothing"}, gating=False),
        Check("completed"),
        Check("called", {"name": "lookup"}),
    ]
    results = compile_checks(checks)(TRACE)
    assert [result.check for result in results] == checks
    assert [(result.passed, result.gating) for result in results] == [(False, False), (True, True), (True, True)]


def test_an_unknown_type_is_refused_when_compiled() -> None:
    """Not only when the first trace comes."""
    with pytest.raises(ConfigError, match="no check is called 'fancy'"):
        compile_checks([Check("fancy")])


def test_all_of_fails_with_the_reasons_of_its_failing_parts_only() -> None:
    """The parts that hold are not blamed."""
    parts: list[Any] = [{"type": "completed"}, {"type": "not_called", "params": {"name": "refund"}}]
    result = judge_checks([Check("all_of", {"checks": parts})], TRACE)[0]
    assert result.reason == "refund was called once, wanted never"
    assert result.steps == (1,)


def test_all_of_must_hold_something_and_must_not_nest_without_end() -> None:
    """An empty one would always hold; a deep one is an attack or a mistake."""
    deep: dict[str, Any] = {"checks": [{"type": "completed"}]}
    for _ in range(2_000):
        deep = {"checks": [{"type": "all_of", "params": deep}]}
    bad: list[dict[str, Any]] = [{"checks": []}, {"checks": "completed"}, deep]
    for params in bad:
        with pytest.raises(InputError):
            compile_checks([Check("all_of", params)])
