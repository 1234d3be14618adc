"""A span's attributes, taken one by one; lists that were flattened into numbered names are put together again.

``llm.tools.10.x`` comes after ``llm.tools.9.x``: indexes sort as numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.chat import dicts
from evalkit.trace.json_input import parse_json

__all__ = ["Attributes", "grouped", "json_value"]

_MAX_INDEX_DIGITS = 9


class Attributes:
    """Attributes of one span. What no field takes stays over, in `rest`, for the step's own attributes."""

    def __init__(self, attributes: Mapping[str, Json]) -> None:
        self.rest = dict(attributes)
        self.missing: list[Json] = []

    def take(self, *names: str) -> Json:
        """The first of some attributes that is there, taken out."""
        for name in names:
            if name in self.rest:
                return self.rest.pop(name)
        return None

    def text(self, *names: str) -> str:
        """As `take`; empty for what is no text."""
        value = self.take(*names)
        return value if isinstance(value, str) else ""

    def count(self, *names: str) -> int | None:
        """As `take`; None for what is no whole number."""
        value = self.take(*names)
        if isinstance(value, float) and value.is_integer():  # JavaScript exporters write all numbers as doubles
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def listed(self, name: str) -> list[dict[str, Any]] | None:
        """A list of objects, given as such or as JSON text; None (and left where it is) when it is neither."""
        value = self.rest.get(name)
        if isinstance(value, str):
            value = json_value(value)
        if not isinstance(value, list):
            return None
        del self.rest[name]
        return dicts(value)

    def indexed(self, prefix: str) -> list[dict[str, Json]]:
        """The items of a flattened list, taken out: see `grouped`."""
        items, names = _grouped(self.rest, prefix)
        for name in names:
            del self.rest[name]
        return items

    def left(self) -> dict[str, Json]:
        """What is left, with the list of what the span should have held and did not."""
        return {**self.rest, "missing": self.missing} if self.missing else self.rest


def grouped(attributes: Mapping[str, Json], prefix: str) -> list[dict[str, Json]]:
    """The items of a flattened list, in the order of their numbers.

    Returns:
        for ``prefix.0.role`` and ``prefix.1.a.b``: ``[{"role": ...}, {"a.b": ...}]``; an item that is a plain value
        (``prefix.0``) has the name ``""``.
    """
    return _grouped(attributes, prefix)[0]


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
            if number.isascii() and number.isdecimal() and len(number) <= _MAX_INDEX_DIGITS:
                items[int(number)][inner] = value
                names.append(name)
    return [items[number] for number in sorted(items)], names
