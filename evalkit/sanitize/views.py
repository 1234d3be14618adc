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
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from evalkit.sanitize.byte_escapes import FORMS
from evalkit.sanitize.unpacked import Budget, texts_in

__all__ = ["BETWEEN", "Budget", "Level", "Lot", "readings", "utf_8", "views", "views_together"]

T = TypeVar("T", str, bytes)
MAX_DEPTH = 8
BETWEEN = "\x1f"
"""Stands between texts that are looked at as one: no value, no code and no number goes on over it."""

_RUN = re.compile(
    rb"(?:[A-Za-z0-9+/_-]{0,9}+[^A-Za-z0-9+/_-]++)*+"  # passes over all shorter ones at once
    rb"((?:[A-Za-z0-9+/_-]{40,}+[\r\n]+)+[A-Za-z0-9+/_-]*|[A-Za-z0-9+/_-]{10,})"
)
"""Hex of five bytes has ten characters, base64 of eight eleven."""
_HEX = re.compile(rb"[0-9a-fA-F]{10,}")
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_DIGEST = 32
_STANDARD = bytes.maketrans(b"-_", b"+/")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'\\/bfnrt]))")
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_AROUND = 160
"""So many characters before and behind a sign are read otherwise with it."""
_FEW = 0.02
_DIGITS = re.compile(r"\d(?:[ ._\u00b7-]\d){6,}")
_INVISIBLE = re.compile("[\0\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_USUAL = {
    "\uff01": "!",
    "\uff08": "(",
    "\uff09": ")",
    "\uff0c": ",",
    "\uff1a": ":",
    "\uff1b": ";",
    "\uff1f": "?",
    "\uff5e": "~",
}
"""Punctuation of Chinese texts, and what NFKC makes of it."""
_LETTERS = (
    "\\x01-\\x7f\u00c0-\u0131\u2010\u2012-\u2016\u2018-\u2023\u2026\u2027"
    "\u3001-\u3029\u3041-\u3096\u30a1-\u30fe\u3400-\u9fff\uac00-\ud7a3"
)
"""What NFKC leaves as it is, or as good as that: an ellipsis is in no value."""
_STRANGE = re.compile(f"[^{_LETTERS}{''.join(_USUAL)}]+")
_SIGNS_OF = {
    "hex": r"[0-9a-fA-F]{2}(?:[ :+-][0-9a-fA-F]{2}){5}",
    "digits": r"\p{Nd}(?:[ ._\x{b7}-]\p{Nd}){6}",
    "letters": _STRANGE.pattern,
    **{f"codes {at}": form.telling for at, form in enumerate(FORMS)},
}
"""What there must be in a text for a decoding to be worth trying."""


class Lot:
    """Some texts that are looked at as one.

    Attributes:
        texts: the texts.
        joined, data: all of them, as text and in UTF-8.
        signs: the names of `_SIGNS_OF` that are in one of them.
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.joined = BETWEEN.join(texts)
        self.data = utf_8(self.joined)
        self.signs = _signs(self.data)

    def with_sign(self, sign: str) -> list[str]:
        """Those of the texts that have a sign."""
        return [text for text in self.texts if sign in _signs(utf_8(text))] if sign in self.signs else []


class Level(NamedTuple):
    """What some texts were decoded to.

    Attributes:
        lot: those that were not met before.
        hex, base64: what runs of these spell, whether it is text or not.
    """

    lot: Lot
    hex: Sequence[bytes] = ()
    base64: Sequence[bytes] = ()


def views(text: str, budget: Budget, where: str = "") -> Iterator[str]:
    """The texts that `text` can be decoded to, itself left out.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    lot = Lot([text])
    yield from readings(lot)
    for level in views_together(lot, budget, where):
        yield from level.lot.texts
        yield from readings(level.lot)


def views_together(lot: Lot, budget: Budget, where: str = "") -> Iterator[Level]:
    """What some texts can be decoded to, themselves left out: by how often something was decoded.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    seen = set(lot.texts)
    for _ in range(MAX_DEPTH):
        runs = _runs(lot.data) - budget.runs
        budget.runs |= runs
        in_hex = [blob for run in runs for blob in _from_hex(run)]
        in_base64 = [blob for run in runs for blob in _from_base64(run)]
        fresh: list[str] = []
        for other in (*_decoded(lot, budget, where), *_unpacked((*in_hex, *in_base64), budget, where)):
            if other not in seen:
                budget.spend(len(other), where)
                seen.add(other)
                fresh.append(other)
        lot = Lot(fresh)
        yield Level(lot, in_hex, in_base64)
        if not fresh:
            return


def readings(lot: Lot, *, quoted: bool = True) -> list[str]:
    """How some texts read otherwise as they stand: in plain letters, with plus signs for spaces, digits together.

    Texts that read otherwise in the same way stand together in one; of some only the parts that do.

    Args:
        quoted: whether quotation marks matter that are escaped.
    """
    found = [lot.joined]
    if quoted and "\\" in lot.joined:
        found.append(
            BETWEEN.join(text.replace('\\"', '"') for text in lot.texts if "\\" in text and _quotes_only(text))
        )
    if not lot.joined.isascii() or "\0" in lot.joined:
        found += [plain for some in found if (plain := _plainly(some, "letters" in lot.signs)) != some]
    found += [BETWEEN.join(_around(some, _pluses(some))).replace("+", " ") for some in found if "+" in some]
    if "digits" in lot.signs or any("digits" in _signs(utf_8(some)) for some in found[1:]):
        found += [
            _DIGITS.sub(lambda match: re.sub(r"\D", "", match[0]), BETWEEN.join(_around(some, _spread(some))))
            for some in found
        ]
    return found[1:]


def _pluses(text: str) -> Iterator[tuple[int, int]]:
    at = text.find("+")
    while at >= 0:
        yield at, at + 1
        at = text.find("+", at + 1)


def _spread(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _DIGITS.finditer(text))


def _around(text: T, places: Iterable[tuple[int, int]]) -> Iterator[T]:
    """The parts of a text that lie around some places, from left to right; none begins or ends within a word."""
    start = stop = 0
    for first, last in places:
        if first - _AROUND > stop:
            if stop:
                yield text[_back(text, start) : _on(text, stop)]
            start = first - _AROUND
        stop = last + _AROUND
    if stop:
        yield text[_back(text, start) : _on(text, stop)]


def _back(text: str | bytes, at: int) -> int:
    while at > 0 and text[at - 1 : at].isalnum():
        at -= 1
    return at


def _on(text: str | bytes, at: int) -> int:
    while at < len(text) and text[at : at + 1].isalnum():
        at += 1
    return at


def _decoded(lot: Lot, budget: Budget, where: str) -> Iterator[str]:
    """What some texts spell."""
    texts, joined = lot.texts, lot.joined
    if "\\" in joined:
        yield from (_unescaped(text) for text in texts if "\\" in text and not _quotes_only(text))
    for at, form in enumerate(FORMS):
        yield from (view for text in lot.with_sign(f"codes {at}") if (view := form.decode(text)) != text)
    if "hex" in lot.signs:
        for match in _spaced_hex().finditer(lot.data):
            digits = match[1] if not lot.data[match.end() : match.end() + 1].isalnum() else match[1][:-3]
            yield from texts_in(bytes.fromhex(re.sub("[^0-9a-fA-F]", "", digits.decode())), budget, where)
    if "%" in joined:
        yield from (unquote(text) for text in texts if "%" in text)
    if "&" in joined:
        yield from (html.unescape(text) for text in texts if "&" in text)
    yield from map(_plainly, lot.with_sign("letters"))


def _unpacked(blobs: Iterable[bytes], budget: Budget, where: str) -> Iterator[str]:
    for blob in blobs:
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
    runs: set[bytes] = set()
    at = 0
    while (match := _RUN.match(data, at)) is not None:
        runs.add(match[1])
        at = match.end()
    return runs


def _quotes_only(text: str) -> bool:
    """Whether all that is escaped in a text are quotation marks, which no code goes on over: there is none behind."""
    return text.count("\\") == text.count('\\"')


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(lambda match: _UNESCAPED[match[0]], text)
    return plain if plain.isascii() else plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _plainly(text: str, letters: bool = True) -> str:
    """A text as `_plain` gives it; of one that is nearly all ASCII, the parts around what is not.

    Args:
        letters: whether there are others in it than those which NFKC leaves and the usual punctuation.
    """
    if letters and len(text) - len(text.encode("ascii", "ignore")) < len(text) * _FEW:
        data = utf_8(text)
        parts = _around(data, (match.span() for match in _strange_bytes().finditer(data)))
        text = BETWEEN.join(part.decode("utf-8", "ignore") for part in parts)
    return _plain(text, letters)


def _plain(text: str, letters: bool) -> str:
    """A text in NFKC, without invisible characters."""
    if letters:
        parts: list[str] = []
        at = 0
        for match in _STRANGE.finditer(text):  # with the character before each, which NFKC may join it to
            first = max(at, match.start() - 1)
            parts += (text[at:first], unicodedata.normalize("NFKC", text[first : match.end()]))
            at = match.end()
        text = _INVISIBLE.sub("", "".join((*parts, text[at:])))
    for sign, plain in _USUAL.items():
        text = text.replace(sign, plain)
    return text


def utf_8(text: str) -> bytes:
    """A text's bytes; lone surrogate code points have some, too."""
    return text.encode("utf-8", "surrogatepass")


def _signs(data: bytes) -> frozenset[str]:
    """The names of `_SIGNS_OF` that are in some text as UTF-8."""
    matcher, names = _matcher()
    return frozenset(names[at] for at in matcher.Match(data) or ())


@cache
def _matcher() -> tuple[Any, tuple[str, ...]]:
    import re2  # lazy: a C++ library that only sanitizing needs

    matcher = re2.Set.SearchSet()
    for pattern in _SIGNS_OF.values():
        matcher.Add(pattern)
    matcher.Compile()
    return matcher, tuple(_SIGNS_OF)


@cache
def _strange_bytes() -> Any:
    import re2  # lazy: see above

    return re2.compile(b"[^\\x01-\\x7f]+")


@cache
def _spaced_hex() -> Any:
    import re2  # lazy: see above

    return re2.compile(rb"(?:^|[^0-9A-Za-z])([0-9a-fA-F]{2}(?:[ :+-][0-9a-fA-F]{2}){5,})")


class _Unescaped(dict[str, str]):
    """What each escape stands for, as far as it was asked for."""

    def __missing__(self, escape: str) -> str:
        sign = escape[1]
        made = self[escape] = chr(int(escape[2:], 16)) if sign in "ux" and escape[2:] else _SIGNS.get(sign, sign)
        return made


_UNESCAPED = _Unescaped()
