"""How the chunks of OpenAI's chat streams follow from a whole completion: `wire.script.EventForm` of that API.

An address is ``("delta", key)`` for a piece of one of the message's texts, ``("call", index)`` or
``("function_call",)`` for one of a call's arguments, ``("choice",)`` for a chunk without any text (the role, the finish
reason), and ``("bare",)`` or ``("usage",)`` for one without a choice.
"""

from __future__ import annotations

from typing import Any

from evalkit.wire.openai_message import REASONING_KEYS
from evalkit.wire.script import Address

__all__ = ["FORM", "script_for"]

_TEXTS = ("content", "refusal", *REASONING_KEYS)
_NOT_TOP = frozenset({"choices", "usage", "object"})
_ARGUMENTS = {"function": "arguments", "custom": "input"}
_USAGE: Address = ("usage",)


class _Form:
    def address(self, event: dict[str, Any]) -> Address | None:
        choices = event.get("choices")
        if choices == []:
            return _USAGE if event.get("usage") else ("bare",)
        choice = _choice(event)
        if choice is None or len(event["choices"]) != 1 or choice.get("index", 0) != 0:
            return None
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            return None
        said = [key for key, value in delta.items() if value and key != "role"] or [
            key for key in _TEXTS if isinstance(delta.get(key), str)
        ]
        if not said:
            return ("choice",)
        if len(said) > 1:
            return None
        if said[0] in _TEXTS and isinstance(delta[said[0]], str):
            return ("delta", said[0])
        if said[0] == "function_call":
            return ("function_call",) if isinstance(delta["function_call"], dict) else None
        call = _only_call(delta) if said[0] == "tool_calls" else None
        return None if call is None or type(call.get("index")) is not int else ("call", call["index"])

    def template(self, address: Address, whole: dict[str, Any]) -> dict[str, Any] | None:
        top = {key: value for key, value in whole.items() if key not in _NOT_TOP}
        top["object"] = "chat.completion.chunk"
        if address in (_USAGE, ("bare",)):
            return {**top, "choices": [], **({"usage": whole.get("usage")} if address == _USAGE else {})}
        delta: dict[str, Any] = {}
        if address != ("choice",):
            if self.text(address, whole) is None:
                return None
            delta = _delta(address, whole)
        return {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    def text(self, address: Address, whole: dict[str, Any]) -> str | None:
        message = whole["choices"][0]["message"]
        kind, place = (*address, None)[:2] if address else (None, None)
        text: Any = None
        if kind == "delta" and place in _TEXTS:
            text = message.get(place)
        elif kind == "function_call" and isinstance(message.get(kind), dict):
            text = message[kind].get("arguments")
        elif kind == "call":
            call = _call_at(message, place)
            envelope = "custom" if "custom" in call else "function"
            body = call.get(envelope)
            text = body.get(_ARGUMENTS[envelope]) if isinstance(body, dict) else None
        return text if isinstance(text, str) else None

    def piece(self, event: dict[str, Any]) -> Any:
        holder, key = _place(event)
        return None if holder is None else holder.get(key)

    def with_piece(self, event: dict[str, Any], piece: str) -> dict[str, Any]:
        choice = _choice(event)
        delta = None if choice is None else choice.get("delta")
        if choice is None or not isinstance(delta, dict):
            return event
        call = _only_call(delta)
        new: dict[str, Any] = {}
        if call is not None:
            envelope = "custom" if "custom" in call else "function"
            new = {"tool_calls": [{**call, envelope: _with(call.get(envelope), _ARGUMENTS[envelope], piece)}]}
        elif isinstance(delta.get("function_call"), dict):
            new = {"function_call": _with(delta["function_call"], "arguments", piece)}
        else:
            key = _place(event)[1]
            new = {key: piece} if key else {}
        return {**event, "choices": [{**choice, "delta": {**delta, **new}}]}

    def may_be_kept(self, event: dict[str, Any]) -> bool:
        return not event.get("choices")


FORM = _Form()


def script_for(script: Any, completion: dict[str, Any], *, include_usage: bool) -> list[Any] | None:
    """A recorded script with the chunk of the usage where that is asked for, and only there.

    None where it does not say all of `completion` (any more).
    """
    if not isinstance(script, list):
        return None
    entries = [entry for entry in script if isinstance(entry, dict)]
    told = {tuple(entry["at"]) for entry in entries if isinstance(entry.get("at"), list) and _plain(entry["at"])}
    message = completion["choices"][0]["message"]
    calls = message.get("tool_calls")
    said = [("delta", key) for key in _TEXTS] + [("call", at) for at in range(len(calls or ()))] + [("function_call",)]
    if any(FORM.text(address, completion) and address not in told for address in said):
        return None
    if not include_usage:
        return [entry for entry in entries if entry.get("at") != list(_USAGE)]
    return entries if _USAGE in told or "usage" not in completion else [*entries, {"at": list(_USAGE)}]


def _plain(address: list[Any]) -> bool:
    return all(type(part) in (str, int) for part in address)


def _delta(address: Address, whole: dict[str, Any]) -> dict[str, Any]:
    kind, place = (*address, None)[:2]
    if kind == "delta":
        return {str(place): ""}
    if kind == "function_call":
        return {"function_call": {"arguments": ""}}
    call = _call_at(whole["choices"][0]["message"], place)
    envelope = "custom" if "custom" in call else "function"
    return {"tool_calls": [{"index": place, envelope: {_ARGUMENTS[envelope]: ""}}]}


def _place(event: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The object that holds a chunk's piece, and under which key."""
    choice = _choice(event)
    delta = None if choice is None else choice.get("delta")
    if not isinstance(delta, dict):
        return None, ""
    call = _only_call(delta)
    if call is not None:
        envelope = "custom" if "custom" in call else "function"
        body = call.get(envelope)
        return body if isinstance(body, dict) else None, _ARGUMENTS[envelope]
    if isinstance(delta.get("function_call"), dict):
        return delta["function_call"], "arguments"
    texts = [key for key in _TEXTS if isinstance(delta.get(key), str)]
    texts.sort(key=lambda key: not delta[key])
    return delta, texts[0] if texts else ""


def _choice(event: dict[str, Any]) -> dict[str, Any] | None:
    choices = event.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _only_call(delta: dict[str, Any]) -> dict[str, Any] | None:
    calls = delta.get("tool_calls")
    return calls[0] if isinstance(calls, list) and len(calls) == 1 and isinstance(calls[0], dict) else None


def _call_at(message: dict[str, Any], index: Any) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or type(index) is not int or not 0 <= index < len(calls):
        return {}
    return calls[index] if isinstance(calls[index], dict) else {}


def _with(body: Any, key: str, piece: str) -> dict[str, Any]:
    return {**(body if isinstance(body, dict) else {}), key: piece}
