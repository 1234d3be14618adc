"""A text as a reader takes it: full-width and styled letters as plain ones, no invisible characters, digits together.

``１３９ …``, ``m\\u200bi\\u200ba@acme.com`` and ``1 3 9 4 5 6 7 1 2 3 4`` are found where they stand, by the map that
the folded text keeps of where its characters come from.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["ODD", "Folded", "fold"]

ODD = (
    "[\0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f"
    "\ufeff\uff10-\uff19\uff20-\uff3a\uff41-\uff5a\u2460-\u249b\u2070-\u209c\u2100-\u214f\U0001d400-\U0001d7ff]"
)
"""A pattern for what gives away a text worth folding; full-width punctuation is usual in Chinese and doesn't."""

_ODD = re.compile(ODD)
_SPREAD = re.compile(r"(?<![0-9A-Za-z.,-])\d(?:[ -]\d){8,}(?![0-9A-Za-z.,-])")
_MAYBE_SPREAD = re.compile(r"\d[ -]\d[ -]\d[ -]\d[ -]\d[ -]\d[ -]\d")
_INVISIBLE = frozenset({"Cf", "Cc", "Mn"})


class Folded(NamedTuple):
    """A folded text.

    Attributes:
        places: for each of its characters, where the character that it comes from stands in the original.
    """

    text: str
    places: list[int]


def fold(text: str) -> Folded | None:
    """`text` folded; None when that changes nothing."""
    odd = not text.isascii() and _ODD.search(text) is not None
    if not odd and "\0" not in text and not _MAYBE_SPREAD.search(text):
        return None
    characters: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        for plain in _plain(char):
            characters.append(plain)
            places.append(at)
    folded = "".join(characters)
    gone = {
        match.start() + at
        for match in _SPREAD.finditer(folded)
        for at in range(1, match.end() - match.start(), 2)
    }  # fmt: skip
    if gone:
        kept = [at for at in range(len(folded)) if at not in gone]
        folded, places = "".join(folded[at] for at in kept), [places[at] for at in kept]
    return None if folded == text else Folded(folded, places)


def _plain(char: str) -> str:
    if char.isascii():
        return "" if char == "\0" else char
    if _ODD.match(char) is None and char != "\u3000":
        return " " if char == "\u00a0" else char if char < "\uff01" or char > "\uff5e" else chr(ord(char) - 0xFEE0)
    if unicodedata.category(char) in _INVISIBLE:
        return ""
    return unicodedata.normalize("NFKC", char)
