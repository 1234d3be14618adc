"""The items of OpenAI's Responses API: to the normal form of `trace.model`, and back.

What the API cuts into items (a reasoning, a message, each tool call) is one assistant Message here, in a response as in
the request that it is sent back with, so that an agent's history is recognised as the answers it was. Ids, statuses and
encrypted contents are the provider's marks and no part of what was said: a response's are kept in its layout.

Source: https://platform.openai.com/docs/api-reference/responses/object and ``openai.types.responses``. An item with a
``call_id`` is a call that the agent carries out (``function_call``, ``custom_tool_call``, ``computer_call`` ...), or,
with ``_output``, its result; any other item (``web_search_call``, ``mcp_call`` ...) is what the provider did itself,
and a part of the content.
"""

from __future__ import annotations

from typing import Any

from evalkit.shapes import dicts, text_of
from evalkit.wire.answer import mark_of
from evalkit.wire.json_text import object_of, spell, spelling_of
from evalkit.wire.layout import LayoutMismatch, Supply, given_content, is_text, joined, paragraphs

__all__ = ["items_of", "layout_of", "message_of", "messages_of"]

_TEXT_PARTS = frozenset({"output_text", "input_text", "text"})
_REASONING_LISTS = ("summary", "content")
_PROVIDERS_MARKS = frozenset({"id", "status"})
_CALL_FIELDS = _PROVIDERS_MARKS | {"type", "call_id"}
_OWN_PLACES = frozenset({"message", "reasoning"})
_NOT_SAID = frozenset({"item_reference", "mcp_approval_response"})
_TEXT_OF_CALL = {"function_call": "arguments", "custom_tool_call": "input"}


def messages_of(items: list[Any]) -> list[dict[str, Any]]:
    """The Messages of a request's input."""
    messages: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []

    def flush() -> None:
        if said:
            messages.append(message_of(said))
            said.clear()

    for item in items:
        if isinstance(item, dict) and _is_said(item):
            said.append(item)
            continue
        flush()
        messages.append(_given(item))
    flush()
    return messages


def message_of(items: list[Any]) -> dict[str, Any]:
    """The one assistant Message that output items come to."""
    parts: list[dict[str, Any]] = []
    annotations: list[Any] = []
    calls: list[dict[str, Any]] = []
    texts: dict[str, list[str]] = {"reasoning": [], "refusal": []}
    for item in dicts(items):
        kind = _kind(item)
        if kind == "message":
            for part in _content(item):
                if part.get("type") == "refusal":
                    texts["refusal"].append(text_of(part.get("refusal")))
                else:
                    parts.append(_part(part))
                    annotations += _list(part.get("annotations"))
        elif kind == "reasoning":
            thoughts = [part for key in _REASONING_LISTS for part in dicts(item.get(key))]
            texts["reasoning"] += [text_of(part.get("text")) for part in thoughts]
        elif "call_id" in item:
            calls.append(_call(kind, item))
        else:
            parts.append({key: value for key, value in item.items() if key != "id"})
    message: dict[str, Any] = {"role": "assistant", "content": parts or None}
    if len(parts) == 1 and is_text(parts[0]):
        message["content"] = parts[0]["text"]
    if calls:
        message["tool_calls"] = calls
    message |= {name: text for name, each in texts.items() if (text := joined(each))}
    return message | ({"annotations": annotations} if annotations else {})


def layout_of(items: list[Any]) -> list[dict[str, Any]]:
    """What is left of output items without what their Message says."""
    return [_layout(item) for item in dicts(items)]


def items_of(message: Any, layout: Any) -> tuple[list[dict[str, Any]], bool]:
    """The output items that say `message`, and whether `layout` was used; without a layout that fits, plain ones."""
    if isinstance(layout, list):
        try:
            return _filled(Supply(message), dicts(layout)), True
        except LayoutMismatch:
            pass
    return _filled(Supply(message), _plain_layout(message)), False


def _filled(supply: Supply, layout: list[dict[str, Any]]) -> list[dict[str, Any]]:
    items = [_item(item, supply) for item in layout]
    supply.check_spent()
    return items


def _item(layout: dict[str, Any], supply: Supply) -> dict[str, Any]:
    kind = _kind(layout)
    if kind == "message":
        return {**layout, "content": [_refilled_part(part, supply) for part in dicts(layout.get("content"))]}
    if kind == "reasoning":
        filled = {
            key: [{**part, "text": supply.joined("reasoning", part.get("text"))} for part in dicts(layout[key])]
            for key in _REASONING_LISTS
            if isinstance(layout.get(key), list)
        }
        return {**layout, **filled}
    if "call_id" not in layout:
        return {**supply.part(), **layout}
    call = supply.call()
    if _call_kind(call) != kind:
        raise LayoutMismatch
    item = {**layout, "call_id": text_of(call.get("id")) or text_of(layout["call_id"])}
    key, arguments = _TEXT_OF_CALL.get(kind), call.get("arguments")
    if key is None:
        return {**(arguments if isinstance(arguments, dict) else {}), **item}
    return {**item, "name": text_of(call.get("name")), key: spell(arguments, layout.get(key))}


def _refilled_part(part: dict[str, Any], supply: Supply) -> dict[str, Any]:
    kind = text_of(part.get("type"))
    if kind == "refusal":
        return {**part, "refusal": supply.joined("refusal", part.get("refusal"))}
    if kind not in _TEXT_PARTS:
        return supply.part()
    count = part.get("annotations")
    annotations = {"annotations": supply.annotations(count)} if type(count) is int and count >= 0 else {}
    return {**part, "text": supply.text(), **annotations}


def _layout(item: dict[str, Any]) -> dict[str, Any]:
    kind = _kind(item)
    if kind == "message":
        return {**item, "content": [_part_layout(part) for part in _content(item)]}
    if kind == "reasoning":
        counted = {
            key: [{**part, "text": paragraphs(text_of(part.get("text")))} for part in dicts(item[key])]
            for key in _REASONING_LISTS
            if isinstance(item.get(key), list)
        }
        return {**item, **counted}
    if "call_id" not in item:
        return {"type": kind, **({"id": item["id"]} if "id" in item else {})}
    key = _TEXT_OF_CALL.get(kind)
    if key is None:
        return {name: value for name, value in item.items() if name in _CALL_FIELDS} | {"call_id": ""}
    left = {name: value for name, value in item.items() if name not in ("name", key)}
    return {**left, "call_id": "", key: spelling_of(item.get(key)) if key == "arguments" else None}


def _part_layout(part: dict[str, Any]) -> dict[str, Any]:
    kind = text_of(part.get("type"))
    if kind == "refusal":
        return {**part, "refusal": paragraphs(text_of(part.get("refusal")))}
    if kind not in _TEXT_PARTS:
        return {"type": part.get("type")}
    left = {key: value for key, value in part.items() if key != "text"}
    annotations = part.get("annotations")
    return {**left, "annotations": len(annotations)} if isinstance(annotations, list) else left


def _plain_layout(message: Any) -> list[dict[str, Any]]:
    """The layout of an answer that never was this API's."""
    supply, mark = Supply(message), mark_of(message)
    said = message if isinstance(message, dict) else {}
    layout: list[dict[str, Any]] = []
    if said.get("reasoning"):
        count = paragraphs(str(said["reasoning"]))
        layout.append({"id": f"rs_{mark}", "type": "reasoning", "summary": [{"type": "summary_text", "text": count}]})
    annotations = len(_list(said.get("annotations")))
    for part in supply.parts:
        if not is_text(part):
            kind = _kind(part)
            layout.append({"type": "part" if kind in _OWN_PLACES else kind, "id": f"item_{mark}_{len(layout)}"})
            continue
        _open_message(layout, mark).append({"type": "output_text", "annotations": annotations, "logprobs": []})
        annotations = 0
    if said.get("refusal"):
        _open_message(layout, mark).append({"type": "refusal", "refusal": paragraphs(str(said["refusal"]))})
    for at, call in enumerate(supply.calls):
        marks = {"id": f"fc_{mark}_{at}", "call_id": f"call_{at}", "status": "completed"}
        layout.append({"type": _call_kind(call), **marks})
    return layout


def _open_message(layout: list[dict[str, Any]], mark: str) -> list[dict[str, Any]]:
    """The parts of the message at the layout's end, which is begun where there is none."""
    if not layout or layout[-1]["type"] != "message":
        name = f"msg_{mark}" if all(item["type"] != "message" for item in layout) else f"msg_{mark}_{len(layout)}"
        layout.append({"id": name, "type": "message", "status": "completed", "role": "assistant", "content": []})
    parts: list[dict[str, Any]] = layout[-1]["content"]
    return parts


def _given(item: Any) -> dict[str, Any]:
    """A Message that the agent gave: the user's, the developer's, a tool's result."""
    if not isinstance(item, dict) or _kind(item) in _NOT_SAID:
        return {"role": "other", "content": item}
    if "call_id" in item:
        output = item.get("output")
        return {"role": "tool", "content": given_content(output, _part), "tool_call_id": text_of(item.get("call_id"))}
    role = text_of(item.get("role")) or "user"
    return {"role": "system" if role == "developer" else role, "content": given_content(item.get("content"), _part)}


def _is_said(item: dict[str, Any]) -> bool:
    """Whether an item is of the assistant's side."""
    kind = _kind(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return not (kind in _NOT_SAID or (kind.endswith("_output") and "call_id" in item))


def _call(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    call_id, name = text_of(item.get("call_id")), text_of(item.get("name"))
    if kind == "function_call":
        return {"id": call_id, "name": name, "arguments": object_of(item.get("arguments"))}
    if kind == "custom_tool_call":
        return {"id": call_id, "type": "custom", "name": name, "arguments": text_of(item.get("input"))}
    arguments = {key: value for key, value in item.items() if key not in _CALL_FIELDS}
    return {"id": call_id, "type": kind, "name": kind, "arguments": arguments}


def _call_kind(call: dict[str, Any]) -> str:
    """The type of the item that a Message's tool call stands as."""
    kind = text_of(call.get("type")) or "function_call"
    if kind == "custom":
        return "custom_tool_call"
    return "function_call" if kind in _OWN_PLACES or kind == "function" else kind


def _part(part: Any) -> Any:
    if isinstance(part, dict) and text_of(part.get("type")) in _TEXT_PARTS:
        return {"type": "text", "text": text_of(part.get("text"))}
    return part


def _content(item: dict[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return [{"type": "output_text", "text": content}] if isinstance(content, str) else dicts(content)


def _kind(item: dict[str, Any]) -> str:
    return text_of(item.get("type")) or "message"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
