"""The GenAI semantic conventions in their event style: messages stand in log records or in a span's events.

One event a message: ``gen_ai.system.message``, ``gen_ai.user.message``, ``gen_ai.assistant.message``,
``gen_ai.tool.message``, and ``gen_ai.choice`` for each answer; its fields are a log record's body, or attributes.
``gen_ai.content.prompt`` and ``gen_ai.content.completion`` are the form before that.
Source: https://github.com/open-telemetry/semantic-conventions/blob/v1.36.0/docs/gen-ai/gen-ai-events.md
"""

from __future__ import annotations

import re
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.formats.attributes import Attributes, json_value
from evalkit.trace.formats.chat import call_of
from evalkit.trace.formats.otlp_messages import Content, part_of
from evalkit.trace.formats.otlp_spans import Span, SpanEvent

__all__ = ["DETAILS", "content", "is_captured", "is_message"]

DETAILS = "gen_ai.client.inference.operation.details"
"""An event whose attributes are those of the message style."""

_NAME = re.compile(r"gen_ai\.(?:(system|user|assistant|tool)\.message|choice|content\.(?:prompt|completion))")
_FIELDS = ("content", "role", "id", "tool_calls", "message", "finish_reason", "index")


def is_message(event: SpanEvent) -> bool:
    """Whether an event is one of this style."""
    return _NAME.fullmatch(event.name) is not None or event.name == DETAILS


def is_captured(event: SpanEvent) -> bool:
    """Whether the event of this style holds its message: without content capture it has only a role."""
    return event.name == DETAILS or _holds(_fields(event))


def content(span: Span, taken: Attributes) -> Content | None:
    """The messages in the events of a span; None when there are none."""
    given: list[dict[str, Any]] = []
    answered: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    reasons: list[Json] = []
    blocks = "anthropic" in (taken.rest.get("gen_ai.provider.name"), taken.rest.get("gen_ai.system"))
    for event in span.events:
        match = _NAME.fullmatch(event.name)
        fields = _fields(event) if match else {}
        if match is None or not _holds(fields):
            continue
        if event.name == "gen_ai.choice":
            _add_choice(fields, answered, blocks)
            reasons.append(fields.get("finish_reason"))
        elif event.name == "gen_ai.content.prompt":
            given += _messages(fields["content"], "user")
        elif event.name == "gen_ai.content.completion":
            answered += _messages(fields["content"], "assistant")
        elif isinstance(fields.get("content"), dict) and "tools" in fields["content"]:
            tools += dicts(fields["content"]["tools"])  # OpenLLMetry for Anthropic sends definitions as a message
        else:
            given.append(_message(match[1], fields))
    if any(reasons):
        taken.rest.setdefault("gen_ai.response.finish_reasons", [reason for reason in reasons if reason])
    return Content(given, answered, tools) if given or answered else None


def _fields(event: SpanEvent) -> dict[str, Any]:
    """The event's fields: its body, or JSON in ``gen_ai.event.content``, or attributes of their own."""
    if event.name.startswith("gen_ai.content."):
        text = event.attributes.get("gen_ai.prompt", event.attributes.get("gen_ai.completion"))
        return {} if text is None else {"content": text}
    for raw in (event.body, event.attributes.get("gen_ai.event.content")):
        value = json_value(raw) if isinstance(raw, str) else raw
        if isinstance(value, dict) and value:
            return value
    if isinstance(event.body, str) and event.body:
        return {"content": event.body}
    return {name: event.attributes[name] for name in _FIELDS if name in event.attributes}


def _holds(fields: dict[str, Any]) -> bool:
    inner = fields.get("message")
    if isinstance(inner, str) or "content" in fields or (isinstance(inner, dict) and "content" in inner):
        return True
    return any("arguments" in _function(call) for call in _calls(fields))


def _calls(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls, which stand in a choice's message or (OpenLLMetry) beside it."""
    inner = fields.get("message")
    for holder in (fields, inner if isinstance(inner, dict) else {}):
        raw = holder.get("tool_calls")
        calls = dicts(json_value(raw) if isinstance(raw, str) else raw)
        if calls:
            return calls
    return []


def _function(call: dict[str, Any]) -> dict[str, Any]:
    inner = call.get("function")
    return inner if isinstance(inner, dict) else call


def _message(role: str, fields: dict[str, Any]) -> dict[str, Any]:
    text = fields.get("content")
    if role == "tool":
        part = {"type": "tool_call_response", "id": fields.get("id"), "response": text}
        return {"role": "tool", "parts": [part]}
    return {"role": role, "parts": [*_parts(text), *_called(fields)]}


def _add_choice(fields: dict[str, Any], answered: list[dict[str, Any]], blocks: bool) -> None:
    """One answer more; or, as OpenLLMetry writes Anthropic's, one block more of the same answer."""
    inner = fields.get("message")
    text = inner.get("content") if isinstance(inner, dict) else inner
    parts = [*_parts(text), *_called(fields)]
    if answered and (blocks or isinstance(text, dict)):
        answered[-1]["parts"] += parts
    else:
        answered.append({"role": "assistant", "parts": parts})


def _called(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "tool_call", **call_of(call)} for call in _calls(fields)]


def _parts(text: Any) -> list[dict[str, Any]]:
    if text is None:
        return []
    return [part_of(block) for block in (text if isinstance(text, list) else [text])]


def _messages(text: Any, role: str) -> list[dict[str, Any]]:
    """The messages in one text: JSON of a list of chat messages, else the text of one message."""
    value = json_value(text) if isinstance(text, str) else text
    if isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value):
        return dicts(value)
    return [{"role": role, "parts": _parts(text)}]
