"""Anthropic's Messages API: content blocks, a system prompt beside the messages, tools with ``input_schema``.

What the provider runs itself (``server_tool_use`` and its results) stays a part of the answer. Hints for the cache are
taken out: they move from request to request.
Source: https://docs.anthropic.com/en/api/messages.
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts, is_whole
from evalkit.trace.formats.chat import arguments_of, tool_definition
from evalkit.trace.formats.provider import Answered, Asked
from evalkit.trace.formats.seen import SeenItems
from evalkit.trace.model import Usage
from evalkit.wire.body import dump_json

__all__ = ["MESSAGES", "content_of", "has_blocks", "messages_from_anthropic", "usage_from_anthropic"]

_OWN_BLOCKS = frozenset(
    "tool_use tool_result thinking redacted_thinking server_tool_use mcp_tool_use mcp_tool_result "
    "web_search_tool_result search_result container_upload".split()
)
_SOURCES = ("image", "document")
_ROLES = ("user", "assistant", "system")
_NOT_PARAMS = frozenset(
    "model messages system tools stream metadata betas container mcp_servers service_tier anthropic_version "
    "anthropic_beta extra_headers extra_body timeout".split()
)
_USUAL_ENDS = (None, "end_turn", "tool_use", "stop_sequence")


class _Messages:
    """Requests and responses of ``POST /v1/messages``."""

    name = "anthropic"

    def asks(self, body: dict[str, Any]) -> bool:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(_is_message(each) for each in messages):
            return False
        tools = dicts(body.get("tools"))
        return (
            "anthropic_version" in body
            or "system" in body
            or any("input_schema" in tool for tool in tools)
            or has_blocks(messages)
            or ("max_tokens" in body and str(body.get("model")).startswith("claude"))
        )

    def answers(self, body: dict[str, Any]) -> bool:
        return (
            body.get("type") == "message" and body.get("role") == "assistant" and isinstance(body.get("content"), list)
        )

    def asked(self, body: dict[str, Any], seen: SeenItems) -> Asked:
        system = content_of(body.get("system"))
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        for raw in dicts(body.get("messages")):
            messages += seen.made(messages_from_anthropic, raw)
        tools: list[Json] = [tool_definition(_without_hints(tool)) for tool in dicts(body.get("tools"))]
        names = {"stop_sequences": "stop"}
        params = {
            names.get(key, key): value for key, value in body.items() if key not in _NOT_PARAMS and value is not None
        }
        model = body.get("model")
        return Asked(messages, tools, params, model if isinstance(model, str) else None)

    def answered(self, body: dict[str, Any]) -> Answered:
        (message,) = messages_from_anthropic({"role": "assistant", "content": body["content"]})
        ended, model, response_id = (body.get(key) for key in ("stop_reason", "model", "id"))
        return Answered(
            message,
            model if isinstance(model, str) else None,
            usage_from_anthropic(body.get("usage")),
            response_id if isinstance(response_id, str) else None,
            attributes={} if ended in _USUAL_ENDS else {"stop_reason": ended},
        )


MESSAGES = _Messages()


def has_blocks(messages: list[Any]) -> bool:
    """Whether any message holds a content block that only this API has."""
    return any(_is_own_block(block) for message in dicts(messages) for block in dicts(message.get("content")))


def messages_from_anthropic(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """The Messages of one message: each tool result in it is a Message of its own, before the rest."""
    role, content = str(raw.get("role") or "user"), raw.get("content")
    blocks = dicts(content)
    if not blocks:
        return [{"role": role, "content": content_of(content)}]
    results = [] if role == "assistant" else [_result(block) for block in blocks if block.get("type") == "tool_result"]
    rest = [block for block in blocks if block.get("type") != "tool_result"] if role != "assistant" else blocks
    if results and not rest:
        return results
    message: dict[str, Any] = {
        "role": role,
        "content": content_of([block for block in rest if block.get("type") not in ("thinking", "tool_use")]),
    }
    calls = [
        {
            "id": str(block.get("id") or ""),
            "name": str(block.get("name") or ""),
            "arguments": arguments_of(block.get("input")),
        }
        for block in rest
        if block.get("type") == "tool_use"
    ]
    thoughts = [block["thinking"] for block in rest if isinstance(block.get("thinking"), str) and block["thinking"]]
    if calls:
        message["tool_calls"] = calls
    if thoughts:
        message["reasoning"] = "\n".join(thoughts)
    return [*results, message]


def content_of(content: Any) -> Json:
    """Content of text and other blocks; a lone text is itself, and nothing is None."""
    if not isinstance(content, list):
        return content  # type: ignore[no-any-return]  # a JSON value from a parsed document
    parts = [_without_hints(block) if isinstance(block, dict) else block for block in content]
    only = parts[0] if len(parts) == 1 else None
    if isinstance(only, dict) and set(only) == {"type", "text"} and isinstance(only["text"], str):
        return only["text"]
    return parts or None


def usage_from_anthropic(raw: Any) -> Usage | None:
    """Token counts; Anthropic's ``input_tokens`` leaves out what was read from or written to the cache."""
    usage = raw if isinstance(raw, dict) else {}
    counts = {key: value for key, value in usage.items() if is_whole(value)}
    cached = counts.get("cache_read_input_tokens")
    given = counts.get("input_tokens")
    if given is not None:
        given += (cached or 0) + counts.get("cache_creation_input_tokens", 0)
    found = Usage(given, counts.get("output_tokens"), cached)
    return None if found == Usage() else found


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict) or item.get("role") not in _ROLES:
        return False
    if item.get("tool_calls") or item.get("function_call") or "tool_call_id" in item:
        return False
    return isinstance(item.get("content"), str | list)


def _is_own_block(block: dict[str, Any]) -> bool:
    kind = str(block.get("type"))
    if kind in _SOURCES:
        return isinstance(block.get("source"), dict)
    return kind in _OWN_BLOCKS or "cache_control" in block


def _result(block: dict[str, Any]) -> dict[str, Any]:
    content = content_of(block.get("content"))
    parts = dicts(content)
    if parts and len(parts) == len(content or ()) and all(isinstance(part.get("text"), str) for part in parts):  # type: ignore[arg-type]  # a list
        content = "\n".join(part["text"] for part in parts)
    message: dict[str, Any] = {"role": "tool", "content": "" if content is None else content}
    if not isinstance(message["content"], str | list):
        message["content"] = dump_json(message["content"]).decode()
    message["tool_call_id"] = str(block.get("tool_use_id") or "")
    if isinstance(block.get("is_error"), bool):
        message["is_error"] = block["is_error"]
    return message


def _without_hints(block: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in block.items() if key != "cache_control"}
    if kept.get("type") == "text" and not kept.get("citations"):
        kept.pop("citations", None)
    return kept
