"""OpenAI's chat completions and Responses bodies, as many servers speak them.

Sources: https://platform.openai.com/docs/api-reference/chat and .../responses.
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.formats.attributes import number_of
from evalkit.trace.formats.chat import call_of, message_of, tool_definition, usage_of
from evalkit.trace.formats.provider import Answered, Asked
from evalkit.trace.formats.seen import SeenItems
from evalkit.wire.body import dump_json

__all__ = ["CHAT", "RESPONSES", "ROLES", "is_chat_message", "plain_message"]

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_MESSAGE_KEYS = frozenset(
    "role content name tool_calls tool_call_id function_call refusal reasoning reasoning_content audio annotations "
    "reasoning_details thinking_blocks is_error".split()
)
_NOT_PARAMS = frozenset(
    "model messages input instructions tools functions stream stream_options store user metadata service_tier "
    "previous_response_id prompt_cache_key prompt_cache_retention safety_identifier background include extra_headers "
    "extra_body api_key api_base base_url timeout max_retries".split()
)
_USUAL_ENDS = (None, "stop", "tool_calls", "function_call")
_SPOKEN = ("message", "function_call", "reasoning")


class _Chat:
    """Chat completions."""

    name = "openai-chat"

    def asks(self, body: dict[str, Any]) -> bool:
        messages = body.get("messages")
        return isinstance(messages, list) and bool(messages) and all(is_chat_message(each) for each in messages)

    def answers(self, body: dict[str, Any]) -> bool:
        choices = dicts(body.get("choices"))
        return bool(choices) and isinstance(choices[0].get("message"), dict)

    def asked(self, body: dict[str, Any], seen: SeenItems) -> Asked:
        messages = [seen.made(plain_message, raw) for raw in dicts(body.get("messages"))]
        return Asked(messages, _tools(body), _params(body), _text(body.get("model")))

    def answered(self, body: dict[str, Any]) -> Answered:
        choices = dicts(body.get("choices"))
        ended = choices[0].get("finish_reason")
        attributes: dict[str, Any] = {} if ended in _USUAL_ENDS else {"finish_reason": ended}
        if len(choices) > 1:
            attributes["other_choices"] = [choice.get("message") for choice in choices[1:]]
        message = plain_message({**choices[0]["message"], "role": "assistant"})
        usage = usage_of(body.get("usage"))
        created = number_of(body.get("created"))
        return Answered(message, _text(body.get("model")), usage, _text(body.get("id")), created, attributes)


class _Responses:
    """The Responses API, whose conversation may be kept by the server."""

    name = "openai-chat"

    def asks(self, body: dict[str, Any]) -> bool:
        given = body.get("input")
        if isinstance(given, str):
            return isinstance(body.get("model"), str) and "output" not in body and "messages" not in body
        return isinstance(given, list) and bool(given) and all(_is_item(each) for each in given)

    def answers(self, body: dict[str, Any]) -> bool:
        output = body.get("output")
        if not isinstance(output, list):
            return False
        return body.get("object") == "response" or (bool(output) and all(_is_typed_item(each) for each in output))

    def asked(self, body: dict[str, Any], seen: SeenItems) -> Asked:
        instructions, given = body.get("instructions"), body.get("input")
        messages = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
        items = [{"role": "user", "content": given}] if isinstance(given, str) else dicts(given)
        follows = _text(body.get("previous_response_id"))
        return Asked([*messages, *_joined(items)], _tools(body), _params(body), _text(body.get("model")), follows)

    def answered(self, body: dict[str, Any]) -> Answered:
        spoken = [message for message in _joined(dicts(body["output"])) if message["role"] == "assistant"]
        message = spoken[0] if spoken else {"role": "assistant", "content": None}
        attributes: dict[str, Any] = {}
        if body.get("status") not in (None, "completed"):
            attributes = {key: body[key] for key in ("status", "incomplete_details") if body.get(key)}
        usage, created = usage_of(body.get("usage")), number_of(body.get("created_at"))
        return Answered(message, _text(body.get("model")), usage, _text(body.get("id")), created, attributes)


CHAT = _Chat()
RESPONSES = _Responses()


def is_chat_message(item: Any) -> bool:
    """Whether `item` is a message of the chat API."""
    if not isinstance(item, dict) or str(item.get("role")) not in ROLES:
        return False
    return "content" in item or bool(item.get("tool_calls") or item.get("function_call"))


def plain_message(raw: dict[str, Any]) -> dict[str, Any]:
    """A Message from one of the chat API, without what clients and training sets add to it; one text part is a text."""
    message = message_of({key: value for key, value in raw.items() if key in _MESSAGE_KEYS})
    message["content"] = _content(message.get("content"))
    return message


def _is_item(item: Any) -> bool:
    return _is_typed_item(item) or is_chat_message(item)


def _is_typed_item(item: Any) -> bool:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "message":
        return "role" in item and "content" in item
    return isinstance(kind, str) and (kind in _SPOKEN or kind.endswith(("_call", "_output")))


def _joined(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items as Messages: what the model said in one go (reasoning, text, calls) is one Message."""
    found: list[dict[str, Any]] = []
    for item in items:
        kind = str(item.get("type") or "message")
        if kind.endswith("_output"):
            output = item.get("output")
            text = output if isinstance(output, str) else _content(output)
            content = text if isinstance(text, str) else dump_json(text).decode()
            found.append({"role": "tool", "content": content, "tool_call_id": str(item.get("call_id") or "")})
        elif kind == "message" and item.get("role") != "assistant":
            found.append(plain_message({"role": item.get("role", "user"), "content": item.get("content")}))
        else:
            if not found or found[-1]["role"] != "assistant":
                found.append({"role": "assistant", "content": None})
            _say(found[-1], kind, item)
    return found


def _say(message: dict[str, Any], kind: str, item: dict[str, Any]) -> None:
    """Add an item of the model's to the Message that it belongs to."""
    if kind == "message":
        _extend(message, _content(item.get("content")))
        refusals = [part["refusal"] for part in dicts(item.get("content")) if isinstance(part.get("refusal"), str)]
        if refusals:
            message["refusal"] = "\n".join(refusals)
    elif kind == "reasoning":
        parts = [*dicts(item.get("summary")), *dicts(item.get("content"))]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        if texts:
            message["reasoning"] = "\n".join([*([message["reasoning"]] if "reasoning" in message else []), *texts])
    elif kind.endswith("_call") and item.get("call_id"):
        name = item.get("name") or kind.removesuffix("_call")
        given = next((item[key] for key in ("arguments", "input", "action", "operation") if key in item), None)
        call = call_of({"id": item["call_id"], "name": name, "arguments": given})
        message["tool_calls"] = [*message.get("tool_calls", []), call]
    else:  # a tool that the provider runs itself
        _extend(message, [item])


def _extend(message: dict[str, Any], content: Json) -> None:
    before = message["content"]
    if before is None:
        message["content"] = content
    elif content is not None:
        message["content"] = [*_parts(before), *_parts(content)]


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content} if isinstance(content, str) else content]


def _content(content: Any) -> Json:
    """Content with parts in one spelling; a lone text part is its text, and nothing is None."""
    if not isinstance(content, list):
        return content  # type: ignore[no-any-return]  # a JSON value from a parsed document
    parts: list[Json] = [
        _part(part) for part in content if not (isinstance(part, dict) and part.get("type") == "refusal")
    ]
    only = parts[0] if len(parts) == 1 else None
    if isinstance(only, dict) and only.get("type") == "text" and isinstance(only.get("text"), str):
        return only["text"]
    return parts or None


def _part(part: Any) -> Any:
    known = isinstance(part, dict) and part.get("type") in ("text", "input_text", "output_text")
    return {"type": "text", "text": part.get("text")} if known else part


def _tools(body: dict[str, Any]) -> list[Json]:
    raw = dicts(body.get("tools")) or dicts(body.get("functions"))
    return [tool_definition(tool) for tool in raw]


def _params(body: dict[str, Any]) -> dict[str, Json]:
    return {key: value for key, value in body.items() if key not in _NOT_PARAMS and value is not None}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
