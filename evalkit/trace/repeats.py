"""JSON text of values that share objects: each request of a chat lists all messages before it.

A message is written once, and its text is copied wherever the same object stands again. The bytes are those of
`canonical` or `exact_text`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from evalkit.canonical import Json, canonical, exact_text
from evalkit.trace.prefixes import Prefixes

__all__ = ["Repeats"]

_REPEATING = ("messages", "tools")
_Part: TypeAlias = "bytes | list[Any]"
"""A text, or a list whose items' texts stand here."""


class Repeats:
    """Writes values of one trace. Nothing may change them meanwhile.

    Args:
        exact: write as `exact_text` does; else as `canonical`.
        beside: another one that writes in the same way, of values that share most messages with these: a message that
            either wrote is known to both.
    """

    def __init__(self, *, exact: bool = False, beside: Repeats | None = None) -> None:
        self._write: Callable[[Json], bytes] = exact_text if exact else canonical
        self._exact = exact
        self._lists: Prefixes[bytes] = Prefixes()
        self._hashed: Prefixes[Any] = Prefixes()
        self._known: dict[int, tuple[Any, bytes]] = {} if beside is None else beside._known
        self._keys: dict[str, bytes] = {}

    def text(self, value: Json) -> bytes:
        """The text of a step's input, or of a line that holds one.

        Raises:
            InputError: `value` is no JSON.
        """
        return b"".join(self._written(part) for part in self._parts(value))

    def sha256(self, before: bytes, value: Json, after: bytes) -> str:
        """Hex SHA-256 of the text of `value` between two others.

        Where its first list goes on from an earlier one, so does the hash: what stands before is not read again.

        Raises:
            InputError: `value` is no JSON.
        """
        if not _repeats(value):
            return hashlib.sha256(before + self._write(value) + after).hexdigest()
        rest = iter((before, *self._parts(value), after))
        head = b""
        for part in rest:
            if type(part) is list:
                hasher = self._hashed_with(head, part)
                break
            head += self._written(part)
        else:
            return hashlib.sha256(head).hexdigest()
        hasher.update(b"".join(map(self._written, rest)))
        return str(hasher.hexdigest())

    def sha256_once(self, value: Json) -> str:
        """Hex SHA-256 of the text of a value that may stand again: a model's answer, in the next request.

        Raises:
            InputError: `value` is no JSON.
        """
        return hashlib.sha256(self._once(value)).hexdigest()

    def _hashed_with(self, head: bytes, items: list[Any]) -> Any:
        """A hash that has read a text and a list's items."""
        count, known = self._hashed.of(items, head)
        hasher = hashlib.sha256(head) if known is None else known.copy()
        for at, item in enumerate(items[count:], count):
            hasher.update(b"," + self._once(item) if at else self._once(item))
        self._hashed.keep(items, hasher.copy(), head)
        return hasher

    def _parts(self, value: Json) -> Iterator[_Part]:
        """The text of a value, its repeating lists left to be written."""
        if type(value) is not dict or not (_repeats(value) or _repeats(value.get("input"))):
            yield self._write(value)
        elif not all(type(key) is str for key in value):
            yield self._write(value)  # it finds the words
        else:
            yield from self._in_object(value)

    def _in_object(self, value: dict[str, Any]) -> Iterator[_Part]:
        opening, plain = b"{", dict[str, Any]()
        for key in value if self._exact else sorted(value):
            item = value[key]
            listed = type(item) is list and key in _REPEATING
            if not (listed or (key == "input" and _repeats(item))):
                plain[key] = item
                continue
            if plain:
                yield opening + self._write(plain)[1:-1]
                opening, plain = b",", {}
            yield opening + self._key(key)
            opening = b","
            if listed:
                yield from (b"[", item, b"]")
            else:
                yield from self._parts(item)
        yield opening + self._write(plain)[1:] if plain else b"}"

    def _written(self, part: _Part) -> bytes:
        return part if type(part) is bytes else self._items(part)  # type: ignore[arg-type]  # a list then

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
    return type(value) is dict and (type(value.get("messages")) is list or type(value.get("tools")) is list)
