"""Chat messages of OpenAI's, LangChain's and tau2's shapes in the normal form of `trace.model`.

Messages go through `wire.openai_message`, so that an imported run and a recorded one have the same form. Tool calls
are read here: trace files spell them in three ways, and their argument texts are parsed under the strict rules of
`trace.json_input` (what breaks these rules stays text).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts, is_whole
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import StepError, Usage
from evalkit.wire.body import dump_json
from evalkit.wire.openai_chat import WIRE
from evalkit.wire.openai_message import LEGACY_CALL_ID, message_from_openai, tool_from_openai

__all__ = [
    "arguments_of",
    "call_of",
    "keywords_of",
    "message_of",
    "request_of",
    "result_of",
    "text_of",
    "tool_definition",
    "unix_seconds",
    "usage_of",
]

_LANGCHAIN_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_CALL_KEYS = ("tool_calls", "function_call", "invalid_tool_calls")
_LANGCHAIN_KEYS = frozenset(
    {"type", "additional_kwargs", "response_metadata", "usage_metadata", "artifact", "status", "id", "example"}
)
_SCHEMA_KEYS = ("input_schema", "inputSchema")
_ERROR_TEXT = re.compile(r"\s*(?:Error\b|[A-Z]\w*(?:Error|Exception): |Traceback \(most recent call last\))")


def message_of(raw: dict[str, Any]) -> dict[str, Any]:
    """A Message from one of OpenAI's chat form, LangChain's (``type: "human"``), or with flat tool calls (tau2)."""
    plain = {key: value for key, value in raw.items() if key not in _CALL_KEYS}
    role = _LANGCHAIN_ROLES.get(str(plain.get("type")))
    if "role" not in plain and role is not None:
        plain = {"role": role, **{key: value for key, value in plain.items() if key not in _LANGCHAIN_KEYS}}
    message = message_from_openai(plain)
    calls = [call_of(call) for key in ("tool_calls", "invalid_tool_calls") for call in dicts(raw.get(key))]
    legacy = raw.get("function_call")
    if not calls and isinstance(legacy, dict):
        calls = [call_of({"id": LEGACY_CALL_ID, **legacy})]
    if calls:
        message["tool_calls"] = calls
    return message


def request_of(request: dict[str, Any]) -> dict[str, Json]:
    """The input of a model step from the body of a chat completions request."""
    asked = WIRE.request(dump_json({**request, "messages": []}))
    rest = {} if asked is None else asked.asked
    return {**rest, "messages": [message_of(item) for item in dicts(request.get("messages"))]}


def tool_definition(raw: Any) -> Any:
    """A tool's definition as ``{"name", "description", "parameters"}``, from OpenAI's, Anthropic's or MCP's form.

    A definition of another shape (a provider's own tool) stays as it is.
    """
    tool = tool_from_openai(raw)
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return tool
    if tool.get("type") == "function":
        tool = {key: value for key, value in tool.items() if key != "type"}
    if "parameters" not in tool:
        tool = {("parameters" if key in _SCHEMA_KEYS else key): value for key, value in tool.items()}
    return tool


def arguments_of(raw: Any) -> Json:
    """Arguments as an object; the model's own text where that is no JSON object."""
    if raw is None or raw == "":
        return {}
    if isinstance(raw, str):
        value = json_or_text(raw)
        return value if isinstance(value, dict) else raw
    return raw  # type: ignore[no-any-return]  # a JSON value from a parsed document


def keywords_of(given: Json) -> Json:
    """The arguments of a decorated function, ``{"args": [], "kwargs": {...}}``; positions have no names and stay."""
    called = isinstance(given, dict) and given.keys() == {"args", "kwargs"} and not given["args"]
    return given["kwargs"] if called and isinstance(given, dict) else given


def result_of(content: Any, failed: bool | None = None) -> tuple[Json, StepError | None]:
    """A tool message's content as a step's output and error; exactly one of them is other than None.

    Args:
        content: the content; objects and arrays in a string are parsed.
        failed: whether the source says that the call failed; None where it does not say, and the text decides.
    """
    if failed or (failed is None and isinstance(content, str) and _ERROR_TEXT.match(content)):
        return None, StepError("ToolError", content if isinstance(content, str) else dump_json(content).decode())
    return json_or_text(content) if isinstance(content, str) else content, None


def text_of(message: dict[str, Any]) -> str | None:
    """The text of a Message: its content, or the text parts of it joined; None when it has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [part["text"] for part in dicts(content) if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else None


def usage_of(raw: Any, cost_usd: Any = None) -> Usage | None:
    """Token counts from OpenAI's (chat or Responses) or LangChain's usage object; None when nothing is known.

    Sources: https://platform.openai.com/docs/api-reference/chat/object (``usage``), .../responses/object, and
    LangChain's ``UsageMetadata``.
    """
    raw = raw if isinstance(raw, dict) else {}
    usage = Usage(
        input_tokens=_first_count(raw, "prompt_tokens", "input_tokens"),
        output_tokens=_first_count(raw, "completion_tokens", "output_tokens"),
        cached_tokens=_first_known(
            _first_count(raw.get("prompt_tokens_details"), "cached_tokens"),
            _first_count(raw.get("input_tokens_details"), "cached_tokens"),
            _first_count(raw.get("input_token_details"), "cache_read"),
        ),
        reasoning_tokens=_first_known(
            _first_count(raw.get("completion_tokens_details"), "reasoning_tokens"),
            _first_count(raw.get("output_tokens_details"), "reasoning_tokens"),
            _first_count(raw.get("output_token_details"), "reasoning"),
        ),
        cost_usd=float(cost_usd) if isinstance(cost_usd, int | float) else None,
    )
    return None if usage == Usage() else usage


def unix_seconds(text: Any) -> float | None:
    """Seconds since 1970 of an ISO 8601 time; one without a zone is taken as UTC. None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def call_of(call: dict[str, Any]) -> dict[str, Any]:
    """A tool call of a Message, from OpenAI's form or one with name and arguments beside its id."""
    inner = call.get("function")
    function: dict[str, Any] = inner if isinstance(inner, dict) else call
    name = function.get("name")
    return {
        "id": str(call.get("id") or ""),
        "name": name if isinstance(name, str) else "",
        "arguments": arguments_of(function.get("arguments", function.get("args"))),
    }


def _first_known(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _first_count(raw: Any, *names: str) -> int | None:
    for name in names:
        count = raw.get(name) if isinstance(raw, dict) else None
        if is_whole(count):
            return count
    return None
