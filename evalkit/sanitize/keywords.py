"""Which of gitleaks' rules are worth trying on a text: one Aho-Corasick pass over the keywords of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

__all__ = ["Keywords", "keywords_of"]


class Keywords:
    """The keywords of all rules, ready to be looked for.

    Args:
        rules: lower-case keywords by rule.
        shortest: by rule, the bytes of the shortest text that it can match.
    """

    def __init__(self, rules: Sequence[tuple[bytes, ...]], shortest: Sequence[int]) -> None:
        import ahocorasick_rs  # lazy: a compiled library that only sanitizing needs

        owners: dict[bytes, list[int]] = {}
        for number, words in enumerate(rules):
            for word in words:
                owners.setdefault(word, []).append(number)
        self._owners = list(owners.values())
        self._shortest = [min(shortest[number] for number in numbers) for numbers in self._owners]
        self._matcher: Any = ahocorasick_rs.BytesAhoCorasick(list(owners)) if owners else None

    def met(self, low: bytes) -> dict[int, tuple[int, int]]:
        """The rules whose keywords stand in `low`, lower-case UTF-8: the start of the first, the end of the last."""
        met: dict[int, tuple[int, int]] = {}
        if self._matcher is None:
            return met
        found = self._matcher.find_matches_as_indexes(low, overlapping=True)
        if not found:
            return met
        places: dict[int, tuple[int, int]] = {}
        for index, start, end in found:
            known = places.get(index)
            places[index] = (start, end) if known is None else (known[0], end)
        for index, (first, last) in places.items():
            for number in self._owners[index]:
                other = met.get(number)
                met[number] = (first, last) if other is None else (min(first, other[0]), max(last, other[1]))
        return met

    def places(self, low: bytes) -> list[tuple[int, int]]:
        """Where keywords start in `low`, lower-case UTF-8, and how long a text must be for one of their rules."""
        if self._matcher is None:
            return []
        found = self._matcher.find_matches_as_indexes(low, overlapping=True)
        return [(start, self._shortest[index]) for index, start, _ in found]


@lru_cache(maxsize=4)
def keywords_of(rules: tuple[tuple[bytes, ...], ...], shortest: tuple[int, ...]) -> Keywords:
    """The keywords of some rules; kept."""
    return Keywords(rules, shortest)
