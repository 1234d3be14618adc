"""Everything that texts can be decoded to, for the last look before they are kept.

Written apart from `pieces`, which takes a text apart to put it together again: here decoding may be crude and must miss
little. JSON escapes, percent-encoding, HTML entities, NFKC without invisible characters, spread digits; base64 at every
offset and hex, and in what these give UTF-16, gzip, zlib and zip; and all of it again, up to a depth and an amount.

Many texts are decoded together, level by level: most hold nothing to decode, which is told of all of them at once, and
what several of them decode to is looked at once. A level's other readings (`readings`) are not decoded further: they
join or plainly spell what stands there, and nothing is encoded in them that is not encoded in the level itself.
"""

from __future__ import annotations

import html
import re
import unicodedata
from binascii import a2b_base64, a2b_hex
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote

from evalkit.sanitize.byte_escapes import FORMS
from evalkit.sanitize.unpacked import INVISIBLE, Budget, texts_in

__all__ = ["BETWEEN", "Budget", "Level", "Lot", "readings", "utf_8", "views", "views_together"]

MAX_DEPTH = 8
BETWEEN = "\x1f"
"""Stands between texts that are looked at as one: no value, no code and no number goes on over it."""
_BETWEEN = BETWEEN.encode()

_CODE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_BREAK = b"\x01"
_CODE_ONLY = bytes(byte if byte in _CODE else _BREAK[0] if byte in b"\r\n" else ord(" ") for byte in range(256))
_SHORTEST_RUN = 10
"""Hex of five bytes has ten characters, base64 of eight eleven."""
_BROKEN_RUN = re.compile(rb"(?:[A-Za-z0-9+/_-]{40,}\x01+)+[A-Za-z0-9+/_-]*|[A-Za-z0-9+/_-]{10,}")
_HEX = re.compile(rb"[0-9a-fA-F]{10,}")
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_DIGEST = 32
_STANDARD = bytes.maketrans(b"-_", b"+/")
_WITH_ESCAPES = re.compile(rb'(?:[^"\\\xff\x1f]*+["\x1f])*+([^"\x1f]*)')
"""Parts between quotation marks that hold a backslash, or what stands for an escaped one; and the last part."""
_CODES = re.compile(rb"\\(?:u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*|x([0-9a-fA-F]{2}))")
_SIGNS = {
    b'\\"': b'"',
    b"\\'": b"'",
    b"\\/": b"/",
    b"\\b": b"\b",
    b"\\f": b"\f",
    b"\\n": b"\n",
    b"\\r": b"\r",
    b"\\t": b"\t",
}
_BACKSLASH, _QUOTE = b"\xff", b"\xfe"
"""Stand for those that are spelled by an escape until all else is unescaped; they are nowhere in UTF-8."""
_AROUND = 480
"""So many bytes before and behind a sign are read otherwise with it."""
_FEW = 0.02
_DIGITS = re.compile(r"\d(?:[ ._\u00b7-]\d){6,}")
_INVISIBLE = re.compile(f"[\0{INVISIBLE}]")
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
        return [text for text, signs in self._signed if sign in signs] if sign in self.signs else []

    @cached_property
    def _signed(self) -> list[tuple[str, frozenset[str]]]:
        return [(text, _signs(utf_8(text))) for text in self.texts]


class Level(NamedTuple):
    """What some texts were decoded to.

    Attributes:
        lots: texts that were not met before: what is spelled as text, and what lay in hex and base64, of which much is
            no text and has signs of everything.
        hex, base64: what runs of these spell, whether it is text or not.
    """

    lots: Sequence[Lot] = ()
    hex: Sequence[bytes] = ()
    base64: Sequence[bytes] = ()


def views(text: str, budget: Budget, where: str = "") -> Iterator[str]:
    """The texts that `text` can be decoded to, itself left out.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    lot = Lot([text])
    yield from (reading.decode("utf-8", "replace") for reading in readings(lot))
    for level in views_together(lot, budget, where):
        for some in level.lots:
            yield from some.texts
            yield from (reading.decode("utf-8", "replace") for reading in readings(some))


def views_together(lot: Lot, budget: Budget, where: str = "", *, quoted: bool = True) -> Iterator[Level]:
    """What some texts can be decoded to, themselves left out: by how often something was decoded.

    Args:
        quoted: whether what is looked for may go on over a quotation mark. Else of a text with escapes only the parts
            between such marks are given that have one.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    seen = {"", *lot.texts}

    def fresh(texts: Iterable[str]) -> Lot:
        some = [text for text in dict.fromkeys(texts) if text not in seen]
        budget.spend(sum(map(len, some)), where)
        seen.update(some)
        return Lot(some)

    spelled, unpacked = lot, Lot([])
    for _ in range(MAX_DEPTH):
        runs = (_runs(spelled.data) | _runs(unpacked.data)) - budget.runs
        budget.runs |= runs
        in_hex, in_base64 = _from_hex(runs), _from_base64(runs)
        inside = texts_in((*in_hex, *in_base64), budget, where)
        unpacked = fresh((*_decoded(unpacked, budget, where, quoted), *inside))
        spelled = fresh(_decoded(spelled, budget, where, quoted))
        yield Level((spelled, unpacked), in_hex, in_base64)
        if not (spelled.texts or unpacked.texts):
            return


def readings(lot: Lot, *, quoted: bool = True) -> list[bytes]:
    """How some texts read otherwise as they stand: in plain letters, with plus signs for spaces, digits together.

    Texts that read otherwise in the same way stand together in one; of some only the parts that do. In UTF-8.

    Args:
        quoted: whether quotation marks matter that are escaped.
    """
    texts = [lot.joined]
    if quoted and "\\" in lot.joined:
        some = (text.replace('\\"', '"') for text in lot.texts if "\\" in text and _quotes_only(text))
        texts.append(BETWEEN.join(some))
    if not lot.joined.isascii() or "letters" in lot.signs:
        plainly = _plainly if "letters" in lot.signs else _usually
        texts += [plain for text in texts if (plain := plainly(text)) != text]
    found = [lot.data, *map(utf_8, texts[1:])]
    spaced = [_BETWEEN.join(_around(some, _pluses(some))).replace(b"+", b" ") for some in found if b"+" in some]
    apart = found if lot.signs & {"digits", "letters"} else []
    found = [*found, *spaced]
    return [*found[1:], *(close for some in (*apart, *spaced) if (close := _closely(some)))]


def _closely(data: bytes) -> bytes:
    """The parts of a text in which digits stand apart, with these together."""
    parts = _BETWEEN.join(_around(data, (match.span() for match in _spread().finditer(data))))
    return _DIGITS.sub(lambda match: re.sub(r"\D", "", match[0]), parts.decode("utf-8", "ignore")).encode()


def _pluses(data: bytes) -> Iterator[tuple[int, int]]:
    at = data.find(b"+")
    while at >= 0:
        yield at, at + 1
        at = data.find(b"+", at + 1)


def _around(data: bytes, places: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """The parts of a text that lie around some places, from left to right; none begins or ends within a word."""
    start = stop = 0
    for first, last in places:
        if first - _AROUND > stop:
            if stop:
                yield data[_back(data, start) : _on(data, stop)]
            start = first - _AROUND
        stop = last + _AROUND
    if stop:
        yield data[_back(data, start) : _on(data, stop)]


def _back(data: bytes, at: int) -> int:
    while at > 0 and (_within(data, at) or data[at - 1 : at].isalnum()):
        at -= 1
    return at


def _on(data: bytes, at: int) -> int:
    while at < len(data) and (_within(data, at) or data[at : at + 1].isalnum()):
        at += 1
    return at


def _within(data: bytes, at: int) -> bool:
    """Whether a character goes on here that began before."""
    return 0x80 <= data[at] < 0xC0


def _decoded(lot: Lot, budget: Budget, where: str, quoted: bool) -> Iterator[str]:
    """What some texts spell."""
    texts, joined = lot.texts, lot.joined
    if "\\" in joined:
        yield from _unescaped([text for text in texts if "\\" in text and not _quotes_only(text)], quoted)
    for at, form in enumerate(FORMS):
        yield from (view for text in lot.with_sign(f"codes {at}") if (view := form.decode(text)) != text)
    if "hex" in lot.signs:
        yield from texts_in(_from_spaced_hex(lot.data), budget, where)
    if "%" in joined:
        yield from (unquote(text) for text in texts if "%" in text)
    if "&" in joined:
        yield from (html.unescape(text) for text in texts if "&" in text)
    if "letters" in lot.signs:
        yield from (_plainly(text) for text in texts if _STRANGE.search(text))


def _from_spaced_hex(data: bytes) -> Iterator[bytes]:
    for match in _spaced_hex().finditer(data):
        digits = match[1] if not data[match.end() : match.end() + 1].isalnum() else match[1][:-3]
        yield bytes.fromhex(re.sub("[^0-9a-fA-F]", "", digits.decode()))


def _from_hex(runs: Iterable[bytes]) -> list[bytes]:
    """What the hex in some runs may spell: it may begin at any of its digits."""
    found = _HEX.findall(b" ".join(runs))
    return [a2b_hex(digits[first : len(digits) - (len(digits) - first) % 2]) for digits in found for first in range(2)]


def _from_base64(runs: Iterable[bytes]) -> list[bytes]:
    """What some runs may spell as base64: it may begin at any of their characters.

    Nothing but hex digits is a digest. One character too many is left out, as it spells nothing.
    """
    some = [run for run in runs if len(run) < _DIGEST or run.translate(None, _HEX_DIGITS)]
    return [
        a2b_base64(run[first : len(run) - ((len(run) - first) % 4 == 1)] + b"==")
        for run in b" ".join(some).translate(_STANDARD, _BREAK).split()
        for first in range(4)
    ]


def _runs(data: bytes) -> set[bytes]:
    """The runs of letters, digits and signs of base64 in some text as UTF-8; over several lines, too."""
    runs = {run for run in data.translate(_CODE_ONLY).split() if len(run) >= _SHORTEST_RUN}
    broken = [run for run in runs if _BREAK in run]
    return runs.difference(broken).union(*map(_BROKEN_RUN.findall, broken))


def _quotes_only(text: str) -> bool:
    """Whether all that is escaped in a text are quotation marks, which no code goes on over: there is none behind."""
    return text.count("\\") == text.count('\\"')


def _unescaped(texts: Iterable[str], quoted: bool) -> list[str]:
    """Some texts without the escapes of JSON, or their parts between quotation marks that have any."""
    data = utf_8(BETWEEN.join(texts)).replace(b"\\\\", _BACKSLASH)
    if not quoted:
        parts = _WITH_ESCAPES.findall(data.replace(b'\\"', _QUOTE))
        data = _BETWEEN.join(dict.fromkeys(parts)).replace(_QUOTE, b'"')
    if b"\\" in data:
        data = _CODES.sub(_of_codes, data)
        for escape, sign in _SIGNS.items():
            data = data.replace(escape, sign)
    return data.replace(_BACKSLASH, b"\\").decode("utf-8", "replace").split(BETWEEN)


def _of_codes(codes: re.Match[bytes]) -> bytes:
    units = b"00" + codes[1] if codes[1] else codes[0].replace(b"\\u", b"")
    return a2b_hex(units).decode("utf-16-be", "replace").encode().replace(b"\\", _BACKSLASH)


def _usually(text: str) -> str:
    """A text with the usual punctuation in ASCII."""
    for sign, plain in _USUAL.items():
        text = text.replace(sign, plain)
    return text


def _plainly(text: str) -> str:
    """A text in NFKC, without invisible characters; of one that is nearly all ASCII, the parts around what is not."""
    if len(text) - len(text.encode("ascii", "ignore")) < len(text) * _FEW:
        data = utf_8(text)
        parts = _around(data, (match.span() for match in _strange_bytes().finditer(data)))
        text = BETWEEN.join(part.decode("utf-8", "ignore") for part in parts)
    pieces: list[str] = []
    at = 0
    for match in _STRANGE.finditer(text):  # with the character before each, which NFKC may join it to
        first = max(at, match.start() - 1)
        pieces += (text[at:first], unicodedata.normalize("NFKC", text[first : match.end()]))
        at = match.end()
    return _usually(_INVISIBLE.sub("", "".join((*pieces, text[at:]))))


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
def _spread() -> Any:
    import re2  # lazy: see above

    return re2.compile(_SIGNS_OF["digits"].replace("{6}", "{6,}").encode())


@cache
def _spaced_hex() -> Any:
    import re2  # lazy: see above

    return re2.compile(rb"(?:^|[^0-9A-Za-z])([0-9a-fA-F]{2}(?:[ :+-][0-9a-fA-F]{2}){5,})")
