"""Which of many texts may hold a value at all: asked of many at once, as most texts of a trace are short and hold none.

Texts are put together one a line, and the patterns and keywords are tried on such a lot as a whole. Where none matches,
none of its texts holds a value; else it is tried in parts, and the texts of a small part are left to be looked at one
by one. Texts of one length stand together: they are often of one make (ids, digests, times), so that what holds values
doesn't stand in every lot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from evalkit.sanitize.keywords import Keywords
from evalkit.sanitize.ruleset import RuleSet

__all__ = ["worth_looking"]

_LONG = 400
"""Longer texts are looked at one by one."""
_LOT_BYTES = 1_500
_LOT_TEXTS = 24
_FEW = 4


def worth_looking(texts: Iterable[str], rules: RuleSet, keywords: Keywords) -> Iterator[str]:
    """Those of some texts that may hold a value. The others hold none by `rules`, and no keyword."""
    short: list[str] = []
    for text in texts:
        if len(text) > _LONG:
            yield text
        else:
            short.append(text)
    if len(short) < _FEW or not rules.by_line:
        yield from short
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


def _in_lot(lot: list[str], rules: RuleSet, keywords: Keywords) -> list[str]:
    lines = [text.encode() for text in lot]
    data = b"\n".join(lines)
    if rules.in_lines(data):
        if len(lot) <= _FEW:
            return lot
        size = -(-len(lot) // _FEW)
        parts = (lot[first : first + size] for first in range(0, len(lot), size))
        return [text for part in parts for text in _in_lot(part, rules, keywords)]
    keys, signs = keywords.places(data.lower()), rules.signs(data)
    if not keys and not signs:
        return []
    ends = list(accumulate(len(line) + 1 for line in lines))
    met = {bisect_right(ends, place) for place in signs}
    met.update(at for place, shortest in keys if len(lines[at := bisect_right(ends, place)]) >= shortest)
    return [lot[at] for at in sorted(met)]
