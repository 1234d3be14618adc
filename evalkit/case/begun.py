"""Texts that begin as an earlier one did, such as the requests of a chat."""

from __future__ import annotations

__all__ = ["Begun"]

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


def _common(left: str, right: str) -> int:
    """The length of what two texts start with alike, by halving; 0 where that is little."""
    if not left.startswith(right[:_SHORT]):
        return 0
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left.startswith(right[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
