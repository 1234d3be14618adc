"""What a case recorded of its prompt, tools and effects against today's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.distil.surroundings import Today, approval_of, fits_prompt, touches
from evalkit.trace.asked import schemas_of
from evalkit.trace.model import Effect, Step
from tests.build import a_case, a_trace, tool_step

REFUND: dict[str, Any] = {
    "name": "refund",
    "description": "Pays money back.",
    "parameters": {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]},
}
SEARCH: dict[str, Any] = {"name": "search", "description": "", "parameters": {"type": "object"}}


def model_step(seq: int, prompt: str, *tools: Any) -> Step:
    """A model call."""
    messages: list[Json] = [{"role": "system", "content": prompt}, {"role": "user", "content": "hi"}]
    return Step(seq, "model", "chat", {"messages": messages, "tools": list(tools), "params": {}}, {"role": "assistant"})


CASE = a_case(
    a_trace(
        model_step(0, "You refund orders.", REFUND, SEARCH),
        tool_step(1, "refund", {"order": 7}, {"ok": True}, effect="write"),
    )
)


def told(today: Today, case: Case = CASE) -> list[str]:
    """The touches in words."""
    return [touch.words for touch in touches(case, today)]


def with_parameter(name: str, schema: Any) -> dict[str, Any]:
    """The refund tool with another parameter."""
    parameters = REFUND["parameters"]
    return {**REFUND, "parameters": {**parameters, "properties": {**parameters["properties"], name: schema}}}


@pytest.mark.parametrize(
    ("today", "fits"),
    [
        ("You refund orders.", True),
        ("You refund orders.\n", True),
        ("You refund {what}.", True),
        ("You {{ verb }} ${what}", True),
        ("{everything}", True),
        ("You refund orders", False),
        ("You refund {what}!", False),
        ("You refund {what} orders.", False),
        ("{a} orders. You refund {b}", False),
        ("", False),
    ],
)
def test_placeholders_fit_any_text(today: str, fits: bool) -> None:
    """And nothing else does."""
    assert fits_prompt("You refund orders.", today) is fits
    assert bool(told(Today(prompts=(today,)))) is not fits


def test_doubled_braces_stand_for_themselves() -> None:
    """As in a format string whose prompt shows JSON."""
    assert fits_prompt('Answer {"ok": true} to Lena.', 'Answer {{"ok": true}} to {name}.')
    assert fits_prompt("a\nb", "a\r\nb")
    assert fits_prompt("aXbXc", "a{x}b{y}c")
    assert not fits_prompt("abab", "ab{x}bab")


def test_one_of_several_prompts_is_enough() -> None:
    """A project with several agents names all their prompts."""
    assert told(Today(prompts=("You plan.", "You refund orders."))) == []
    (words,) = told(Today(prompts=("You plan.",)))
    assert words == "its system prompt (“You refund orders.”) is not today's any more"
    assert told(Today(prompts=())) != []


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([], "it calls refund, which is no tool any more"),
        ([with_parameter("reason", {"type": "string"})], '/reason/type nothing → "string"'),
        ([with_parameter("order", {"type": "string"})], '/order/type "integer" → "string"'),
        ([{**REFUND, "description": "Gives a voucher."}], '/description "Pays money back." → "Gives a voucher."'),
    ],
)
def test_a_called_tool_that_changed_touches(tools: list[Any], words: str) -> None:
    """With where it changed."""
    (found,) = told(Today(tools=schemas_of(tools)))
    assert words in found


def test_what_is_not_called_does_not_touch() -> None:
    """Another tool may change, come and go; titles and the order of keys are no change; nor is another API's form."""
    titled = {**REFUND, "parameters": {"title": "Refund", **dict(reversed(list(REFUND["parameters"].items())))}}
    other = {**SEARCH, "description": "Finds."}
    assert told(Today(tools=schemas_of([titled, other, {"name": "new"}]))) == []
    anthropic = {"name": "refund", "description": REFUND["description"], "input_schema": REFUND["parameters"]}
    openai = {"type": "function", "function": REFUND}
    assert told(Today(tools=schemas_of([anthropic]))) == told(Today(tools=schemas_of([openai]))) == []


def test_another_effect_touches() -> None:
    """Where somebody says what it is today."""
    effects: dict[str, Effect] = {"refund": "read"}
    assert told(Today(effect_of=effects.get)) == ["refund was of effect write and is read now"]
    assert told(Today(effect_of=lambda name: "write")) == []


def test_what_a_source_does_not_tell_is_not_compared() -> None:
    """An imported trace without prompts and tools."""
    case = a_case(a_trace(tool_step(0, "refund", {"order": 7}, {"ok": True}, effect="write")))
    assert told(Today(prompts=("x",), tools={}), case) == []


def test_an_approval_holds_until_the_next_change() -> None:
    """For exactly what was agreed to."""
    effects: dict[str, Effect] = {"refund": "read"}
    today = Today(("You refund.",), schemas_of([with_parameter("reason", {})]), effects.get)
    assert len(told(today)) == 3
    approved = replace(CASE, approved=approval_of(CASE, today))
    assert told(today, approved) == []
    assert told(replace(today, prompts=("You refund.", "You plan.")), approved) == []
    assert len(told(replace(today, prompts=("You refund!",)), approved)) == 1
    assert len(told(replace(today, tools=schemas_of([with_parameter("why", {})])), approved)) == 1
    gone = replace(today, tools={})
    again = replace(approved, approved=approval_of(approved, gone))
    assert told(gone, again) == []
    assert told(Today(("You refund orders.",), schemas_of([REFUND])), again) == []
