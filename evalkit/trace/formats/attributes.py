"""A span's attributes with dotted names, taken one by one.

They come flat (``{"a.0.b": 1}``), nested (``{"a": [{"b": 1}]}``), or mixed. What was flattened is put together again, a
list as `indexed` gives it or as `items_of` reads it from a `tree`. Indexes are numbers and sort as such:
``llm.tools.10.x`` comes after ``llm.tools.9.x``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts, is_whole
from evalkit.trace.formats.seen import SeenTexts
from evalkit.trace.json_input import json_or_text, parse_json

__all__ = ["Attributes", "items_of", "json_value", "number_of", "spread", "text_at"]

_MAX_LEVELS = 30
_MAX_INDEX_DIGITS = 9


class Attributes:
    """Attributes of one span. What no field takes stays over, in `rest`, for the step's own attributes.

    Args:
        seen: what the trace's other spans held.
    """

    def __init__(self, attributes: Mapping[str, Json], seen: SeenTexts | None = None) -> None:
        self.rest = dict(attributes)
        self.seen = seen or SeenTexts()
        self.missing: list[Json] = []

    def take(self, *names: str) -> Json:
        """The first of some attributes that is there, taken out."""
        for name in names:
            if name in self.rest:
                return self.rest.pop(name)
        return None

    def text(self, *names: str) -> str:
        """As `take`, for the first that is a text; others stay where they are. Empty when none is."""
        for name in names:
            value = self.rest.get(name)
            if isinstance(value, str):
                del self.rest[name]
                return value
        return ""

    def count(self, *names: str) -> int | None:
        """As `take`; None for what is no whole number."""
        value = self.take(*names)
        if isinstance(value, float) and value.is_integer():  # JavaScript exporters write all numbers as doubles
            return int(value)
        return value if is_whole(value) else None

    def listed(self, name: str) -> list[dict[str, Any]] | None:
        """A list of objects, given as such or as JSON text; None (and left where it is) when it is neither."""
        value = self.rest.get(name)
        if isinstance(value, str):
            value = self.seen.parsed(value)
        if not isinstance(value, list):
            return None
        del self.rest[name]
        return dicts(value)

    def indexed(self, prefix: str) -> list[dict[str, Json]]:
        """The items of a flattened list, in the order of their numbers, taken out.

        Returns:
            for ``prefix.0.role`` and ``prefix.1.a.b``: ``[{"role": ...}, {"a.b": ...}]``; an item that is a plain value
            (``prefix.0``) has the name ``""``.
        """
        items, names = _grouped(self.rest, prefix)
        for name in names:
            del self.rest[name]
        return items

    def tree(self, name: str) -> Json:
        """What stands at `name` or below it, taken out: a value, or an object of what is below. None when nothing.

        A flattened list is an object with numbers for keys: see `items_of`.
        """
        if name in self.rest:
            return self.rest.pop(name)
        prefix = f"{name}."
        below = [key for key in self.rest if key.startswith(prefix)]
        return _gathered({key[len(prefix) :]: self.rest.pop(key) for key in below}) if below else None

    def left(self) -> dict[str, Json]:
        """What is left, with the list of what the span should have held and did not."""
        return {**self.rest, "missing": self.missing} if self.missing else self.rest


def spread(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """Attributes that came nested, by their dotted names."""
    flat: dict[str, Json] = {}
    _spread(attributes, "", flat, _MAX_LEVELS)
    return flat


def items_of(value: Any) -> list[Any]:
    """The items of a list: given as such, as an object of numbered items, or as JSON text."""
    found = json_or_text(value) if isinstance(value, str) else value
    if isinstance(found, list):
        return found
    if not isinstance(found, dict) or not all(isinstance(key, str) and _is_index(key) for key in found):
        return []
    return [found[key] for key in sorted(found, key=int)]


def text_at(value: Any, path: str) -> str:
    """The text at a dotted path inside `value`, else empty."""
    for name in path.split("."):
        value = dict_of(value).get(name)
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> float | None:
    """A finite number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def json_value(text: str) -> Json:
    """The value of JSON text; None when it is not JSON (an exporter's length limit cuts it in the middle)."""
    try:
        return parse_json(text.encode(), "")
    except (UnreadableTrace, UnicodeEncodeError):
        return None


def _grouped(attributes: Mapping[str, Json], prefix: str) -> tuple[list[dict[str, Json]], list[str]]:
    items: dict[int, dict[str, Json]] = defaultdict(dict)
    names: list[str] = []
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            number, _, inner = name[len(start) :].partition(".")
            if _is_index(number):
                items[int(number)][inner] = value
                names.append(name)
    return [items[number] for number in sorted(items)], names


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) <= _MAX_INDEX_DIGITS


def _spread(value: Mapping[str, Json], prefix: str, flat: dict[str, Json], levels: int) -> None:
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, dict) and item and levels:
            _spread(item, f"{name}.", flat, levels - 1)
        else:
            flat[name] = item


def _gathered(flat: dict[str, Json]) -> dict[str, Json]:
    """Flat names as an object of objects; a value that stands where others have parts keeps the name ``value``."""
    root: dict[str, Any] = {}
    for name in sorted(flat):
        *way, last = name.split(".", _MAX_LEVELS)
        holder = root
        for part in way:
            below = holder.get(part)
            if not isinstance(below, dict):
                below = {} if below is None else {"value": below}
                holder[part] = below
            holder = below
        holder[last] = flat[name]
    return root
