"""Sequences of very many things that are held packed: each is made when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

__all__ = ["Made"]

T = TypeVar("T")


class Made(Sequence[T]):
    """Says how one thing is made; the rest of a sequence follows from that."""

    @abstractmethod
    def made(self, at: int) -> T:
        """What stands at a place, counted from 0."""

    def __iter__(self) -> Iterator[T]:
        return map(self.made, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        places = range(len(self))[at]
        return self.made(places) if isinstance(places, int) else [*map(self.made, places)]
