"""Everything that a text can be decoded to, for the last look before it is kept.

Written apart from `pieces`, which takes a text apart to put it together again: here decoding may be crude and must miss
little. JSON escapes, percent-encoding, HTML entities, NFKC without invisible characters, spread digits; base64 at every
offset and hex, and in what these give UTF-16, gzip, zlib and zip; and all of it again, up to a depth and an amount.
"""

from __future__ import annotations

import base64
import html
import re
import string
import unicodedata
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote, unquote_plus

from evalkit.errors import SanitizationFailed
from evalkit.sanitize.byte_escapes import FORMS

__all__ = ["Budget", "views", "views_of_bytes"]

MAX_DEPTH = 8
_RUN = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:(?:[A-Za-z0-9+/_-]{40,}[\r\n]+)+[A-Za-z0-9+/_-]*|[A-Za-z0-9+/_-]{12,})"
)  # the sign before spares trying each letter of a short word
_SHORTEST_RUN = 12
_RUN_BYTES = string.ascii_letters.encode() + string.digits.encode() + b"+/_-"
_ALL_ELSE_BLANK = bytes(code if code in _RUN_BYTES else 32 for code in range(256))
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){5,}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'\\/bfnrt]))")
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DIGITS = re.compile(r"\d(?:[ ._\u00b7-]\d){6,}")
_MAYBE_DIGITS = r"\p{Nd}(?:[ ._\x{b7}-]\p{Nd}){6}"
_SPELLED = re.compile(r"\\(?:[xU][0-9a-fA-F]{2}|u\{|[0-3][0-7]{2})|%u[0-9a-fA-F]{4}|=[0-9A-F]{2}")
_SPACED_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{2}(?:[ :-][0-9a-fA-F]{2}){5,}(?![0-9A-Za-z])")
_INVISIBLE = re.compile("[\0\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_STRANGE = re.compile(r"[^\t\n\r -~\u00a0-\u024f\u2010-\u2027\u3000-\u30ff\u3400-\u9fff\uff01-\uff5e]")
_MAX_STRANGE = 0.2
_HIGH_BYTES = bytes((0x00, 0x01, 0x02, 0x20, 0x30, *range(0x34, 0xA0), 0xFF))
"""The upper bytes of UTF-16 for Latin and Chinese letters and signs."""


class Budget:
    """How much may still be decoded.

    Args:
        characters: of all views together.

    Attributes:
        runs: base64 and hex that was decoded already.
    """

    def __init__(self, characters: int = 256 * 2**20) -> None:
        self._left = characters
        self.runs: set[str] = set()

    def spend(self, count: int, where: str) -> None:
        """Take `count` characters.

        Raises:
            SanitizationFailed: there are not so many left: what can't be looked through is not kept.
        """
        self._left -= count
        if self._left < 0:
            raise SanitizationFailed(
                "it unpacks to more than can be looked through; nothing was written",
                where,
                "leave the packed value out of the trace, or drop it by a rule of kind custom",
            )


def views(text: str, budget: Budget, where: str = "") -> Iterator[str]:
    """The texts that `text` can be decoded to, itself left out.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    seen = {text}
    waiting = [(text, 0)]
    while waiting:
        view, depth = waiting.pop()
        if depth == MAX_DEPTH:
            continue
        for other in _decoded(view, budget, where):
            if other not in seen:
                budget.spend(len(other), where)
                seen.add(other)
                waiting.append((other, depth + 1))
                yield other


def views_of_bytes(data: bytes, budget: Budget, where: str = "") -> Iterator[str]:
    """The texts that bytes hold, and what these can be decoded to.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    for text in _texts(data, budget, where):
        yield text
        yield from views(text, budget, where)


def _decoded(text: str, budget: Budget, where: str) -> Iterator[str]:
    if "\\" in text:
        yield (
            _ESCAPE.sub(lambda match: _UNESCAPED[match[0]], text)
            .encode("utf-16-le", "surrogatepass")
            .decode("utf-16-le", "replace")
        )
    if _SPELLED.search(text):
        yield from (view for form in FORMS if (view := form.decode(text)) != text)
    if _SPACED_HEX.search(text):
        spaced = (re.sub("[^0-9a-fA-F]", "", run[0]) for run in _SPACED_HEX.finditer(text))
        yield from (view for digits in spaced for view in _texts(bytes.fromhex(digits), budget, where))
    if "%" in text:
        yield unquote(text)
    if "+" in text:
        yield unquote_plus(text)
    if "&" in text:
        yield html.unescape(text)
    if not text.isascii() or "\0" in text:
        yield _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    data = text.encode("utf-8", "surrogatepass")
    if _maybe_digits().search(data):
        yield _DIGITS.sub(lambda match: re.sub(r"\D", "", match[0]), text)
    for run in _runs(text, data) - budget.runs:
        budget.runs.add(run)
        if _HEX.search(run):
            for digits in _HEX.findall(run):
                yield from _texts(bytes.fromhex(digits), budget, where)
        compact = re.sub(r"[\r\n]", "", run).replace("-", "+").replace("_", "/")
        for offset in range(4):
            part = compact[offset:]
            part = part[:-1] if len(part) % 4 == 1 else part
            yield from _texts(base64.b64decode(part + "=" * (-len(part) % 4)), budget, where)


def _texts(data: bytes, budget: Budget, where: str) -> Iterator[str]:
    if len(data) < 6:
        return
    text = data.decode("utf-8", "ignore")
    if len(text.encode()) > 0.8 * len(data):
        yield from _mostly_text(text)
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        high = data[first::2]
        if len(high.translate(None, _HIGH_BYTES)) < 0.2 * len(high):
            yield from _mostly_text(data[: len(data) // 2 * 2].decode(encoding, "replace"))
    if data[:2] == b"\x1f\x8b":
        yield from _unpacked(data, 31, budget, where)
    elif data[:1] == b"\x78":
        yield from _unpacked(data, 15, budget, where)
    elif data[:4] == b"PK\x03\x04":
        yield from _members(data, budget, where)


def _mostly_text(text: str) -> Iterator[str]:
    if len(_STRANGE.findall(text)) <= _MAX_STRANGE * len(text):
        yield text


def _unpacked(data: bytes, form: int, budget: Budget, where: str) -> Iterator[str]:
    unpacker = zlib.decompressobj(form)
    parts = []
    try:
        while data:
            part = unpacker.decompress(data, 2**20)
            budget.spend(len(part), where)
            parts.append(part)
            data = unpacker.unconsumed_tail
    except zlib.error:
        pass  # what came before the fault is looked at
    yield from _texts(b"".join(parts), budget, where)


def _members(data: bytes, budget: Budget, where: str) -> Iterator[str]:
    """The members of a zip by their local headers, so that a torn archive is looked into as well (APPNOTE 4.3.7)."""
    for found in re.finditer(b"PK\x03\x04", data):
        at = found.start()
        sizes = data[at + 26 : at + 30]
        if len(sizes) < 4:
            return
        start = at + 30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little")
        yield data[at + 30 : start].decode("utf-8", "replace")
        if data[at + 8] == 8:
            yield from _unpacked(data[start:], -15, budget, where)
        else:
            yield from _texts(data[start:], budget, where)


def _runs(text: str, data: bytes) -> set[str]:
    """The runs of letters, digits and signs of base64 in `text`, `data` in UTF-8; over several lines, too."""
    if "\n" in text or "\r" in text:
        return set(_RUN.findall(text))
    return {run.decode() for run in data.translate(_ALL_ELSE_BLANK).split() if len(run) >= _SHORTEST_RUN}


@cache
def _maybe_digits() -> Any:
    """What finds spread digits, faster than `_DIGITS`."""
    import re2  # lazy: a C++ library that only sanitizing needs

    return re2.compile(_MAYBE_DIGITS.encode())


class _Unescaped(dict[str, str]):
    """What each escape stands for, as far as it was asked for."""

    def __missing__(self, escape: str) -> str:
        sign = escape[1]
        made = self[escape] = chr(int(escape[2:], 16)) if sign in "ux" and escape[2:] else _SIGNS.get(sign, sign)
        return made


_UNESCAPED = _Unescaped()
