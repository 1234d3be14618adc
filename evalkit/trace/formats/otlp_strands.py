"""Spans of Strands Agents: GenAI operations whose messages are lists of Amazon Bedrock's content blocks.

``[{"text"}, {"toolUse": {"toolUseId", "name", "input"}}, {"toolResult": {"toolUseId", "content": [...]}}]`` stand as
JSON text in events; a tool's span holds its arguments in a ``gen_ai.tool.message`` and its result in a
``gen_ai.choice``. In the newer style they are the conventions' parts, a tool's as messages of its span.
Source: https://github.com/strands-agents/sdk-python, ``src/strands/telemetry/tracer.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.formats import otlp_events, otlp_genai
from evalkit.trace.formats.attributes import Attributes, json_value
from evalkit.trace.formats.otlp_spans import Span, SpanEvent
from evalkit.trace.model import Step

__all__ = ["claims", "interpret"]

_SYSTEM = "strands-agents"
_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CHOICE = "gen_ai.choice"


def claims(span: Span) -> bool:
    """Whether Strands wrote the span."""
    return _SYSTEM in (span.attributes.get("gen_ai.system"), span.attributes.get("gen_ai.provider.name"))


def interpret(span: Span) -> Step:
    """The span as a step; its number, parent and times are set by the caller."""
    operation = span.attributes.get("gen_ai.operation.name")
    taken = Attributes(span.attributes)
    if operation == "execute_tool":
        _tool(span, taken)
    else:
        _messages(span, taken)
    events = tuple(event for event in span.events if not otlp_events.is_message(event))
    return otlp_genai.interpret(replace(span, attributes=taken.rest, events=events))


def _tool(span: Span, taken: Attributes) -> None:
    for event in span.events:
        if event.name == "gen_ai.tool.message" and "content" in event.attributes:
            taken.rest["gen_ai.tool.call.arguments"] = event.attributes["content"]
        elif event.name == _CHOICE and "message" in event.attributes:
            taken.rest["gen_ai.tool.call.result"] = _plain(_blocks(event.attributes["message"]))
    for name, kind, key in (
        ("gen_ai.input.messages", "tool_call", "arguments"),
        ("gen_ai.output.messages", "tool_call_response", "response"),
    ):
        for message in taken.listed(name) or []:
            for part in dicts(message.get("parts")):
                if part.get("type") == kind and key in part:
                    target = "arguments" if kind == "tool_call" else "result"
                    taken.rest.setdefault(f"gen_ai.tool.call.{target}", _plain(part[key]))


def _messages(span: Span, taken: Attributes) -> None:
    given = [_message(event, _ROLES[event.name], "content") for event in span.events if event.name in _ROLES]
    answered = [_message(event, "assistant", "message") for event in span.events if event.name == _CHOICE]
    for name, found in (("gen_ai.input.messages", given), ("gen_ai.output.messages", answered)):
        listed = taken.listed(name)
        read = found if listed is None else [_newer(message) for message in listed]
        if read:
            taken.rest[name] = [*read]


def _message(event: SpanEvent, role: str, key: str) -> dict[str, Any]:
    blocks = _blocks(event.attributes.get(key))
    return {"role": role, "parts": [part for block in blocks for part in _parts(block)]}


def _newer(message: dict[str, Any]) -> dict[str, Any]:
    """A message of parts, a tool's result in it without the list of blocks around."""
    parts = [
        {**part, "response": _plain(part["response"])} if "response" in part else part
        for part in dicts(message.get("parts"))
    ]
    return {**message, "parts": parts}


def _blocks(raw: Json) -> list[Any]:
    """The blocks in JSON text; text that is none is one block."""
    value = json_value(raw) if isinstance(raw, str) else raw
    if isinstance(value, list):
        return value
    return [] if raw is None else [{"text": raw}]


def _parts(block: Any) -> list[dict[str, Any]]:
    """The conventions' part of one block; a block of another kind keeps its content under its name."""
    if not isinstance(block, dict):
        return [{"type": "text", "content": block}] if isinstance(block, str) else []
    found: list[dict[str, Any]] = []
    for kind, value in block.items():
        held = value if isinstance(value, dict) else {}
        if kind == "text":
            found.append({"type": "text", "content": value})
        elif kind == "toolUse":
            call = {"id": held.get("toolUseId"), "name": held.get("name"), "arguments": held.get("input")}
            found.append({"type": "tool_call", **call})
        elif kind == "toolResult":
            result = _plain(held.get("content"))
            found.append({"type": "tool_call_response", "id": held.get("toolUseId"), "response": result})
        elif kind == "reasoningContent":
            said = held.get("reasoningText")
            found.append({"type": "reasoning", "content": said.get("text") if isinstance(said, dict) else said})
        else:
            found.append({"type": kind, "content": value})
    return found


def _plain(content: Any) -> Json:
    """A result's only block, or its text blocks joined; anything else as it is."""
    blocks = dicts(content)
    if not isinstance(content, list) or len(blocks) != len(content) or not blocks:
        return content  # type: ignore[no-any-return]  # a JSON value from a parsed document
    if all(block.keys() == {"text"} and isinstance(block["text"], str) for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    if len(blocks) == 1 and blocks[0].keys() == {"json"}:
        return blocks[0]["json"]  # type: ignore[no-any-return]  # as above
    return content
