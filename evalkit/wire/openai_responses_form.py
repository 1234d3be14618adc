"""How the events of OpenAI's Responses API follow from a whole response: `wire.script.EventForm` of that API.

An address is the event's type without its prefix, the item's index, and the part's where there is one.
Source: https://platform.openai.com/docs/api-reference/responses-streaming and ``openai.types.responses``.
"""

from __future__ import annotations

from typing import Any

from evalkit.shapes import dict_at
from evalkit.wire.pieces import token_lengths
from evalkit.wire.script import Address

__all__ = ["ANNOTATION", "ENDS", "FORM", "ITEMS", "PARTS", "PREFIX", "TEXTS", "part_at", "plain_script"]

PREFIX = "response."
_LIFE = frozenset({"created", "queued", "in_progress", "completed", "incomplete", "failed"})
ENDS = frozenset({"completed", "incomplete", "failed"})
ITEMS = frozenset({"output_item.added", "output_item.done"})
PARTS = {
    "content_part.added": ("content", "content_index"),
    "content_part.done": ("content", "content_index"),
    "reasoning_summary_part.added": ("summary", "summary_index"),
    "reasoning_summary_part.done": ("summary", "summary_index"),
}
TEXTS: dict[str, tuple[str | None, str | None, str]] = {
    "output_text": ("content", "content_index", "text"),
    "refusal": ("content", "content_index", "refusal"),
    "reasoning_text": ("content", "content_index", "text"),
    "reasoning_summary_text": ("summary", "summary_index", "text"),
    "function_call_arguments": (None, None, "arguments"),
    "custom_tool_call_input": (None, None, "input"),
    "mcp_call_arguments": (None, None, "arguments"),
    "code_interpreter_call_code": (None, None, "code"),
}
"""Texts that stream: the item's list and the event's index into it, and the field that holds the text."""
ANNOTATION = "output_text.annotation.added"
_TEXT_OF_PART = {"output_text": "output_text", "refusal": "refusal", "reasoning_text": "reasoning_text"}


class _Form:
    def address(self, event: dict[str, Any]) -> Address | None:
        kind, at = str(event.get("type", "")).removeprefix(PREFIX), event.get("output_index")
        if kind in _LIFE:
            return (kind,)
        if type(at) is not int:
            return None
        if kind in ITEMS:
            return (kind, at)
        if kind == ANNOTATION:
            return _indexed(kind, at, event, "content_index", "annotation_index")
        if kind in PARTS:
            return _indexed(kind, at, event, PARTS[kind][1])
        name = kind.rpartition(".")[0]
        if name not in TEXTS:
            return None
        index = TEXTS[name][1]
        return _indexed(kind, at, event, index) if index else (kind, at)

    def template(self, address: Address, whole: dict[str, Any]) -> dict[str, Any] | None:
        kind, *places = address
        event: dict[str, Any] = {"type": f"{PREFIX}{kind}"}
        if kind in _LIFE:
            return {**event, "response": whole}
        item = dict_at(whole.get("output"), places[0] if places else None)
        if item is None:
            return None
        event["output_index"] = places[0]
        if kind in ITEMS:
            return {**event, "item": item}
        if "id" in item:
            event["item_id"] = item["id"]
        index = places[1] if len(places) > 1 else None
        if kind in PARTS:
            name, index_name = PARTS[str(kind)]
            part = part_at(item, name, index)
            return None if part is None else {**event, index_name: index, "part": part}
        if kind == ANNOTATION:
            part, number = part_at(item, "content", index), places[2] if len(places) > 2 else None
            annotation = None if part is None else dict_at(part.get("annotations"), number)
            if annotation is None:
                return None
            return {**event, "content_index": index, "annotation_index": number, "annotation": annotation}
        return self._text_event(str(kind), item, index, event)

    def _text_event(self, kind: str, item: dict[str, Any], index: Any, event: dict[str, Any]) -> dict[str, Any] | None:
        name, _, tail = kind.rpartition(".")
        if name not in TEXTS or tail not in ("delta", "done"):
            return None
        list_name, index_name, field_name = TEXTS[name]
        holder = item if list_name is None else part_at(item, list_name, index)
        if holder is None or not isinstance(holder.get(field_name), str):
            return None
        if index_name is not None:
            event[index_name] = index
        if name == "output_text":
            event["logprobs"] = [] if tail == "delta" else holder.get("logprobs") or []
        return {**event, "delta": ""} if tail == "delta" else {**event, field_name: holder[field_name]}

    def text(self, address: Address, whole: dict[str, Any]) -> str | None:
        name, _, tail = str(address[0]).rpartition(".") if address else ("", "", "")
        item = dict_at(whole.get("output"), address[1] if len(address) > 1 else None)
        if tail != "delta" or name not in TEXTS or item is None:
            return None
        list_name, _, field_name = TEXTS[name]
        holder = item if list_name is None else part_at(item, list_name, address[2] if len(address) > 2 else None)
        text = None if holder is None else holder.get(field_name)
        return text if isinstance(text, str) else None

    def may_be_kept(self, event: dict[str, Any]) -> bool:
        return "delta" not in event

    def piece(self, event: dict[str, Any]) -> Any:
        return event.get("delta")

    def with_piece(self, event: dict[str, Any], piece: str) -> dict[str, Any]:
        return {**event, "delta": piece}


FORM = _Form()


def plain_script(response: dict[str, Any], *, ended: bool) -> list[dict[str, Any]]:
    """The script by which the API streams `response`; one that did not end has no last event."""
    unknown = dict.fromkeys(("usage", "error", "incomplete_details"))
    begun: dict[str, Any] = {"in": {"response": {"set": {"status": "in_progress", "output": [], **unknown}}}}
    script: list[dict[str, Any]] = [{"at": [kind], "patch": begun} for kind in ("created", "in_progress")]
    for at, item in enumerate(response["output"]):
        script += _item_script(at, item, ended=ended or at + 1 < len(response["output"]))
    status = str(response.get("status"))
    return [*script, {"at": [status if status in ENDS else "completed"]}] if ended else script


def _item_script(at: int, item: dict[str, Any], *, ended: bool) -> list[dict[str, Any]]:
    empty: dict[str, Any] = {name: [] for name in ("content", "summary") if isinstance(item.get(name), list)}
    script: list[dict[str, Any]] = []
    for name in ("function_call_arguments", "custom_tool_call_input"):
        if name.startswith(str(item.get("type"))):
            empty[TEXTS[name][2]] = ""
            script += _text_script([name, at], str(item.get(TEXTS[name][2], "")))
    for list_name, kind in (("summary", "reasoning_summary_part"), ("content", "content_part")):
        parts = item.get(list_name)
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            script += _part_script(kind, at, index, part)
    started = {"set": {**empty, **({"status": "in_progress"} if "status" in item else {})}}
    script.insert(0, {"at": ["output_item.added", at], "patch": {"in": {"item": started}}})
    return [*script, {"at": ["output_item.done", at]}] if ended else script


def _part_script(kind: str, at: int, index: int, part: Any) -> list[dict[str, Any]]:
    part_kind = part.get("type") if isinstance(part, dict) else None
    name = "reasoning_summary_text" if kind.startswith("reasoning") else _TEXT_OF_PART.get(str(part_kind))
    text_name = TEXTS[name][2] if name else ""
    empty = {"in": {"part": {"set": {text_name: ""}}}} if name else {}
    script: list[dict[str, Any]] = [{"at": [f"{kind}.added", at, index], "patch": empty}]
    if name:
        script += _text_script([name, at, index], str(part.get(text_name, "")))
    return [*script, {"at": [f"{kind}.done", at, index]}]


def _text_script(place: list[Any], text: str) -> list[dict[str, Any]]:
    name, *indices = place
    return [
        {"at": [f"{name}.delta", *indices], "lengths": token_lengths(text)},
        {"at": [f"{name}.done", *indices]},
    ]


def _indexed(kind: str, at: int, event: dict[str, Any], *names: str) -> Address | None:
    indices = [event.get(name) for name in names]
    return (kind, at, *[index for index in indices if type(index) is int]) if None not in indices else None


def part_at(item: dict[str, Any] | None, name: str, index: Any) -> dict[str, Any] | None:
    """A part of an item's list; None where there is none."""
    return None if item is None else dict_at(item.get(name), index)
