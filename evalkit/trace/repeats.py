"""JSON text of values that share objects: each request of a chat lists all messages before it.

A message is written once, and its text is copied wherever the same object stands again. The bytes are those of
`canonical` or `exact_text`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from evalkit.canonical import Json, canonical, exact_text
from evalkit.trace.prefixes import Prefixes

__all__ = ["Repeats"]

_REPEATING = ("messages", "tools")
_LEVELS = 2
"""A line holds a step's input, which holds the messages."""
_AS_THEY_ARE = frozenset({str, bool, type(None)})


class Repeats:
    """Writes values of one trace. Nothing may change them meanwhile.

    Args:
        exact: write as `exact_text` does; else as `canonical`.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._write: Callable[[Json], bytes] = exact_text if exact else canonical
        self._option = 0 if exact else orjson.OPT_SORT_KEYS
        self._lists: Prefixes[bytes] = Prefixes()
        self._known: dict[int, tuple[Any, bytes]] = {}

    def text(self, value: Json) -> bytes:
        """The text of a line, or of a step's input.

        Raises:
            InputError: `value` is no JSON.
        """
        return self._text(value, _LEVELS)

    def _text(self, value: Any, levels: int) -> bytes:
        if type(value) is not dict or not levels:
            return self._write(value)
        try:
            parts = {key: self._part(key, item, levels - 1) for key, item in value.items()}
            return orjson.dumps(parts, option=self._option)
        except TypeError:  # a key that is no text, a lone surrogate: it finds the words
            return self._write(value)

    def _part(self, key: str, item: Any, levels: int) -> Any:
        if type(item) in _AS_THEY_ARE:
            return item
        if type(item) is list and key in _REPEATING:
            return orjson.Fragment(b"[%b]" % self._items(item))
        return orjson.Fragment(self._text(item, levels))

    def _items(self, items: list[Any]) -> bytes:
        count, before = self._lists.of(items)
        texts = [self._once(item) for item in items[count:]]
        made = b",".join([before, *texts] if before is not None else texts)
        self._lists.keep(items, made)
        return made

    def _once(self, part: Any) -> bytes:
        known = self._known.get(id(part))
        if known is None:
            # held, so that no other gets its id
            known = self._known[id(part)] = (part, self._write(part))
        return known[1]
