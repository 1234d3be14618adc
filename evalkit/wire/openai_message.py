"""Messages, tools and tool calls: OpenAI's chat form to the normal form of `trace.model`, and back.

The same function reads a message of a request and one of a response, so that an answer which the agent appends to its
conversation is recognised as the answer it was. Fields that the normal form does not know (``annotations``, ``audio``)
are kept when they hold something; SDKs send many of them empty.

Source: https://platform.openai.com/docs/api-reference/chat; ``reasoning_content`` and ``reasoning`` are the forms in
which DeepSeek, vLLM and OpenRouter send a model's reasoning.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from evalkit.shapes import dicts, text_of
from evalkit.wire.json_text import object_of, spell, spelling_of

__all__ = [
    "LEGACY_CALL_ID",
    "REASONING_KEYS",
    "message_from_openai",
    "message_to_openai",
    "spellings_in",
    "tool_from_openai",
]

REASONING_KEYS = ("reasoning_content", "reasoning")
LEGACY_CALL_ID = "function_call"
"""Id of the call of a message in the older form with one ``function_call``, which has none."""

_ROLES = {"developer": "system", "function": "tool"}
_HANDLED = frozenset({"role", "content", "tool_calls", "function_call", "refusal", *REASONING_KEYS})
_REBUILT = frozenset({"reasoning", "tool_calls", "function_call"})
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def message_from_openai(raw: Any) -> dict[str, Any]:
    """A message in normal form. What is no message at all becomes the content of one with role ``other``."""
    if not isinstance(raw, dict):
        return {"role": "other", "content": raw}
    role = text_of(raw.get("role")) or "assistant"
    message: dict[str, Any] = {"role": _ROLES.get(role, role), "content": raw.get("content")}
    calls = _calls_from_openai(raw)
    if calls:
        message["tool_calls"] = calls
    reasoning = next((raw[key] for key in REASONING_KEYS if raw.get(key)), None)
    if reasoning is not None:
        message["reasoning"] = reasoning
    if raw.get("refusal"):
        message["refusal"] = raw["refusal"]
    others = {key: value for key, value in raw.items() if key not in _HANDLED and value not in _EMPTY}
    return {**others, **message}


def message_to_openai(
    message: Any, reasoning_key: str = REASONING_KEYS[0], spellings: Sequence[Any] = ()
) -> dict[str, Any]:
    """A recorded assistant Message as a response holds it; a bare string is its content.

    Args:
        spellings: how the arguments of each call are written (see `wire.json_text`); compact where it says nothing.
    """
    if not isinstance(message, dict):
        return {"role": "assistant", "content": message if isinstance(message, str) else None, "refusal": None}
    raw = {key: value for key, value in message.items() if key not in _REBUILT}
    raw |= {"role": "assistant", "content": _text_of(message.get("content")), "refusal": message.get("refusal")}
    if message.get("reasoning"):
        raw[reasoning_key] = message["reasoning"]
    calls = dicts(message.get("tool_calls"))
    if len(calls) == 1 and calls[0].get("id") == LEGACY_CALL_ID:
        raw["function_call"] = _function_to_openai(calls[0], next(iter(spellings), None))
    elif calls:
        pairs = zip_longest(calls, spellings[: len(calls)])
        raw["tool_calls"] = [_call_to_openai(call, at, spelling) for at, (call, spelling) in enumerate(pairs)]
    return raw


def spellings_in(raw: Any) -> list[Any]:
    """How the arguments of a message's calls are written; nothing where all are compact."""
    calls = dicts(raw.get("tool_calls")) if isinstance(raw, dict) else []
    functions = [call.get("function") for call in calls]
    if isinstance(raw, dict) and not calls:
        functions = [raw.get("function_call")]
    found = [spelling_of(each.get("arguments")) if isinstance(each, dict) else None for each in functions]
    return found if any(spelling is not None for spelling in found) else []


def tool_from_openai(raw: Any) -> Any:
    """A tool's definition: a function without its envelope, any other tool as it is."""
    if isinstance(raw, dict) and raw.get("type") == "function" and isinstance(raw.get("function"), dict):
        return {key: value for key, value in raw["function"].items() if value is not None}
    return raw


def _calls_from_openai(raw: dict[str, Any]) -> list[dict[str, Any]]:
    calls = [_call_from_openai(call) for call in dicts(raw.get("tool_calls"))]
    legacy = raw.get("function_call")
    if not calls and isinstance(legacy, dict):
        return [_call_from_openai({"id": LEGACY_CALL_ID, "function": legacy})]
    return calls


def _call_from_openai(call: dict[str, Any]) -> dict[str, Any]:
    call_id = text_of(call.get("id"))
    function, custom = call.get("function"), call.get("custom")
    if isinstance(function, dict):
        return {"id": call_id, "name": text_of(function.get("name")), "arguments": object_of(function.get("arguments"))}
    if isinstance(custom, dict):
        name, given = text_of(custom.get("name")), text_of(custom.get("input"))
        return {"id": call_id, "type": "custom", "name": name, "arguments": given}
    return {"id": call_id, "name": text_of(call.get("type")), "arguments": call}


def _call_to_openai(call: dict[str, Any], at: int, spelling: Any) -> dict[str, Any]:
    call_id = text_of(call.get("id")) or f"call_{at}"
    if call.get("type") == "custom":
        function = _function_to_openai(call, None)
        return {"id": call_id, "type": "custom", "custom": {"name": function["name"], "input": function["arguments"]}}
    return {"id": call_id, "type": "function", "function": _function_to_openai(call, spelling)}


def _function_to_openai(call: dict[str, Any], spelling: Any) -> dict[str, str]:
    return {"name": text_of(call.get("name")), "arguments": spell(call.get("arguments"), spelling)}


def _text_of(content: Any) -> Any:
    """Content as a response has it: one string; parts (from other sources) are joined where all are text."""
    parts = dicts(content)
    if isinstance(content, list) and len(parts) == len(content):
        texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
        if len(texts) == len(parts) and all(isinstance(text, str) for text in texts):
            return "".join(str(text) for text in texts)
    return content
