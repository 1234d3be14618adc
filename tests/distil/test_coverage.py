"""Coverage: what stands on the path to an incident is tested, the rest is named as lacking."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from evalkit.canonical import Json
from evalkit.check.model import Check
from evalkit.distil.branches import branches_of_call, branches_of_schema
from evalkit.distil.coverage import coverage
from evalkit.trace.model import Step
from tests.build import a_case, a_trace, tool_step
from tests.strategies import json_values

REPEATED = [Check("repeated_effect")]
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "tier": {"enum": ["gold", "silver", 3]},
        "notify": {"type": "boolean"},
        "items": {"type": "array"},
        "address": {"type": "object", "properties": {"zip": {"type": "string"}}, "required": ["zip"]},
    },
    "required": ["tier"],
}


def offering(seq: int, *names: str, key: str = "parameters", inside: str = "") -> Step:
    """A model call that offers some tools with the same schema, under a key and inside of another as APIs have it."""
    bare = [{"name": name, key: SCHEMA} for name in names]
    tools = [{"type": inside, inside: tool} for tool in bare] if inside else bare
    return Step(seq, "model", "chat", {"messages": [], "tools": tools}, {"role": "assistant", "content": ""})  # type: ignore[dict-item]


def test_a_schema_tells_the_branches_that_calls_must_take() -> None:
    """Enumerations, truth values, optional arguments, one and several; inner objects as well."""
    assert set(branches_of_schema(SCHEMA)) == {
        ("tier", "given"), ("tier", '"gold"'), ("tier", '"silver"'), ("tier", "3"),
        ("notify", "given"), ("notify", "left out"), ("notify", "true"), ("notify", "false"),
        ("items", "given"), ("items", "left out"), ("items", "one"), ("items", "several"),
        ("address", "given"), ("address", "left out"), ("address/zip", "given"),
    }  # fmt: skip


def test_a_call_takes_branches() -> None:
    """Those that the schema tells of, and those that only a call shows."""
    call: Json = {"tier": 3, "notify": False, "items": [1, 2], "address": {"zip": ""}, "amount": -2, "note": None}
    assert set(branches_of_call(call, SCHEMA)) == {
        ("tier", "given"), ("tier", "3"), ("notify", "given"), ("notify", "false"), ("items", "given"),
        ("items", "several"), ("address", "given"), ("address/zip", "given"), ("address/zip", "empty"),
        ("amount", "given"), ("amount", "negative"), ("note", "given"), ("note", "null"),
    }  # fmt: skip
    assert ("notify", "left out") in set(branches_of_call({"tier": "gold"}, SCHEMA))


@given(json_values, json_values)
def test_no_schema_and_no_call_breaks_it(schema: object, arguments: object) -> None:
    """A trace may hold anything where a schema or arguments should be."""
    for argument, word in (*branches_of_schema(schema), *branches_of_call(arguments, schema)):  # type: ignore[arg-type]
        assert isinstance(argument, str)
        assert word


def test_tools_that_no_case_touches_are_named() -> None:
    """Offered to the agent, declared in the settings, seen in production: each says so; a pattern that fits is met."""
    trace = a_trace(
        offering(0, "refund", "cancel"),
        tool_step(1, "lookup", {"order": 7}, {}),
        tool_step(2, "refund", {"tier": "gold"}, {}, effect="write"),
    )
    found = coverage([a_case(trace, checks=REPEATED)], ["look*", "ship_*", "cancel"], {"track": 9, "refund": 4})
    assert [tool.name for tool in found.tools] == ["lookup", "refund"]
    assert [(tool.name, tool.seen) for tool in found.untouched] == [("cancel", 0), ("ship_*", 0), ("track", 9)]
    refund = found.tools[1]
    assert refund.seen == 4
    assert refund.effect == "write"
    assert refund.branches["tier", '"gold"'] == 1
    assert refund.branches["tier", '"silver"'] == 0
    assert refund.covered == 5  # tier given, "gold"; the three others left out


@pytest.mark.parametrize(("key", "inside"), [("parameters", "function"), ("input_schema", ""), ("inputSchema", "")])
def test_tools_are_known_in_whatever_form_they_were_offered(key: str, inside: str) -> None:
    """OpenAI's, Anthropic's and MCP's definitions tell the same branches as a plain one."""
    called = tool_step(1, "refund", {"tier": "gold"}, {}, effect="write")
    plain, other = (
        coverage([a_case(a_trace(offered, called), checks=REPEATED)])
        for offered in (
            offering(0, "refund", "cancel"),
            offering(0, "refund", "cancel", key=key, inside=inside),
        )
    )
    assert other == plain
    assert [tool.name for tool in other.untouched] == ["cancel"]
    assert ("tier", '"silver"') in other.tools[0].branches


def test_a_fixture_off_the_path_tests_nothing() -> None:
    """A call that was set aside as a fixture is no coverage."""
    trace = a_trace(tool_step(0, "lookup", {"order": 7}, {}), tool_step(1, "refund", {"order": 7}, {}, effect="write"))
    found = coverage([replace(a_case(trace, checks=REPEATED), kept=(1,))])
    assert [tool.name for tool in found.tools] == ["refund"]


def test_what_was_chosen_after_what() -> None:
    """An error and an answer are two decision points; calls of one reply were chosen together."""
    asked = Step(0, "model", "chat", {"messages": []}, {"role": "assistant", "content": "", "tool_calls": [
        {"id": "1", "name": "a", "arguments": {}}, {"id": "2", "name": "b", "arguments": {}}]})  # fmt: skip
    trace = a_trace(asked, tool_step(1, "a"), tool_step(2, "b", error="gone"))
    case = a_case(trace, checks=REPEATED)
    points = {point.after: dict(point.choices) for point in coverage([case, case]).points}
    assert points == {"the request": {"a": 2, "b": 2}, "b failed": {"answer": 2}}


def test_what_is_as_frequent_stands_by_its_name() -> None:
    """Whatever order Python's sets have in this process: the same library is told of in the same words."""
    calls: list[Json] = [{"id": name, "name": name, "arguments": {}} for name in "hgfedcba"]
    asked = Step(0, "model", "chat", {"messages": []}, {"role": "assistant", "content": "", "tool_calls": calls})
    case = a_case(a_trace(asked, *(tool_step(at, name) for at, name in enumerate("hgfedcba", 1))), checks=REPEATED)
    found = coverage([replace(case, signature=one) for one in "ba"])
    assert [*found.points[-1].choices] == [*"abcdefgh"]
    assert [*found.signatures] == ["a", "b"]


def test_checks_count_for_the_tools_they_blame_or_name() -> None:
    """A general invariant that fails because of a tool's calls checks that tool."""
    case = replace(a_case(checks=REPEATED), signature="SIDE_EFFECT_REPEATED:refund", strength={
        "caught": 3, "faults": 4, "passed": 5, "variations": 5, "survivors": [], "blamed": []})  # fmt: skip
    found = coverage([case])
    assert {tool.name: tool.checked for tool in found.tools} == {"lookup": 0, "refund": 1}
    assert found.types["SIDE_EFFECT"] == 1
    assert found.types["PROMPT"] == 0
    assert found.mutations.score == 0.75
    assert found.mutations.measured == 1
