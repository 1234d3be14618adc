"""Texts that begin as an earlier one did, such as the requests of a chat."""

from __future__ import annotations

from typing import Any

__all__ = ["Begun", "equal_items"]

_SHORT = 512
_REMEMBERED = 8  # as many conversations may take turns


class Begun:
    """The last long texts, for how much of the next one they hold already."""

    def __init__(self) -> None:
        self._earlier: list[str] = []

    def known(self, text: str) -> int:
        """How many characters at the start of `text` an earlier one started with, too; and remembers `text`."""
        if len(text) < _SHORT:
            return 0
        counts = [_common(text, earlier) for earlier in self._earlier]
        most = max(counts, default=0)
        if most >= _SHORT:  # the same conversation: its longer text stands for both
            del self._earlier[counts.index(most)]
        self._earlier.append(text)
        del self._earlier[:-_REMEMBERED]
        return most


def equal_items(left: list[Any], right: list[Any]) -> int:
    """How many items two lists have in common at their starts."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _common(left: str, right: str) -> int:
    """The length of what two texts start with alike, by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left.startswith(right[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
