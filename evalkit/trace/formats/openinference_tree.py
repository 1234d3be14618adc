"""Span attributes with dotted names as a tree, whether they came flat, nested, or mixed.

``{"a.0.b": 1, "a.1.b": 2}`` and ``{"a": [{"b": 1}, {"b": 2}]}`` are the same tree. A list is held as an object with
numbers for keys until it is asked for by `items_of`, which sorts them as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evalkit.canonical import Json
from evalkit.trace.json_input import json_or_text

__all__ = ["Tree", "items_of", "number_of", "object_of", "text_at"]

_MAX_LEVELS = 30
_MAX_INDEX_DIGITS = 9


class Tree:
    """Attributes of one span; what nobody takes out stays over."""

    def __init__(self, attributes: Mapping[str, Json]) -> None:
        self._rest: dict[str, Json] = {}
        _spread(attributes, "", self._rest, _MAX_LEVELS)
        self._kept: dict[str, Json] = {}
        self._missing: list[Json] = []

    def take(self, name: str) -> Json:
        """What stands at `name` or below it, taken out: a value, or an object of what is below. None when nothing."""
        if name in self._rest:
            return self._rest.pop(name)
        prefix = f"{name}."
        below = [key for key in self._rest if key.startswith(prefix)]
        return _gathered({key[len(prefix) :]: self._rest.pop(key) for key in below}) if below else None

    def peek(self, name: str) -> Json:
        """The value at `name`, left in place."""
        return self._rest.get(name)

    def text(self, name: str) -> str:
        """The text at `name`, taken out; empty, and left in place, when it is no text."""
        return str(self.take(name)) if isinstance(self._rest.get(name), str) else ""

    def keep(self, name: str, value: Json) -> None:
        """Put a value among what is left over."""
        self._kept[name] = value

    def missing(self, what: str) -> None:
        """Note that the span lacks its input or output."""
        self._missing.append(what)

    def left(self) -> dict[str, Json]:
        """All that nobody took, by flat name; ``missing`` names what the span lacks."""
        missing: dict[str, Json] = {"missing": self._missing} if self._missing else {}
        return {**self._rest, **self._kept, **missing}


def items_of(value: Any) -> list[Any]:
    """The items of a list: given as such, as an object of numbered items, or as JSON text."""
    found = json_or_text(value) if isinstance(value, str) else value
    if isinstance(found, list):
        return found
    if not isinstance(found, dict) or not all(_is_index(key) for key in found):
        return []
    return [found[key] for key in sorted(found, key=int)]


def object_of(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_at(value: Any, path: str) -> str:
    """The text at a dotted path inside `value`, else empty."""
    for name in path.split("."):
        value = object_of(value).get(name)
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


def _is_index(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.isdigit() and len(key) <= _MAX_INDEX_DIGITS


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
