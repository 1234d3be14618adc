"""The Vercel AI SDK's messages in the form of the GenAI conventions, for all its versions.

Versions 3 and 4 call a tool call's input ``args`` and a result ``result``; from 5 on they are ``input`` and ``output``,
where an output is ``{"type": "text" | "json" | "error-text" | ..., "value": ...}``.
Source: https://github.com/vercel/ai, ``packages/provider/src/language-model`` and ``packages/ai/src/prompt``.
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.formats.otlp_messages import part_of
from evalkit.wire.body import dump_json

__all__ = ["ai_sdk_answer", "ai_sdk_call", "ai_sdk_messages", "ai_sdk_part"]

_OUTPUT_KEYS = frozenset({"type", "value", "providerOptions"})
_REFUSED = "execution-denied"


def ai_sdk_messages(raw: list[Any]) -> list[dict[str, Any]]:
    """A prompt's messages as ``{"role", "parts"}``."""
    found: list[dict[str, Any]] = []
    for item in dicts(raw):
        content = item.get("content")
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        parts = [ai_sdk_part(block) if isinstance(block, dict) else part_of(block) for block in blocks]
        found.append({"role": item.get("role"), "parts": parts})
    return found


def ai_sdk_part(part: dict[str, Any]) -> dict[str, Any]:
    """One part of a message's content; a part of another kind stays as it is."""
    kind = part.get("type")
    if kind == "tool-call":
        return {"type": "tool_call", **ai_sdk_call(part)}
    if kind == "tool-result":
        return {"type": "tool_call_response", "id": part.get("toolCallId"), "response": _result(part)}
    return part_of(part)


def ai_sdk_call(call: dict[str, Any]) -> dict[str, Any]:
    """A tool call's id, name and arguments."""
    given = call.get("input", call.get("args"))
    return {"id": call.get("toolCallId"), "name": call.get("toolName"), "arguments": given}


def ai_sdk_answer(text: Any, calls: Any, reasoning: Any) -> dict[str, Any]:
    """An answer as ``{"role", "parts"}`` from a result's text, tool calls and reasoning, each where it is there."""
    parts: list[dict[str, Any]] = []
    if isinstance(reasoning, str) and reasoning:
        parts.append({"type": "reasoning", "content": reasoning})
    if isinstance(text, str) and text:
        parts.append({"type": "text", "content": text})
    parts += [{"type": "tool_call", **ai_sdk_call(call)} for call in dicts(calls)]
    return {"role": "assistant", "parts": parts}


def _result(part: dict[str, Any]) -> Json:
    """What a tool result says, without the object that tells text from JSON."""
    output: Json = part.get("output", part.get("result"))
    if not isinstance(output, dict) or not isinstance(output.get("type"), str):
        return output
    if output["type"] == _REFUSED:
        return dump_json(output).decode()
    return output["value"] if "value" in output and output.keys() <= _OUTPUT_KEYS else output
