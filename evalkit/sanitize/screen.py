"""Which of many texts may hold a value at all: asked of many at once, as most texts of a trace are short and hold none.

Texts are put together one a line, and the patterns and keywords are tried on such a lot as a whole. Where none matches,
none of its texts holds a value; else the patterns that match are looked for line by line, and say which of the texts
are to be looked at, and with which of them. Texts of one length stand together: they are often of one make (ids,
digests, times), so that what holds values doesn't stand in every lot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from evalkit.sanitize.keywords import Keywords
from evalkit.sanitize.ruleset import RuleSet

__all__ = ["Candidate", "worth_looking"]

_LONG = 400
"""Longer texts are looked at one by one."""
_LOT_BYTES = 1_500
_LOT_TEXTS = 24
_FEW = 4


class Candidate(NamedTuple):
    """A text that may hold a value.

    Attributes:
        among: the rules that may match in it, those of the gate ``around`` aside; None where all may.
    """

    text: str
    among: Sequence[int] | None = None


def worth_looking(texts: Iterable[str], rules: RuleSet, keywords: Keywords) -> Iterator[Candidate]:
    """Those of some texts that may hold a value. The others hold none by `rules`, and no keyword."""
    short: list[str] = []
    for text in texts:
        if len(text) > _LONG:
            yield Candidate(text)
        else:
            short.append(text)
    if len(short) < _FEW or not rules.by_line:
        yield from map(Candidate, short)
        return
    short.sort(key=len)
    for lot in _lots(short):
        yield from _in_lot(lot, rules, keywords)


def _lots(texts: Sequence[str]) -> Iterator[list[str]]:
    lot: list[str] = []
    size = 0
    for text in texts:
        if lot and (size > _LOT_BYTES or len(lot) == _LOT_TEXTS):
            yield lot
            lot, size = [], 0
        lot.append(text)
        size += len(text)
    if lot:
        yield lot


def _in_lot(lot: list[str], rules: RuleSet, keywords: Keywords) -> Iterator[Candidate]:
    lines = [text.encode() for text in lot]
    data = b"\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    met: dict[int, list[int]] = {}
    for rule in rules.in_lines(data):
        for line in rules.lines_with(rule, data, starts):
            met.setdefault(line, []).append(rule)
    for place in rules.signs(data):
        met.setdefault(bisect_right(starts, place) - 1, [])
    for place, shortest in keywords.places(data.lower()):
        line = bisect_right(starts, place) - 1
        if len(lines[line]) >= shortest:
            met.setdefault(line, [])
    for line in sorted(met):
        yield Candidate(lot[line], met[line])
