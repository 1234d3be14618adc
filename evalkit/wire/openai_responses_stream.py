"""Streams of OpenAI's Responses API merged into one response.

Source: https://platform.openai.com/docs/api-reference/responses-streaming and ``openai.types.responses``. The padding
``obfuscation`` is not kept: it is random, and hides from an onlooker how long a piece is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from evalkit.wire.openai_responses_form import ANNOTATION, ENDS, ITEMS, PARTS, PREFIX, TEXTS, part_at
from evalkit.wire.sse import parse_objects

__all__ = ["MergedResponse", "merge_response"]

_NOT_KEPT = ("sequence_number", "obfuscation")


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
    for raw in parse_objects(chunks):
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
        kind = str(event.get("type", "")).removeprefix(PREFIX)
        at = event.get("output_index")
        if isinstance(event.get("response"), dict):
            top = {key: value for key, value in event["response"].items() if key != "output"}
            self._top = top if kind in ENDS else {**self._top, **top}
            output = event["response"].get("output")
            if kind in ENDS:
                self.done = True
                if isinstance(output, list) and output:
                    self._items = {at: item for at, item in enumerate(output) if isinstance(item, dict)}
                    self._pieces.clear()
                    self._annotations.clear()
        elif type(at) is int and kind in ITEMS and isinstance(event.get("item"), dict):
            self._items[at] = dict(event["item"])
            if kind == "output_item.done":
                self._pieces = {key: each for key, each in self._pieces.items() if key[1] != at}
                self._annotations = {key: each for key, each in self._annotations.items() if key[0] != at}
        elif type(at) is int and kind in PARTS and isinstance(event.get("part"), dict):
            name, index = PARTS[kind]
            _place(self._items.get(at), name, event.get(index), event["part"])
        elif type(at) is int and kind == ANNOTATION and type(event.get("content_index")) is int:
            self._annotations.setdefault((at, event["content_index"]), []).append(event.get("annotation"))
        elif type(at) is int and isinstance(event.get("delta"), str):
            name, _, tail = kind.rpartition(".")
            if tail == "delta" and name in TEXTS:
                index_name = TEXTS[name][1]
                key = (name, at, event.get(index_name) if index_name else None)
                if key[2] is None or type(key[2]) is int:
                    self._pieces.setdefault(key, []).append(event["delta"])

    def result(self) -> dict[str, Any]:
        for (name, at, index), pieces in self._pieces.items():
            _fill(self._items.get(at), TEXTS[name], index, "".join(pieces))
        for (at, index), found in self._annotations.items():
            part = part_at(self._items.get(at), "content", index)
            if part is not None:
                part["annotations"] = found
        return {**self._top, "output": [self._items[at] for at in sorted(self._items)]}


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
    holder = item if item is None or list_name is None else part_at(item, list_name, index)
    if holder is not None:
        holder[field_name] = text
