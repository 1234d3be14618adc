"""The GenAI semantic conventions in their message style: a span holds its messages as JSON in attributes.

``gen_ai.input.messages`` and ``gen_ai.output.messages`` are lists of ``{"role", "parts": [...]}``,
``gen_ai.system_instructions`` is a list of parts. Older styles are brought into this form first, so that it is read
in one place.
Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/ and its JSON schemas of the messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.formats.attributes import Attributes, text_at
from evalkit.trace.formats.chat import call_of, message_of
from evalkit.trace.formats.otlp_spans import Span
from evalkit.wire.body import dump_json

__all__ = ["Content", "answer_of", "content", "messages_of", "part_of"]

_ROLES = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    **{"developer": "system", "human": "user", "ai": "assistant", "model": "assistant", "function": "tool"},
}
_APART = {"reasoning": "reasoning", "thinking": "reasoning", "refusal": "refusal"}
"""Parts that are no content of a Message but fields of their own."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a span says about a call, in the form of the conventions' JSON schemas.

    Attributes:
        given: the input messages, ``{"role", "parts"}``.
        answered: the output messages, one a choice.
        tools: definitions that stand among the messages.
        system: parts of the developer's instructions.
    """

    given: list[dict[str, Any]] = field(default_factory=list)
    answered: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    system: list[dict[str, Any]] = field(default_factory=list)


def content(span: Span, taken: Attributes) -> Content | None:
    """The messages in a span's attributes; None when there are none."""
    del span
    given, answered = taken.listed("gen_ai.input.messages"), taken.listed("gen_ai.output.messages")
    return Content(given or [], answered or []) if given or answered else None


def part_of(block: Any) -> dict[str, Any]:
    """A part of a message from a content block of OpenAI's or Anthropic's form; others stay as they are."""
    if not isinstance(block, dict):
        return {"type": "text", "content": block if isinstance(block, str) else dump_json(block).decode()}
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text") and "text" in block:
        return {"type": "text", "content": block["text"]}
    if kind in ("thinking", "reasoning"):
        return {"type": "reasoning", "content": block.get("thinking") or block.get("content") or block.get("text")}
    if kind == "tool_use":
        return {"type": "tool_call", "id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}
    if kind == "tool_result":
        return {"type": "tool_call_response", "id": block.get("tool_use_id"), "response": _plain(block.get("content"))}
    return block


def _plain(content: Any) -> Any:
    """A tool result's text blocks as one text; anything else as it is."""
    blocks = dicts(content)
    if blocks and len(blocks) == len(content) and all(isinstance(block.get("text"), str) for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return content


def messages_of(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """The Messages of one source message: each tool response in it is a Message of its own, before the rest."""
    if not isinstance(raw.get("parts"), list):
        return [message_of(raw)]
    answers: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for part in dicts(raw["parts"]):
        if part.get("type") == "tool_call_response":
            answers.append(_tool_message(part))
        else:
            rest.append(part)
    return [*answers, _message(_role(raw.get("role"), rest), rest)] if rest or not answers else answers


def answer_of(raw: dict[str, Any]) -> dict[str, Any]:
    """An output message: an assistant's, whatever role the source gives it."""
    if not isinstance(raw.get("parts"), list):
        return message_of({**raw, "role": "assistant"})
    return _message("assistant", dicts(raw["parts"]))


def _message(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    said: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    apart: dict[str, list[str]] = {}
    for part in parts:
        kind = text_at(part, "type")
        if kind == "tool_call":
            calls.append(call_of(part))
        elif kind in _APART:
            apart.setdefault(_APART[kind], []).append(str(part.get("content") or ""))
        else:
            said.append(part)
    message: dict[str, Any] = {"role": role, "content": _content(said)}
    if calls:
        message["tool_calls"] = calls
    return {**message, **{kind: "\n".join(apart[kind]) for kind in sorted(apart)}} if apart else message


def _content(parts: list[dict[str, Any]]) -> Json:
    """The content: a string for one text part, None for none, else the list of parts."""
    if not parts:
        return None
    if len(parts) == 1 and parts[0].get("type") == "text" and isinstance(parts[0].get("content"), str):
        return str(parts[0]["content"])
    return [{"type": "text", "text": part.get("content")} if part.get("type") == "text" else part for part in parts]


def _tool_message(part: dict[str, Any]) -> dict[str, Any]:
    response = part.get("response", part.get("result"))
    text = response if isinstance(response, str) else dump_json(response).decode()
    return {"role": "tool", "content": text, "tool_call_id": str(part.get("id") or "")}


def _role(role: Any, parts: list[dict[str, Any]]) -> str:
    if isinstance(role, str) and role in _ROLES:
        return _ROLES[role]
    return "assistant" if any(part.get("type") == "tool_call" for part in parts) else "user"
