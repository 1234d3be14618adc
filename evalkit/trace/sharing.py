"""Long values that repeat are written once: what keeps a long chat's file linear in size.

A chat sends its whole history with every model call, so a trace that wrote each request in full would grow with the
square of its length. A packed line leaves out what an earlier line of the same trace already holds and says where
that stands:

- ``"refs": [[pointer, line, source_pointer], ...]``: the value at `pointer` is the one at `source_pointer` of line
  `line`; a string of 4 KiB or more, or an equal ``tools`` list.
- ``"prefix": [[pointer, line, source_pointer, count], ...]``: the list at `pointer` starts with the first `count`
  items of an earlier list; only the rest is written.

Pointers are lists of keys. A `pointer` counts in what is written: in a continued list, from the first item that is. A
`source_pointer` counts in the whole earlier line. Both stand outside the value, so that no content of a trace can be
taken for one. Only a string is ever referred to, and a list is continued once: a reader would else be made to build
values that grow with a power of the file's length.
"""

from __future__ import annotations

from operator import is_
from typing import Any, TypeAlias

from evalkit.canonical import canonical
from evalkit.errors import IntegrityError

__all__ = ["MAX_REFERENCES", "Packer", "unpack"]

MAX_REFERENCES = 25_000_000
"""Each model step of a chat lists all messages before it: so many places in all lists of a trace take 200 MB, and a
chat of 10,000 messages. Without an end, a file of a few megabytes would fill the memory."""

Pointer: TypeAlias = "list[str | int]"
_LONG = 4096
_REMEMBERED_LISTS = 8  # as many interleaved conversations (sub-agents) share their prefixes


class Packer:
    """Packs the lines of one trace, in order.

    Args:
        settled: nothing changes the values between the lines, so that an item which comes again is known again.
    """

    def __init__(self, *, settled: bool = False) -> None:
        self._known: dict[int, tuple[Any, bytes]] | None = {} if settled else None
        self._strings: dict[str, tuple[int, Pointer]] = {}
        self._lists: dict[str, list[tuple[int, Pointer, list[Any], list[bytes]]]] = {"messages": [], "tools": []}

    def pack(self, line: int, body: dict[str, Any]) -> dict[str, Any]:
        """`body` without what earlier lines hold; `body` itself is not changed."""
        packed: dict[str, Any] = dict(body)
        refs: list[list[Any]] = []
        prefixes: list[list[Any]] = []
        given = body.get("input")
        if isinstance(given, dict):
            for key in self._lists:
                if isinstance(given.get(key), list) and given[key]:
                    packed["input"] = self._share_list(line, packed["input"], key, prefixes)
        for key in ("input", "output"):
            if key in packed:
                packed[key] = self._share_strings(line, packed[key], [key], refs, prefixes)
        if refs:
            packed["refs"] = refs
        if prefixes:
            packed["prefix"] = prefixes
        return packed

    def _share_list(self, line: int, given: dict[str, Any], key: str, prefixes: list[list[Any]]) -> dict[str, Any]:
        items = self._canonical_items(given[key], key)
        source_line, source, count = 0, [], 0
        for earlier_line, pointer, _, earlier in self._lists[key]:
            common = _common_prefix(items, earlier)
            if common > count:
                source_line, source, count = earlier_line, pointer, common
        self._lists[key].append((line, ["input", key], given[key], items))
        del self._lists[key][:-_REMEMBERED_LISTS]
        if not count:
            return given
        prefixes.append([["input", key], source_line, source, count])
        return {**given, key: given[key][count:]}

    def _canonical_items(self, given: list[Any], key: str) -> list[bytes]:
        """The canonical texts of a list. Where nothing changes, the objects of an earlier list need no second look."""
        known: list[bytes] = []
        if self._known is not None:
            for _, _, before, items in reversed(self._lists[key]):
                if len(known) < len(before) <= len(given) and all(map(is_, before, given)):
                    known = items
        return [*known, *(self._canonical(item) for item in given[len(known) :])]

    def _canonical(self, item: Any) -> bytes:
        if self._known is None:
            return canonical(item)
        known = self._known.get(id(item))
        if known is None:
            known = self._known[id(item)] = (item, canonical(item))  # held, so that no other gets its id
        return known[1]

    def _share_strings(
        self, line: int, value: Any, pointer: Pointer, refs: list[list[Any]], prefixes: list[list[Any]]
    ) -> Any:
        if isinstance(value, str):
            if len(value) < _LONG:
                return value
            known = self._strings.get(value)
            if known is None:
                self._strings[value] = line, _in_whole(pointer, prefixes)
                return value
            if known[0] == line:
                return value
            refs.append([pointer, *known])
            return None
        if isinstance(value, dict):
            return {
                key: self._share_strings(line, item, [*pointer, key], refs, prefixes) for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._share_strings(line, item, [*pointer, at], refs, prefixes) for at, item in enumerate(value)]
        return value


def _in_whole(pointer: Pointer, prefixes: list[list[Any]]) -> Pointer:
    """Where what is written at `pointer` stands in the line as it was before its lists were shortened."""
    for shortened, _, _, count in prefixes:
        depth = len(shortened)
        if pointer[:depth] == shortened and len(pointer) > depth:
            return [*shortened, int(pointer[depth]) + count, *pointer[depth + 1 :]]
    return pointer


def unpack(body: dict[str, Any], earlier: dict[int, dict[str, Any]], where: str) -> dict[str, Any]:
    """The line as it was before packing.

    Args:
        body: a packed line; its containers are changed in place.
        earlier: the unpacked lines before it, by line number.
        where: for messages.

    Raises:
        IntegrityError: a pointer leads nowhere, or to what is never shared.
    """
    try:
        for pointer, line, source in body.pop("refs", ()):
            shared = _at(earlier[line], source)
            if not isinstance(shared, str):
                raise TypeError("only a text is referred to")
            _put(body, pointer, shared)
        continued: list[Pointer] = []
        for pointer, line, source, count in body.pop("prefix", ()):
            before, tail = _at(earlier[line], source), _at(body, pointer)
            if pointer in continued or not isinstance(before, list) or not isinstance(tail, list):
                raise TypeError("what is continued once is a list")
            continued.append(pointer)
            _put(body, pointer, before[:count] + tail)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise IntegrityError(
            f"a shared value points to nothing ({type(error).__name__}: {error})", where, "record or export it again"
        ) from None
    return body


def _common_prefix(left: list[bytes], right: list[bytes]) -> int:
    count = 0
    if len(right) <= len(left) and left[: len(right)] == right:
        return len(right)
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def _at(value: Any, pointer: Pointer) -> Any:
    for key in pointer:
        value = value[key]
    return value


def _put(value: Any, pointer: Pointer, new: Any) -> None:
    _at(value, pointer[:-1])[pointer[-1]] = new
