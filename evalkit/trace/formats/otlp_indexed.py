"""GenAI spans whose messages are numbered attributes: ``gen_ai.prompt.0.content``, ``gen_ai.completion.0.role`` ...

OpenLLMetry wrote them so before the message style, and tools as ``llm.request.functions.N.name``. A plain
``gen_ai.prompt`` and ``gen_ai.completion`` are the form of the oldest conventions.
Source: https://github.com/traceloop/openllmetry, ``opentelemetry-instrumentation-openai/.../chat_wrappers.py``.
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.formats.attributes import Attributes, json_value
from evalkit.trace.formats.chat import call_of
from evalkit.trace.formats.otlp_messages import Content, part_of
from evalkit.trace.formats.otlp_spans import Span
from evalkit.trace.json_input import json_or_text

__all__ = ["content", "functions"]


def content(span: Span, taken: Attributes) -> Content | None:
    """The messages in a span's numbered attributes; None when there are none."""
    del span
    given = taken.indexed("gen_ai.prompt") or _plain(taken, "gen_ai.prompt", "user")
    answered = taken.indexed("gen_ai.completion") or _plain(taken, "gen_ai.completion", "assistant")
    if not given and not answered:
        return None
    reasons = [item["finish_reason"] for item in answered if item.get("finish_reason")]
    if reasons:
        taken.rest.setdefault("gen_ai.response.finish_reasons", reasons)
    answers = _joined([_message(item, "assistant") for item in answered])
    return Content([_message(item, "user") for item in given], answers)


def functions(taken: Attributes) -> list[dict[str, Any]]:
    """The tool definitions in numbered attributes, taken out."""
    found: list[dict[str, Any]] = []
    for item in taken.indexed("llm.request.functions"):
        name = "parameters" if "parameters" in item else "input_schema"
        schema = item.get(name)
        found.append({**item, name: json_or_text(schema)} if isinstance(schema, str) else dict(item))
    return found


def _plain(taken: Attributes, name: str, role: str) -> list[dict[str, Json]]:
    """The messages in one attribute: JSON of a list of them, else the text of one."""
    text = taken.take(name)
    if text is None:
        return []
    value = json_value(text) if isinstance(text, str) else text
    messages = dicts(value)
    if isinstance(value, list) and messages and all(isinstance(item, dict) and "role" in item for item in value):
        return messages
    return [{"role": role, "content": text}]


def _message(item: dict[str, Json], role: str) -> dict[str, Any]:
    fields = Attributes(item)
    role = fields.text("role") or role
    calls = [{"type": "tool_call", **call_of(call)} for call in fields.indexed("tool_calls")]
    calls += [{"type": "tool_call", **call_of(call)} for call in dicts(fields.take("tool_calls"))]
    legacy = {name.removeprefix("function_call."): value for name, value in item.items() if "function_call." in name}
    if legacy:
        calls.append({"type": "tool_call", **call_of(legacy)})
    text = fields.take("content")
    if role in ("tool", "function"):
        call_id = fields.take("tool_call_id", "id")
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text}]}
    parts = [{**part, "type": "reasoning"} if role == "thinking" else part for part in _parts(text)]
    parts += [
        {"type": kind, "content": fields.rest[kind]} for kind in ("reasoning", "refusal") if fields.rest.get(kind)
    ]
    return {"role": role, "parts": [*parts, *calls]}


def _joined(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers; a thinking block that stands before one as an answer of its own is its reasoning."""
    joined: list[dict[str, Any]] = []
    for answer in answers:
        if joined and joined[-1]["role"] == "thinking":
            joined[-1] = {"role": answer["role"], "parts": [*joined[-1]["parts"], *answer["parts"]]}
        else:
            joined.append(answer)
    return joined


def _parts(text: Json) -> list[dict[str, Any]]:
    """The parts of a content: blocks in JSON, or text."""
    if text is None:
        return []
    value = json_or_text(text) if isinstance(text, str) else text
    blocks = dicts(value)
    if isinstance(value, list) and blocks and len(blocks) == len(value) and all("type" in block for block in blocks):
        return [part_of(block) for block in blocks]
    return [part_of(text)]
