"""Very many texts, or pieces of data, one after the other in one piece of memory; each is made when it is asked for.

An id of ten letters takes 70 bytes as an object in a list, and 50 more in each dictionary that something is found by it
in. Here it takes 18, once; what is known of the cases stands beside their ids (`ByText`), in eight bytes where it is
the same of many.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import pairwise
from typing import TypeVar

from evalkit.suite.made import Made

__all__ = ["ByText", "Pieces", "Texts", "beside", "joined", "shared"]

S = TypeVar("S")
T = TypeVar("T")


class Pieces:
    """Pieces of data, in their order."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ends = array("Q", [0])  # the first is where all begin

    def append(self, piece: bytes) -> None:
        """Adds one."""
        self._data += piece
        self._ends.append(len(self._data))

    def same(self, other: Pieces) -> bool:
        """Whether another has the same ones."""
        return self._ends == other._ends and self._data == other._data

    def __getitem__(self, at: int) -> bytes:
        return bytes(self._data[self._ends[at] : self._ends[at + 1]])

    def __iter__(self) -> Iterator[bytes]:
        return (bytes(self._data[start:end]) for start, end in pairwise(self._ends))

    def __len__(self) -> int:
        return len(self._ends) - 1


class Texts(Made[str]):
    """Texts of which no two are equal, in their order.

    Where one stands is found by halves among the sorted ones; at once where they are asked for in their order, or one
    several times.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._pieces = Pieces()
        self._last = b""
        self._sorted = True
        self._order: array[int] | range = range(0)  # the places of the sorted texts
        self._found, self._found_at = "", -1
        for text in texts:
            self.append(text)

    def append(self, text: str) -> None:
        """Adds one."""
        piece = _encoded(text)
        self._sorted = self._sorted and self._last <= piece  # as the texts are: UTF-8 sorts like its characters
        self._last = piece
        self._pieces.append(piece)

    def find(self, text: str) -> int:
        """Where a text stands; -1 where it is none of them."""
        at = self._found_at
        if text == self._found and at >= 0:
            return at
        wanted, pieces, at = _encoded(text), self._pieces, at + 1
        if at >= len(pieces) or pieces[at] != wanted:
            order = self._by_text()
            place = bisect_left(order, wanted, key=pieces.__getitem__)
            if place == len(order) or pieces[order[place]] != wanted:
                return -1
            at = order[place]
        self._found, self._found_at = text, at
        return at

    def index(self, text: str, start: int = 0, stop: int | None = None) -> int:
        """Where a text stands.

        Raises:
            ValueError: it is none of them.
        """
        at = self.find(text)
        if at < start or (stop is not None and at >= stop):
            raise ValueError(f"{text!r} is not there")
        return at

    @property
    def sorted(self) -> bool:
        """Whether they stand by their characters."""
        return self._sorted

    def _by_text(self) -> Sequence[int]:
        count = len(self._pieces)
        if len(self._order) != count:
            places = range(count)
            self._order = places if self._sorted else array("I", sorted(places, key=self._pieces.__getitem__))
        return self._order

    def same(self, other: Texts) -> bool:
        """Whether another has the same ones in the same order."""
        return self._pieces.same(other._pieces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # compared by its texts

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) >= 0

    def __iter__(self) -> Iterator[str]:
        return map(_decoded, self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def made(self, at: int) -> str:
        """The text that stands there."""
        return _decoded(self._pieces[at])


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a report may be of hostile ids


def _decoded(piece: bytes) -> str:
    return piece.decode("utf-8", "surrogatepass")


class ByText(Mapping[str, T]):
    """What is known of some texts, in their order.

    Args:
        values: one a text; None where nothing is known.
    """

    def __init__(self, texts: Texts, values: Iterable[T | None]) -> None:
        self.texts = texts
        self._values = [*values]
        self._count = len(self._values) - self._values.count(None)

    def __getitem__(self, text: str) -> T:
        at = self.texts.find(text)
        found = None if at < 0 else self._values[at]
        if found is None:
            raise KeyError(text)
        return found

    def __iter__(self) -> Iterator[str]:
        return (text for text, value in zip(self.texts, self._values, strict=True) if value is not None)

    def __len__(self) -> int:
        return self._count

    def values(self) -> ValuesView[T]:
        """What is known, in the texts' order; no text is looked for."""
        return _Values(self)

    def at(self, place: int) -> T | None:
        """What is known of the text that stands at a place."""
        return self._values[place]

    def same_keys(self, other: ByText[S]) -> bool:
        """Whether another knows of the same texts in the same order; false where either knows nothing of some."""
        whole = len(self) == len(self.texts) and len(other) == len(other.texts)
        return whole and (self.texts is other.texts or self.texts.same(other.texts))


class _Values(ValuesView[T]):
    _mapping: ByText[T]

    def __iter__(self) -> Iterator[T]:
        return (value for value in self._mapping._values if value is not None)


def shared(values: Iterable[T]) -> Iterator[T]:
    """The values, of which equal ones are one object."""
    known: dict[T, T] = {}
    return (known.setdefault(value, value) for value in values)


def beside(known: Mapping[str, S], values: Iterable[T | None]) -> Mapping[str, T]:
    """Something else about the texts that something is known of, in their order; None for nothing."""
    if isinstance(known, ByText):
        given = iter(values)
        return ByText(known.texts, (None if value is None else next(given) for value in known._values))
    return {text: value for text, value in zip(known, values, strict=True) if value is not None}


def joined(earlier: Mapping[str, T], later: Mapping[str, T]) -> Mapping[str, T]:
    """What both know of texts; of what either knows, the later."""
    if not earlier:
        return later
    if not (isinstance(earlier, ByText) and isinstance(later, ByText) and earlier.texts is later.texts):
        return {**earlier, **later}
    both = zip(earlier._values, later._values, strict=True)
    return ByText(later.texts, (before if now is None else now for before, now in both))
