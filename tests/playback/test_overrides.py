"""Overrides in the form of each API."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.playback.overrides import Overrides

TOOL = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
SAID = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("wire", "body", "wanted"),
    [
        (
            "openai_chat",
            {"messages": [{"role": "developer", "content": "old"}, SAID]},
            {
                "messages": [{"role": "system", "content": "new"}, SAID],
                "tools": [{"type": "function", "function": TOOL}],
            },
        ),
        (
            "openai_responses",
            {"instructions": "old", "input": [{"role": "system", "content": "old"}, SAID]},
            {"instructions": "new", "input": [SAID], "tools": [{"type": "function", **TOOL}]},
        ),
        ("openai_responses", {"input": "hello"}, {"instructions": "new", "input": "hello",
                                                  "tools": [{"type": "function", **TOOL}]}),
        (
            "anthropic",
            {"system": [{"type": "text", "text": "old"}], "messages": [SAID]},
            {
                "system": "new",
                "messages": [SAID],
                "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
            },
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tool", [TOOL, {"type": "function", "function": TOOL}], ids=["bare", "in its envelope"])
def test_each_api_is_asked_in_its_own_form(wire: str, body: Any, wanted: Any, tool: Any) -> None:
    """Prompt and tools stand where the API has them; the rest of the request stays."""
    overrides = Overrides("m2", "new", 0.0, (tool,), {"top_k": 5})
    before = {"model": "m1", "temperature": 1.0, "max_tokens": 9, **body}
    given = dict(before)
    assert overrides.applied(wire, given) == {
        "model": "m2", "temperature": 0.0, "max_tokens": 9, "top_k": 5, **wanted,
    }  # fmt: skip
    assert given == before


def test_nothing_is_changed_that_is_not_named() -> None:
    """Down to an empty list of tools, which takes them away."""
    body = {"model": "m1", "messages": [SAID], "tools": [TOOL]}
    assert Overrides().applied("openai_chat", body) == body
    assert Overrides().json() == {}
    assert "tools" not in Overrides(tools=()).applied("openai_chat", body)
