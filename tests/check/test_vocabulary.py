"""The words for single values, trajectories, answers, limits, and their combinations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.check.registry import CHECKS
from evalkit.errors import InputError
from evalkit.trace.model import Step, Trace, Usage
from tests.build import a_trace, tool_step


def judged(type_name: str, params: dict[str, Any], trace: Trace) -> CheckResult:
    """One check's result; its sentence can be said."""
    assert CHECKS.get(type_name).sentence(params).endswith(".")
    return judge_checks([Check(type_name, params)], trace)[0]


def calls(*names: str, **arguments: Any) -> Trace:
    """A run of some calls."""
    return a_trace(*(tool_step(at, name, arguments) for at, name in enumerate(names)))


PAID = a_trace(
    tool_step(0, "find", {"order": 7}, {"card": "card_77"}),
    tool_step(1, "pay", {"card": "card_77", "amount": 40, "tags": ["a", "b"]}, "ok", effect="write"),
    output={"total": 41.5, "status": "paid", "items": [{"id": "A1"}]},
)


@pytest.mark.parametrize(
    ("rules", "holds"),
    [
        ({"equals": 40}, True),
        ({"equals": 40.0}, True),
        ({"equals": "40"}, False),
        ({"one_of": [1, 40]}, True),
        ({"one_of": [1, 2]}, False),
        ({"min": 40, "max": 40}, True),
        ({"min": 41}, False),
        ({"max": 39.5}, False),
        ({"schema": {"type": "integer", "multipleOf": 20}}, True),
        ({"schema": {"type": "string"}}, False),
    ],
)
def test_arguments_are_as_stated(rules: dict[str, Any], holds: bool) -> None:
    """Each rule on one value; several hold together."""
    assert judged("arguments", {"name": "pay", "where": {"/amount": rules}}, PAID).passed is holds


def test_arguments_of_text_and_lists() -> None:
    """A pattern; a pointer into a list; an identifier that was seen, and one that was not."""
    where = {"/card": {"matches": "^card_", "grounded": True}, "/tags/1": {"equals": "b"}}
    assert judged("arguments", {"name": "pay", "where": where}, PAID).passed
    invented = a_trace(tool_step(0, "pay", {"card": "card_99"}, effect="write"))
    found = judged("arguments", {"name": "pay", "where": {"/card": {"grounded": True}}}, invented)
    assert (found.passed, found.steps) == (False, (0,))


def test_a_missing_argument_fails_unless_it_is_optional() -> None:
    """A run without the call keeps the statement."""
    params: dict[str, Any] = {"name": "pay", "where": {"/reason": {"matches": "."}}}
    assert not judged("arguments", params, PAID).passed
    assert judged("arguments", {**params, "optional": True}, PAID).passed
    assert judged("arguments", params, calls("find")).passed


def test_only_tools() -> None:
    """Another name fails, also when the call failed."""
    assert judged("only_tools", {"names": ["find", "pay"]}, PAID).passed
    found = judged("only_tools", {"names": ["find"]}, PAID)
    assert (found.passed, found.steps) == (False, (1,))
    assert judged("only_tools", {"names": []}, a_trace()).passed


@pytest.mark.parametrize(
    ("mode", "made", "holds"),
    [
        ("strict", "abc", True),
        ("strict", "abxc", False),
        ("strict", "acb", False),
        ("in_order", "axbxc", True),
        ("in_order", "acb", False),
        ("any_order", "cab", True),
        ("any_order", "cabx", False),
        ("subset", "ca", True),
        ("subset", "cc", False),
        ("superset", "xcabx", True),
        ("superset", "ab", False),
    ],
)
def test_trajectory_modes(mode: str, made: str, holds: bool) -> None:
    """The stated calls are a, b and c."""
    assert judged("trajectory", {"calls": ["a", "b", "c"], "mode": mode}, calls(*made)).passed is holds


@given(st.permutations(range(4)))
def test_any_order_finds_the_pairing(order: list[int]) -> None:
    """A statement without arguments takes none of the calls that only a stricter one fits."""
    stated: list[Any] = ["pay", {"name": "pay", "arguments": {"to": 1}}, {"name": "pay", "arguments": {"to": 2}}, "pay"]
    trace = a_trace(*(tool_step(at, "pay", {"to": number}) for at, number in enumerate(order)))
    assert judged("trajectory", {"calls": stated, "mode": "any_order"}, trace).passed


def test_the_answer_as_a_whole_and_at_a_place() -> None:
    """Equal, of a form, near a number, like a text."""
    assert judged("output_equals", {"value": "paid", "path": "/status"}, PAID).passed
    assert not judged("output_equals", {"value": "paid"}, PAID).passed
    assert judged("output_equals", {"value": "A1", "path": "/items/0/id"}, PAID).passed
    assert judged("output_schema", {"schema": {"required": ["total"], "type": "object"}}, PAID).passed
    broken = judged("output_schema", {"schema": {"properties": {"total": {"type": "string"}}}}, PAID)
    assert "$.total" in broken.reason
    assert judged("output_number", {"path": "/total", "value": 41, "tolerance": 0.5}, PAID).passed
    assert not judged("output_number", {"path": "/total", "value": 41, "relative": 0.01}, PAID).passed
    assert judged("output_number", {"value": 1250, "path": ""}, a_trace(output="$1,250.00")).passed
    told = a_trace(output="Your refund of 40 EUR is on its way")
    assert judged("output_similar", {"text": "your refund of 40 EUR is on the way"}, told).passed
    assert not judged("output_similar", {"text": "the order was cancelled"}, told).passed


def test_usage_limits_count_what_is_stated() -> None:
    """Tokens and cost of the model steps, seconds from first to last; what is not known breaks nothing."""
    model = Step(0, "model", "chat", started_at=1.0, ended_at=3.5, usage=Usage(100, 20, cost_usd=0.25))
    trace = a_trace(model, started_at=1.0, ended_at=4.0)
    for name, most in (("max_tokens", 120), ("max_cost_usd", 0.25), ("max_seconds", 3)):
        assert judged("usage_limit", {name: most}, trace).passed
        assert not judged("usage_limit", {name: most / 2}, trace).passed
    assert "not known" in judged("usage_limit", {"max_tokens": 1}, a_trace(tool_step(0, "find"))).reason


def test_opposites_and_alternatives() -> None:
    """`not` turns one round, `any_of` needs one."""
    find, pay = ({"type": "called", "params": {"name": name}} for name in ("find", "pay"))
    assert not judged("not", {"check": find}, PAID).passed
    assert judged("not", {"check": {"type": "called", "params": {"name": "cancel"}}}, PAID).passed
    assert judged("any_of", {"checks": [find, pay]}, calls("pay")).passed
    found = judged("any_of", {"checks": [find, pay]}, calls("cancel"))
    assert found.reason.count("wanted at least once") == 2


@pytest.mark.parametrize(
    ("type_name", "params"),
    [
        ("arguments", {"name": "pay"}),
        ("arguments", {"name": "pay", "where": {"/a": {"about": 3}}}),
        ("arguments", {"name": "pay", "where": {"/a": {"min": "3"}}}),
        ("arguments", {"name": "pay", "where": {"/a": {"matches": "("}}}),
        ("arguments", {"name": "pay", "where": {"/a": {"schema": {"type": 3}}}}),
        ("only_tools", {}),
        ("trajectory", {"calls": []}),
        ("trajectory", {"calls": ["a"], "mode": "loose"}),
        ("trajectory", {"calls": [{"name": "a", "args": {}}]}),
        ("output_equals", {}),
        ("output_equals", {"value": 1, "path": "total"}),
        ("output_schema", {"schema": "object"}),
        ("output_number", {"path": "/a"}),
        ("output_similar", {"text": "a", "least": 2}),
        ("usage_limit", {}),
        ("usage_limit", {"max_tokens": -1}),
        ("not", {"check": {"type": "called"}, "checks": []}),
        ("any_of", {"checks": []}),
        ("arguments", {"name": "pay", "where": {"card": {"grounded": True}}}),
        ("arguments", {"name": "pay", "where": {"/a": {"min": 3, "max": 2}}}),
        ("arguments", {"name": "pay", "where": {"/a": {"min": 3}}, "optional": "false"}),
        ("output_contains", {"text": "a", "ignore_case": "false"}),
        ("no_tool_error", {"outages": "no"}),
        ("effects_equal", {"effects": [], "answered": "no"}),
        ("repeated_effect", {"keys": {"pay": [["order"]]}}),
        ("output_schema", {"schema": {"properties": {"a": {"$ref": "#/$defs/A"}}}}),
        ("output_schema", {"schema": {"$ref": "https://example.com/a"}}),
        ("output_schema", {"schema": {"allOf": [{"$ref": "#"}]}}),
        ("output_schema", {"schema": {"properties": {"a": {"pattern": "(?=a)"}}}}),
        ("output_schema", {"schema": {"$schema": 5}}),
        ("output_number", {"path": "/a", "value": 1, "tolerance": -1}),
    ],
)
def test_a_wrong_parameter_is_refused_when_the_check_is_compiled(type_name: str, params: dict[str, Any]) -> None:
    """Never when the first trace is judged, and never silently."""
    with pytest.raises(InputError):
        judge_checks([Check(type_name, params)], a_trace())


@pytest.mark.parametrize(
    ("type_name", "params"),
    [
        ("called", {"name": "pay", "min": 0}),
        ("order", {"first": "pay", "then": "pay"}),
        ("output_matches", {"pattern": ".*"}),
        ("output_matches", {"pattern": "(paid)?"}),
        ("output_fields", {"fields": {}}),
        ("output_schema", {"schema": {}}),
        ("output_schema", {"schema": {"title": "Answer", "description": "what the agent says"}}),
        ("output_schema", {"schema": True}),
        ("output_similar", {"text": "paid", "least": 0}),
    ],
)
def test_a_check_that_can_not_fail_is_refused(type_name: str, params: dict[str, Any]) -> None:
    """Written by hand it would look like a gate, and hold nothing."""
    with pytest.raises(InputError, match=f"check {type_name}"):
        judge_checks([Check(type_name, params)], a_trace())


@pytest.mark.parametrize(("pattern", "fails_on"), [(r"^\s*$", "paid"), (r"^[^!]*$", "paid!")])
def test_a_pattern_of_what_may_not_be_there_can_fail(pattern: str, fails_on: str) -> None:
    """A blank answer is of its form, and any other may not be."""
    assert judged("output_matches", {"pattern": pattern}, a_trace(output=" ")).passed
    assert not judged("output_matches", {"pattern": pattern}, a_trace(output=fails_on)).passed


@pytest.mark.parametrize("given", ["order 7", ["order", 7]])
def test_an_effect_may_be_of_a_tool_that_is_given_no_object(given: Any) -> None:
    """Such tools are recorded, and what a healthy run did is stated as it was recorded."""
    once = a_trace(tool_step(0, "pay", given, "ok", effect="write"))
    other = a_trace(tool_step(0, "pay", "order 8", "ok", effect="write"))
    params = {"effects": [{"name": "pay", "arguments": given}]}
    assert judged("effects_equal", params, once).passed
    assert not judged("effects_equal", params, other).passed


def test_a_schema_may_refer_to_its_own_parts() -> None:
    """By pointer, by anchor and by id, also in circles that go into the value."""
    parts = {"of": {"$ref": "#"}, "n": {"$ref": "#n"}, "m": {"$ref": "https://example.com/tree#/$defs/n"}}
    whole = {"$anchor": "n", "type": "integer"}
    tree = {"$id": "https://example.com/tree", "type": "object", "properties": parts, "$defs": {"n": whole}}
    good, bad = (a_trace(output={"of": {"of": {"n": n}}}) for n in (1, "1"))
    assert judged("output_schema", {"schema": tree}, good).passed
    assert not judged("output_schema", {"schema": tree}, bad).passed


def test_nesting_is_bounded_through_every_combination() -> None:
    """A hostile case can't build a tower."""
    body: dict[str, Any] = {"type": "called", "params": {"name": "a"}}
    for at in range(8):
        body = (
            {"type": "not", "params": {"check": body}} if at % 2 else {"type": "any_of", "params": {"checks": [body]}}
        )
    with pytest.raises(InputError, match="nested deeper"):
        judge_checks([Check(body["type"], body["params"])], a_trace())
