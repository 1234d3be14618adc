"""JSON text of values that share objects: each request of a chat lists all messages before it.

A message is written once, and its text is copied wherever the same object stands again. The bytes are those of
`canonical` or `exact_text`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.canonical import Json, canonical, exact_text
from evalkit.trace.prefixes import Prefixes

__all__ = ["Repeats"]

_REPEATING = ("messages", "tools")


class Repeats:
    """Writes values of one trace. Nothing may change them meanwhile.

    Args:
        exact: write as `exact_text` does; else as `canonical`.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._write: Callable[[Json], bytes] = exact_text if exact else canonical
        self._exact = exact
        self._lists: Prefixes[bytes] = Prefixes()
        self._known: dict[int, tuple[Any, bytes]] = {}
        self._keys: dict[str, bytes] = {}

    def text(self, value: Json) -> bytes:
        """The text of a step's input, or of a line that holds one.

        Raises:
            InputError: `value` is no JSON.
        """
        return b"".join(self.pieces(value))

    def pieces(self, value: Json) -> list[bytes]:
        """As `text`, in pieces: to hash a long chat's requests they need not be put together."""
        if type(value) is not dict or not (_repeats(value) or _repeats(value.get("input"))):
            return [self._write(value)]
        if not all(type(key) is str for key in value):  # it finds the words
            return [self._write(value)]
        found = [b"{"]
        for key in value if self._exact else sorted(value):
            found += (b"," if found[1:] else b"", self._key(key))
            item = value[key]
            if type(item) is list and key in _REPEATING:
                found += (b"[", self._items(item), b"]")
            else:
                found += self.pieces(item) if key == "input" else [self._write(item)]
        found.append(b"}")
        return found

    def _items(self, items: list[Any]) -> bytes:
        count, before = self._lists.of(items)
        texts = [self._once(item) for item in items[count:]]
        made = b",".join(texts if before is None else [before, *texts])
        self._lists.keep(items, made)
        return made

    def _key(self, key: str) -> bytes:
        if key not in self._keys:
            self._keys[key] = self._write(key) + b":"
        return self._keys[key]

    def _once(self, part: Any) -> bytes:
        known = self._known.get(id(part))
        if known is None:
            # held, so that no other gets its id
            known = self._known[id(part)] = (part, self._write(part))
        return known[1]


def _repeats(value: object) -> bool:
    return type(value) is dict and any(type(value.get(key)) is list for key in _REPEATING)
