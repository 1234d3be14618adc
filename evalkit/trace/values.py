"""A value under the spellings that one meets it in: what makes ``$1,250.00`` in a sentence and ``1250`` one value.

Case, spaces, separators inside identifiers, number formats and dates are taken out. Values that could have come from
anywhere (booleans, null, single characters) have no key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalkit.canonical import Json

__all__ = ["plain_words", "value_keys"]

_TOKEN = re.compile(r"[a-z0-9](?:[a-z0-9_@#+.:/-]*[a-z0-9])?")
_TELLING = re.compile(r"[0-9@_]")
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3})")
_PERCENT = re.compile(r"(?<![\w.])([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%")
_SEPARATOR = re.compile(r"[_@#+.:/-]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_MAX_WHOLE = 200
_MIN_COMPACT = 5
_MONTHS = {name: at for at, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_MONTH = "(" + "|".join(_MONTHS) + r")[a-z]{0,6}\.?"
_DAY = r"([0-3]?[0-9])(?:st|nd|rd|th)?"
_DATES = (
    (re.compile(r"\b([12][0-9]{3})[-/.]([01]?[0-9])[-/.]([0-3]?[0-9])\b"), "ymd"),
    (re.compile(r"\b([01]?[0-9])[/.]([0-3]?[0-9])[/.]([12][0-9]{3})\b"), "mdy"),
    (re.compile(r"\b([0-3]?[0-9])[/.]([01]?[0-9])[/.]([12][0-9]{3})\b"), "dmy"),
    (re.compile(rf"\b{_MONTH} {_DAY},? ([12][0-9]{{3}})\b"), "mdy"),
    (re.compile(rf"\b{_DAY} (?:of )?{_MONTH},? ([12][0-9]{{3}})\b"), "dmy"),
)


def value_keys(leaf: Json) -> Iterator[str]:
    """What a leaf is found by: itself, and in a text the words that are telling (digits, ``@`` or ``_`` in them)."""
    if leaf is None or isinstance(leaf, bool):
        return
    text = str(leaf).strip().lower()
    if isinstance(leaf, int | float):
        if len(text) > 1:
            yield _number(text)
        return
    if 1 < len(text) <= _MAX_WHOLE:
        yield text
    if not _TELLING.search(text):
        return
    for word in _TOKEN.findall(_THOUSANDS.sub("", text)):
        if len(word) > 1 and _TELLING.search(word):
            if word != text:
                yield _number(word)
            compact = _SEPARATOR.sub("", word)
            if compact != word and len(compact) >= _MIN_COMPACT:
                yield compact
    yield from _dates(text)
    for share in _PERCENT.findall(text):
        yield f"{float(share) / 100:.8g}"


def plain_words(text: str) -> set[str]:
    """The words of a text of three letters and more, in small letters: for values that are words, such as names."""
    return set(_WORD.findall(text.lower()))


def _number(word: str) -> str:
    return word.rstrip("0").rstrip(".") if _DECIMAL.fullmatch(word) else word


def _dates(text: str) -> Iterator[str]:
    """The dates in a text as ``2024-05-15``; where day and month could be either, both."""
    for pattern, order in _DATES:
        for match in pattern.findall(text):
            part = dict(zip(order, match, strict=True))
            month = _MONTHS.get(part["m"][:3]) or int(part["m"])
            day = int(part["d"])
            if 1 <= month <= 12 and 1 <= day <= 31:
                yield f"{part['y']}-{month:02}-{day:02}"
