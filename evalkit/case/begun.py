"""Texts that begin as an earlier one did, such as the requests of a chat."""

from __future__ import annotations

import hashlib
from typing import Any

__all__ = ["Begun", "BegunHashes"]

_SHORT = 512
_REMEMBERED = 8  # as many conversations may take turns
_BLOCK = 4096


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


class BegunHashes:
    """SHA-256 of texts: what a long one starts with as an earlier one did, is read once."""

    def __init__(self) -> None:
        self._earlier: list[tuple[str, list[Any]]] = []

    def sha256(self, text: str) -> str:
        """The hex SHA-256 of `text` in UTF-8."""
        if len(text) < _BLOCK:
            return hashlib.sha256(text.encode()).hexdigest()
        counts = [_common(text, earlier) // _BLOCK for earlier, _ in self._earlier]
        blocks = max(counts, default=0)
        known = self._earlier.pop(counts.index(blocks))[1] if blocks else []
        states = known[:blocks]
        hasher = states[-1].copy() if states else hashlib.sha256()
        for at in range(blocks * _BLOCK, len(text), _BLOCK):
            hasher.update(text[at : at + _BLOCK].encode())
            if at + _BLOCK <= len(text):
                states.append(hasher.copy())
        self._earlier.append((text, states))
        del self._earlier[:-_REMEMBERED]
        return str(hasher.hexdigest())


def _common(left: str, right: str) -> int:
    """The length of what two texts start with alike, by halving; 0 where that is little."""
    if not left.startswith(right[:_SHORT]):
        return 0
    low, high = 0, min(len(left), len(right))
    if left.startswith(right[: high - _SHORT]):  # what ends a request is short
        low = max(0, high - _SHORT)
    while low < high:
        middle = (low + high + 1) // 2
        if left.startswith(right[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
