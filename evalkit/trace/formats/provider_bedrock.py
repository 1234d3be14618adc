"""Amazon Bedrock's Converse bodies.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.chat import arguments_of, tool_definition
from evalkit.trace.formats.provider import Answered, Asked
from evalkit.trace.formats.seen import SeenItems
from evalkit.trace.model import Usage
from evalkit.wire.body import dump_json

__all__ = ["CONVERSE"]

_NAMES = {"maxTokens": "max_tokens", "topP": "top_p", "stopSequences": "stop"}
_BLOCKS = frozenset(
    {"text", "toolUse", "toolResult", "image", "document", "video", "reasoningContent", "cachePoint", "guardContent"}
)
_USUAL_ENDS = (None, "end_turn", "tool_use", "stop_sequence")


class _Converse:
    """Requests whose blocks are named by their key, responses with ``output.message``."""

    name = "bedrock"

    def asks(self, body: dict[str, Any]) -> bool:
        messages = body.get("messages")
        return isinstance(messages, list) and bool(messages) and all(_is_message(each) for each in messages)

    def answers(self, body: dict[str, Any]) -> bool:
        return _is_message(dict_of(body.get("output")).get("message")) and "stopReason" in body

    def asked(self, body: dict[str, Any], seen: SeenItems) -> Asked:
        system = [block["text"] for block in dicts(body.get("system")) if isinstance(block.get("text"), str)]
        messages: list[dict[str, Any]] = [{"role": "system", "content": "\n".join(system)}] if system else []
        for raw in dicts(body.get("messages")):
            messages += seen.made(_messages, raw)
        settings = {**dict_of(body.get("inferenceConfig")), **dict_of(body.get("additionalModelRequestFields"))}
        params: dict[str, Json] = {_NAMES.get(key, key): value for key, value in settings.items() if value is not None}
        config = dict_of(body.get("toolConfig"))
        if config.get("toolChoice"):
            params["tool_choice"] = config["toolChoice"]
        model = body.get("modelId")
        tools = [_tool(tool) for tool in dicts(config.get("tools")) if "cachePoint" not in tool]
        return Asked(messages, tools, params, model if isinstance(model, str) else None)

    def answered(self, body: dict[str, Any]) -> Answered:
        message = _messages(dict_of(body["output"])["message"])[-1]
        ended = body.get("stopReason")
        return Answered(
            {**message, "role": "assistant"},
            usage=_usage(body.get("usage")),
            attributes={} if ended in _USUAL_ENDS else {"stop_reason": ended},
        )


CONVERSE = _Converse()


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict) or item.get("role") not in ("user", "assistant"):
        return False
    blocks = item.get("content")
    if not isinstance(blocks, list) or not blocks:
        return False
    return all(isinstance(block, dict) and "type" not in block and bool(block.keys() & _BLOCKS) for block in blocks)


def _messages(raw: dict[str, Any]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    message: dict[str, Any] = {"role": raw["role"], "content": None}
    parts: list[Json] = []
    for block in dicts(raw.get("content")):
        if isinstance(block.get("toolResult"), dict):
            results.append(_result(block["toolResult"]))
        elif isinstance(block.get("toolUse"), dict):
            used = block["toolUse"]
            call = {"id": str(used.get("toolUseId") or ""), "name": str(used.get("name") or "")}
            message.setdefault("tool_calls", []).append({**call, "arguments": arguments_of(used.get("input"))})
        elif isinstance(block.get("reasoningContent"), dict):
            text = dict_of(block["reasoningContent"].get("reasoningText")).get("text")
            if isinstance(text, str):
                message["reasoning"] = text
        elif isinstance(block.get("text"), str):
            parts.append({"type": "text", "text": block["text"]})
        elif "cachePoint" not in block:
            (kind,) = [key for key in block if key in _BLOCKS][:1] or ["other"]
            parts.append({"type": kind, **block})
    message["content"] = _lone_text(parts)
    if results and message["content"] is None and "tool_calls" not in message:
        return results
    return [*results, message]


def _lone_text(parts: list[Json]) -> Json:
    only = parts[0] if len(parts) == 1 else None
    return only["text"] if isinstance(only, dict) and only.get("type") == "text" else parts or None


def _result(raw: dict[str, Any]) -> dict[str, Any]:
    blocks = dicts(raw.get("content"))
    values = [block.get("json", block.get("text", block)) for block in blocks]
    value = values[0] if len(values) == 1 else values
    return {
        "role": "tool",
        "content": value if isinstance(value, str) else dump_json(value).decode(),
        "tool_call_id": str(raw.get("toolUseId") or ""),
        "is_error": raw.get("status") == "error",
    }


def _tool(tool: dict[str, Any]) -> Json:
    spec = dict_of(tool.get("toolSpec"))
    if not spec:
        return tool
    schema = dict_of(spec.get("inputSchema")).get("json")
    plain = {key: spec[key] for key in ("name", "description") if key in spec}
    found: Json = tool_definition({**plain, "parameters": schema})
    return found


def _usage(raw: Any) -> Usage | None:
    counts = {key: value for key, value in dict_of(raw).items() if isinstance(value, int)}
    given, cached = counts.get("inputTokens"), counts.get("cacheReadInputTokens")
    if given is not None:
        given += (cached or 0) + counts.get("cacheWriteInputTokens", 0)
    found = Usage(given, counts.get("outputTokens"), cached)
    return None if found == Usage() else found
