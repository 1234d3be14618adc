"""Lists that go on where an earlier one ended: each request of a chat lists all messages before it.

What was made of the earlier list is taken again, so that work grows with the messages and not with their repetition.
"""

from __future__ import annotations

from operator import is_
from typing import Any, Generic, TypeVar

__all__ = ["Prefixes"]

T = TypeVar("T")


class Prefixes(Generic[T]):
    """What was made of lists. Nothing may change them meanwhile: they are known by the identity of their items."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, object], tuple[list[Any], T]] = {}

    def of(self, items: list[Any], mark: object = None) -> tuple[int, T | None]:
        """How many of the first items were in an earlier list, the whole of it, and what was made of that.

        Args:
            mark: what else it depends on; lists under another one are other lists.
        """
        known = self._made.get((id(items[0]), mark)) if items else None
        if known is None or len(known[0]) > len(items) or not all(map(is_, known[0], items)):
            return 0, None
        return len(known[0]), known[1]

    def keep(self, items: list[Any], made: T, mark: object = None) -> None:
        """Note what was made of a list."""
        if items:
            self._made[id(items[0]), mark] = (items, made)  # the items are held, so that no others get their ids
