"""Streams of OpenAI's Responses API: events merged into one response, and how the events follow from a response.

Source: https://platform.openai.com/docs/api-reference/responses-streaming and ``openai.types.responses``. The padding
``obfuscation`` is not kept: it is random, and hides from an onlooker how long a piece is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from evalkit.wire.body import parse_json
from evalkit.wire.pieces import token_lengths
from evalkit.wire.script import Address
from evalkit.wire.sse import parse_events

__all__ = ["FORM", "MergedResponse", "merge_response", "plain_script"]

_PREFIX = "response."
_NOT_KEPT = ("sequence_number", "obfuscation")
_LIFE = frozenset({"created", "queued", "in_progress", "completed", "incomplete", "failed"})
_ENDS = frozenset({"completed", "incomplete", "failed"})
_ITEMS = frozenset({"output_item.added", "output_item.done"})
_PARTS = {
    "content_part.added": ("content", "content_index"),
    "content_part.done": ("content", "content_index"),
    "reasoning_summary_part.added": ("summary", "summary_index"),
    "reasoning_summary_part.done": ("summary", "summary_index"),
}
_TEXTS: dict[str, tuple[str | None, str | None, str]] = {
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
_ANNOTATION = "output_text.annotation.added"
_TEXT_OF_PART = {"output_text": "output_text", "refusal": "refusal", "reasoning_text": "reasoning_text"}


@dataclass(slots=True)
class MergedResponse:
    """What a stream came to.

    Attributes:
        response: a Response as far as it came.
        events: the events, without their numbers and padding.
        done: whether the response's last event came.
        error: the event with which the server broke off.
        first_number: the sequence number of the first event; None where the server does not number them.
    """

    response: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    done: bool = False
    error: dict[str, Any] | None = None
    first_number: int | None = None


def merge_response(chunks: Iterable[bytes]) -> MergedResponse:
    """Merges the events of a stream; what is no JSON object is passed over."""
    merged, merge = MergedResponse(), _Merge()
    for event in parse_events(chunks):
        try:
            raw = parse_json(event.data)
        except ValueError:
            continue
        if not isinstance(raw, dict):
            continue
        if not merged.events and isinstance(raw.get("sequence_number"), int):
            merged.first_number = raw["sequence_number"]
        merged.events.append({key: value for key, value in raw.items() if key not in _NOT_KEPT})
        if raw.get("type") == "error" or (raw.get("error") and "response" not in raw):
            merged.error = merged.events[-1]
            continue
        merge.take(raw)
    merged.response, merged.done = merge.result(), merge.done
    return merged


class _Merge:
    def __init__(self) -> None:
        self.done = False
        self._top: dict[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[str, int, Any], list[str]] = {}
        self._annotations: dict[tuple[int, Any], list[Any]] = {}

    def take(self, event: dict[str, Any]) -> None:
        kind = str(event.get("type", "")).removeprefix(_PREFIX)
        at = event.get("output_index")
        if isinstance(event.get("response"), dict):
            top = {key: value for key, value in event["response"].items() if key != "output"}
            self._top = top if kind in _ENDS else {**self._top, **top}
            output = event["response"].get("output")
            if kind in _ENDS:
                self.done = True
                if isinstance(output, list) and output:
                    self._items = {at: item for at, item in enumerate(output) if isinstance(item, dict)}
                    self._pieces.clear()
                    self._annotations.clear()
        elif type(at) is int and kind in _ITEMS and isinstance(event.get("item"), dict):
            self._items[at] = dict(event["item"])
            if kind == "output_item.done":
                self._pieces = {key: each for key, each in self._pieces.items() if key[1] != at}
                self._annotations = {key: each for key, each in self._annotations.items() if key[0] != at}
        elif type(at) is int and kind in _PARTS and isinstance(event.get("part"), dict):
            name, index = _PARTS[kind]
            _place(self._items.get(at), name, event.get(index), event["part"])
        elif type(at) is int and kind == _ANNOTATION and type(event.get("content_index")) is int:
            self._annotations.setdefault((at, event["content_index"]), []).append(event.get("annotation"))
        elif type(at) is int and isinstance(event.get("delta"), str):
            name, _, tail = kind.rpartition(".")
            if tail == "delta" and name in _TEXTS:
                index_name = _TEXTS[name][1]
                key = (name, at, event.get(index_name) if index_name else None)
                if key[2] is None or type(key[2]) is int:
                    self._pieces.setdefault(key, []).append(event["delta"])

    def result(self) -> dict[str, Any]:
        for (name, at, index), pieces in self._pieces.items():
            _fill(self._items.get(at), _TEXTS[name], index, "".join(pieces))
        for (at, index), found in self._annotations.items():
            part = _part(self._items.get(at), "content", index)
            if part is not None:
                part["annotations"] = found
        return {**self._top, "output": [self._items[at] for at in sorted(self._items)]}


class _Form:
    """`wire.script.EventForm` of this API: an address is the event's type, the item's index, and the part's."""

    def address(self, event: dict[str, Any]) -> Address | None:
        kind, at = str(event.get("type", "")).removeprefix(_PREFIX), event.get("output_index")
        if kind in _LIFE:
            return (kind,)
        if type(at) is not int:
            return None
        if kind in _ITEMS:
            return (kind, at)
        if kind == _ANNOTATION:
            return _indexed(kind, at, event, "content_index", "annotation_index")
        if kind in _PARTS:
            return _indexed(kind, at, event, _PARTS[kind][1])
        name = kind.rpartition(".")[0]
        if name not in _TEXTS:
            return None
        index = _TEXTS[name][1]
        return _indexed(kind, at, event, index) if index else (kind, at)

    def template(self, address: Address, whole: dict[str, Any]) -> dict[str, Any] | None:
        kind, *places = address
        event: dict[str, Any] = {"type": f"{_PREFIX}{kind}"}
        if kind in _LIFE:
            return {**event, "response": whole}
        item = _at(whole.get("output"), places[0] if places else None)
        if item is None:
            return None
        event["output_index"] = places[0]
        if kind in _ITEMS:
            return {**event, "item": item}
        if "id" in item:
            event["item_id"] = item["id"]
        index = places[1] if len(places) > 1 else None
        if kind in _PARTS:
            name, index_name = _PARTS[str(kind)]
            part = _part(item, name, index)
            return None if part is None else {**event, index_name: index, "part": part}
        if kind == _ANNOTATION:
            part, number = _part(item, "content", index), places[2] if len(places) > 2 else None
            annotation = None if part is None else _at(part.get("annotations"), number)
            if annotation is None:
                return None
            return {**event, "content_index": index, "annotation_index": number, "annotation": annotation}
        return self._text_event(str(kind), item, index, event)

    def _text_event(self, kind: str, item: dict[str, Any], index: Any, event: dict[str, Any]) -> dict[str, Any] | None:
        name, _, tail = kind.rpartition(".")
        if name not in _TEXTS or tail not in ("delta", "done"):
            return None
        list_name, index_name, field_name = _TEXTS[name]
        holder = item if list_name is None else _part(item, list_name, index)
        if holder is None or not isinstance(holder.get(field_name), str):
            return None
        if index_name is not None:
            event[index_name] = index
        if name == "output_text":
            event["logprobs"] = [] if tail == "delta" else holder.get("logprobs") or []
        return {**event, "delta": ""} if tail == "delta" else {**event, field_name: holder[field_name]}

    def text(self, address: Address, whole: dict[str, Any]) -> str | None:
        name, _, tail = str(address[0]).rpartition(".") if address else ("", "", "")
        item = _at(whole.get("output"), address[1] if len(address) > 1 else None)
        if tail != "delta" or name not in _TEXTS or item is None:
            return None
        list_name, _, field_name = _TEXTS[name]
        holder = item if list_name is None else _part(item, list_name, address[2] if len(address) > 2 else None)
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
    return [*script, {"at": [status if status in _ENDS else "completed"]}] if ended else script


def _item_script(at: int, item: dict[str, Any], *, ended: bool) -> list[dict[str, Any]]:
    empty: dict[str, Any] = {name: [] for name in ("content", "summary") if isinstance(item.get(name), list)}
    script: list[dict[str, Any]] = []
    for name in ("function_call_arguments", "custom_tool_call_input"):
        if name.startswith(str(item.get("type"))):
            empty[_TEXTS[name][2]] = ""
            script += _text_script([name, at], str(item.get(_TEXTS[name][2], "")))
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
    text_name = _TEXTS[name][2] if name else ""
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


def _place(item: dict[str, Any] | None, name: str, index: Any, part: dict[str, Any]) -> None:
    if item is None or type(index) is not int or index < 0:
        return
    held = item.get(name)
    parts = list(held) if isinstance(held, list) else []
    if index < len(parts):
        parts[index] = dict(part)
    elif index == len(parts):
        parts.append(dict(part))
    item[name] = parts


def _fill(item: dict[str, Any] | None, place: tuple[str | None, str | None, str], index: Any, text: str) -> None:
    list_name, _, field_name = place
    holder = item if item is None or list_name is None else _part(item, list_name, index)
    if holder is not None:
        holder[field_name] = text


def _part(item: dict[str, Any] | None, name: str, index: Any) -> dict[str, Any] | None:
    return None if item is None else _at(item.get(name), index)


def _at(values: Any, index: Any) -> dict[str, Any] | None:
    if not isinstance(values, list) or type(index) is not int or not 0 <= index < len(values):
        return None
    value = values[index]
    return value if isinstance(value, dict) else None
