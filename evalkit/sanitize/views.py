"""Everything that texts can be decoded to, for the last look before they are kept.

Written apart from `pieces`, which takes a text apart to put it together again: here decoding may be crude and must miss
little. JSON escapes, percent-encoding, HTML entities, NFKC without invisible characters, spread digits; base64 at every
offset and hex, and in what these give UTF-16, gzip, zlib and zip; and all of it again, up to a depth and an amount.

Many texts are decoded together, level by level: most hold nothing to decode, which is told of all of them at once, and
what several of them decode to is looked at once. A level's other readings (`readings`) are not decoded further: they
join or plainly spell what stands there, and nothing is encoded in them that is not encoded in the level itself.
"""

from __future__ import annotations

import base64
import html
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from evalkit.sanitize.byte_escapes import FORMS
from evalkit.sanitize.unpacked import Budget, texts_in

__all__ = ["BETWEEN", "Budget", "Level", "readings", "views", "views_together"]

MAX_DEPTH = 8
BETWEEN = "\x1f"
"""Stands between texts that are looked at as one: no value, no code and no number goes on over it."""

_RUN = re.compile(rb"(?:[A-Za-z0-9+/_-]{40,}[\r\n]+)+[A-Za-z0-9+/_-]*|[A-Za-z0-9+/_-]{10,}")
_SHORTEST_RUN = 10
"""Hex of five bytes; base64 of eight has eleven characters."""
_RUN_BYTES = string.ascii_letters.encode() + string.digits.encode() + b"+/_-"
_ALL_ELSE_BLANK = bytes(code if code in _RUN_BYTES or code in b"\r\n" else 32 for code in range(256))
_HEX = re.compile(rb"[0-9a-fA-F]{10,}")
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_DIGEST = 32
_STANDARD = bytes.maketrans(b"-_", b"+/")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'\\/bfnrt]))")
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DIGITS = re.compile(r"\d(?:[ ._\u00b7-]\d){6,}")
_MAYBE_DIGITS = r"\p{Nd}(?:[ ._\x{b7}-]\p{Nd}){6}"
_SPELLED = r"\\(?:[xU][0-9a-fA-F]{2}|u\{|[0-3][0-7]{2})|%u[0-9a-fA-F]{4}|=[0-9A-F]{2}"
_SPACED_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{2}(?:[ :+-][0-9a-fA-F]{2}){5,}(?![0-9A-Za-z])")
_MAYBE_SPACED_HEX = r"[0-9a-fA-F]{2}(?:[ :+-][0-9a-fA-F]{2}){5}"
_INVISIBLE = re.compile("[\0\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_LETTERS = "\\x01-\\x7f\u00c0-\u0131\u2010-\u2023\u2026\u2027\u3001-\u3029\u3041-\u30fe\u3400-\u9fff\uac00-\ud7a3"
_TELLING = re.compile(f"[^{_LETTERS}\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff5e]")
"""What NFKC, or leaving it out, may make a sign or digit of that belongs to an encoding; usual punctuation does not."""


class Level(NamedTuple):
    """What some texts were decoded to.

    Attributes:
        texts: those that were not met before.
        hex, base64: what runs of these spell, whether it is text or not.
    """

    texts: list[str]
    hex: Sequence[bytes] = ()
    base64: Sequence[bytes] = ()


def views(text: str, budget: Budget, where: str = "") -> Iterator[str]:
    """The texts that `text` can be decoded to, itself left out.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    yield from readings((text,))
    for level in views_together((text,), budget, where):
        yield from level.texts
        yield from readings(level.texts)


def views_together(texts: Iterable[str], budget: Budget, where: str = "") -> Iterator[Level]:
    """What some texts can be decoded to, themselves left out: by how often something was decoded.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    level = list(dict.fromkeys(texts))
    seen = set(level)
    for _ in range(MAX_DEPTH):
        joined = BETWEEN.join(level)
        data = _utf_8(joined)
        runs = _runs(data) - budget.runs
        budget.runs |= runs
        found = Level(
            [], [blob for run in runs for blob in _from_hex(run)], [b for run in runs for b in _from_base64(run)]
        )
        for other in _decoded(level, joined, data, found, budget, where):
            if other not in seen:
                budget.spend(len(other), where)
                seen.add(other)
                found.texts.append(other)
        yield found
        level = found.texts
        if not level:
            return


def readings(texts: Sequence[str]) -> list[str]:
    """How some texts read otherwise as they stand: in plain letters, with plus signs for spaces, digits together."""
    found = [text.replace('\\"', '"') for text in texts if "\\" in text and _quotes_only(text)]
    found += [_plain(text) for text in (*texts, *found) if not text.isascii() or "\0" in text]
    found += [text.replace("+", " ") for text in (*texts, *found) if "+" in text]
    if _may(_MAYBE_DIGITS, _utf_8(BETWEEN.join((*texts, *found)))):
        found += [_DIGITS.sub(_joined, text) for text in (*texts, *found) if _may(_MAYBE_DIGITS, _utf_8(text))]
    return found


def _decoded(texts: list[str], joined: str, data: bytes, found: Level, budget: Budget, where: str) -> Iterator[str]:
    """What some texts spell, given them as one text and as one in UTF-8, and what their base64 and hex hold."""
    if "\\" in joined:
        yield from (_unescaped(text) for text in texts if "\\" in text and not _quotes_only(text))
    if _may(_SPELLED, data):
        for text in texts:
            if _may(_SPELLED, _utf_8(text)):
                yield from (view for form in FORMS if (view := form.decode(text)) != text)
    if _may(_MAYBE_SPACED_HEX, data):
        for match in _SPACED_HEX.finditer(joined):
            yield from texts_in(bytes.fromhex(re.sub("[^0-9a-fA-F]", "", match[0])), budget, where)
    if "%" in joined:
        yield from (unquote(text) for text in texts if "%" in text)
    if "&" in joined:
        yield from (html.unescape(text) for text in texts if "&" in text)
    if (not joined.isascii() or "\0" in joined) and _TELLING.search(joined):
        yield from (_plain(text) for text in texts if _TELLING.search(text))
    for blob in (*found.hex, *found.base64):
        yield from texts_in(blob, budget, where)


def _from_hex(run: bytes) -> Iterator[bytes]:
    """What the hex in a run may spell: it may begin at any of its digits."""
    for digits in _HEX.findall(run):
        for first in range(2):
            yield bytes.fromhex(digits[first : first + (len(digits) - first) // 2 * 2].decode())


def _from_base64(run: bytes) -> Iterator[bytes]:
    """What a run may spell as base64: it may begin at any of its characters. Nothing but hex digits is a digest."""
    if len(run) >= _DIGEST and not run.translate(None, _HEX_DIGITS):
        return
    compact = run.translate(_STANDARD, b"\r\n")
    for first in range(4):
        part = compact[first:]
        part = part[:-1] if len(part) % 4 == 1 else part
        yield base64.b64decode(part + b"=" * (-len(part) % 4))


def _runs(data: bytes) -> set[bytes]:
    """The runs of letters, digits and signs of base64 in some text as UTF-8; over several lines, too."""
    runs = {run for run in set(data.translate(_ALL_ELSE_BLANK).split(b" ")) if len(run) >= _SHORTEST_RUN}
    broken = {run for run in runs if b"\n" in run or b"\r" in run}
    return (runs - broken).union(*map(_RUN.findall, broken))


def _quotes_only(text: str) -> bool:
    """Whether all that is escaped in a text are quotation marks, which no code goes on over: there is none behind."""
    return text.count("\\") == text.count('\\"')


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(lambda match: _UNESCAPED[match[0]], text)
    return plain if plain.isascii() else plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _plain(text: str) -> str:
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def _joined(match: re.Match[str]) -> str:
    return re.sub(r"\D", "", match[0])


def _utf_8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _may(pattern: str, data: bytes) -> bool:
    """Whether a pattern of RE2 is in `data`: faster than the same as a pattern of Python."""
    return _compiled(pattern).search(data) is not None


@cache
def _compiled(pattern: str) -> Any:
    import re2  # lazy: a C++ library that only sanitizing needs

    return re2.compile(pattern.encode())


class _Unescaped(dict[str, str]):
    """What each escape stands for, as far as it was asked for."""

    def __missing__(self, escape: str) -> str:
        sign = escape[1]
        made = self[escape] = chr(int(escape[2:], 16)) if sign in "ux" and escape[2:] else _SIGNS.get(sign, sign)
        return made


_UNESCAPED = _Unescaped()
