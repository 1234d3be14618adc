"""Parts of a text that spell another value: JSON in prose, escapes, percent-encoding, HTML, base64, hex.

A codec gives the pieces of a text that it can read. Whoever rewrites a piece's
value gets the piece's own spelling of the new one. What lies in a piece's value may hold pieces again.
"""

from __future__ import annotations

import base64
import html
import json
import re
import sys
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from evalkit.sanitize.blobs import Blob, blob_of, may_hold_text
from evalkit.sanitize.byte_escapes import FORMS
from evalkit.sanitize.embedded import refuse_constant, serialize_like

__all__ = ["CODECS", "Codec", "Piece", "percent_encoded", "rewritten"]


class Piece(NamedTuple):
    """A part of a text.

    Attributes:
        start, end: where it stands.
        value: what it spells: a text, or a JSON object or list.
        spell: a changed value as the piece spells it.
        key: the key that the value stands under; empty where there is none.
        beside: what stands beside it under other keys, with itself; None where nothing does.
    """

    start: int
    end: int
    value: Any
    spell: Callable[[Any], str]
    key: str = ""
    beside: dict[str, Any] | None = None


Codec: TypeAlias = Callable[[str], Iterator[Piece]]

_MAX_TRIES = 64
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_PERCENT = re.compile(r"[^\s\"'<>&=?/#;]+")
_PLUS = re.compile(r"(?<=[=?&])[^\s\"'<>&=?/#;+]+\+[^\s\"'<>&=?/#;]*")
_OPENING = re.compile(r"\{\s*\"|\[\s*[\[{\"]")
_SEGMENT = re.compile(r"(?:[^\"\\\n]+|\\.)+")
_ESCAPE = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\([\"\\/bfnrt])")
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8}\d?);")
_MARKUP = re.compile(r"[^<>]+")
_RUN = r"((?:(?:[A-Za-z0-9+/_-]{60,}+\r?\n)+[A-Za-z0-9+/_-]*|[A-Za-z0-9+/_-]{16,})={0,2})"
_SHORT_WORDS = r"(?:[A-Za-z0-9+/_-]{0,15}+[^A-Za-z0-9+/_-]++)*+"
_next_run = re.compile(_SHORT_WORDS + _RUN).match if sys.version_info >= (3, 11, 5) else re.compile(_RUN).search
"""The next long run of such characters: passing over all short words at once is faster. Python before 3.11.5, as Debian
12 has it, goes wrong in that (python/cpython#106052: a possessive group with something in it that could backtrack)."""
_HEX = re.compile(r"(?:0x)?((?:[0-9a-f]{2}){6,}|(?:[0-9A-F]{2}){6,})")
_INNER = (re.compile(r"[A-Za-z0-9+/]{16,}={0,2}"), re.compile(r"[A-Za-z0-9+]{16,}={0,2}"))
_STANDARD = str.maketrans("-_", "+/", "\r\n=")
_HEAD = 16
"""So many characters of base64 tell that the rest needn't be decoded; they are no less than a run has."""
_HEX_HEAD = 24
_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def rewritten(text: str, codec: Codec, rewrite: Callable[[Piece], Any]) -> str:
    """`text` with the values of its pieces rewritten; a piece whose value stays keeps its spelling to the letter."""
    parts: list[str] = []
    at = 0
    changed = [(piece, new) for piece in codec(text) if (new := rewrite(piece)) != piece.value]
    for piece, new in sorted(changed, key=lambda each: each[0].start):
        if piece.start >= at:  # what lies in a piece that was rewritten was rewritten with it
            parts += (text[at : piece.start], piece.spell(new))
            at = piece.end
    return "".join((*parts, text[at:])) if parts else text


def json_pieces(text: str) -> Iterator[Piece]:
    """Objects and lists of JSON amid other text."""
    at = 0
    for _ in range(_MAX_TRIES):
        found = _OPENING.search(text, at)
        if found is None:
            return
        start = found.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        original = text[start:end]
        yield Piece(start, end, value, partial(_json, old=value, like=original))
        at = end


def escape_pieces(text: str) -> Iterator[Piece]:
    """Stretches with the escapes of JSON strings, such as a log's ``{\\"a\\": \\"\\u5f20\\"}``."""
    for match in _SEGMENT.finditer(text):
        if "\\" in match[0] and _ESCAPE.search(match[0]):
            decoded = _ESCAPE.sub(_unescape, match[0])
            if decoded.isascii() or not any("\ud800" <= char <= "\udfff" for char in decoded):
                yield Piece(*match.span(), decoded, partial(_escape, ascii_only=match[0].isascii()))


def percent_pieces(text: str) -> Iterator[Piece]:
    """Parts of URLs and forms that hold percent-encoding."""
    if "%" not in text or not _ENCODED.search(text):
        if "+" in text and "=" in text:  # a form's values: spaces are plus signs
            for match in _PLUS.finditer(text):
                yield Piece(*match.span(), unquote_plus(match[0]), partial(percent_encoded, like=match[0]))
        return
    for match in _PERCENT.finditer(text):
        piece = match[0]
        if _ENCODED.search(piece) or ("+" in piece and text[match.start() - 1 : match.start()] in ("=", "?", "&")):
            decoded = unquote_plus(piece) if "+" in piece else unquote(piece)
            yield Piece(*match.span(), decoded, partial(percent_encoded, like=piece))


def entity_pieces(text: str) -> Iterator[Piece]:
    """Text of HTML or XML that holds entities."""
    for match in _MARKUP.finditer(text):
        if _ENTITY.search(match[0]):
            decoded = _ENTITY.sub(lambda entity: html.unescape(entity[0]), match[0])
            yield Piece(*match.span(), decoded, partial(_entities, like=match[0]))


def blob_pieces(text: str) -> Iterator[Piece]:
    """Base64 and hex that hold text."""
    at = 0
    while (match := _next_run(text, at)) is not None:
        yield from _blobs(match[1], match.start(1))
        at = match.end()


def byte_pieces(text: str) -> Iterator[Piece]:
    """Stretches that are spelled by the codes of bytes or characters (see `byte_escapes`)."""
    taken = bytearray(len(text))
    for form in FORMS:
        if form.sign.search(text) is None:
            continue
        for match in form.segment.finditer(text):
            start, end = match.span()
            if 1 in taken[start:end]:
                continue
            decoded = form.decode(match[0])
            if decoded != match[0]:
                yield Piece(start, end, decoded, form.encode)
                taken[start:end] = b"\1" * (end - start)


CODECS: tuple[Codec, ...] = (json_pieces, escape_pieces, byte_pieces, percent_pieces, entity_pieces, blob_pieces)
"""All codecs whose pieces have no key, in the order of use."""


def _blobs(run: str, offset: int) -> Iterator[Piece]:
    as_hex = _HEX.fullmatch(run)
    if as_hex is not None and may_hold_text(bytes.fromhex(as_hex[1][:_HEX_HEAD])):
        blob = blob_of(bytes.fromhex(as_hex[1]))
        if blob is not None:
            start = offset + as_hex.start(1)
            yield Piece(start, offset + len(run), blob.value, partial(_as_hex, blob=blob, like=as_hex[1]))
            return
    blob = _decoded(run)
    if blob is not None:
        yield Piece(offset, offset + len(run), blob.value, partial(_as_base64, blob=blob, like=run))
        return
    if run.rstrip("=").isalnum():
        return
    for form in _INNER:  # a path, or a name with a blob behind it
        if form.fullmatch(run) is None:
            for match in form.finditer(run):
                yield from _blobs(match[0], offset + match.start())
            return


def _decoded(run: str) -> Blob | None:
    if not may_hold_text(a2b_base64(run[:_HEAD].translate(_STANDARD))):
        return None
    compact = run.translate(_STANDARD)
    if len(compact) % 4 == 1:
        return None
    return blob_of(a2b_base64(compact + "=" * (-len(compact) % 4)))


def _as_hex(new: Any, blob: Blob, like: str) -> str:
    data = blob.pack(new)
    return data.hex().upper() if like.isupper() else data.hex()


def _as_base64(new: Any, blob: Blob, like: str) -> str:
    text = base64.b64encode(blob.pack(new)).decode()
    if "-" in like or "_" in like:
        text = text.replace("+", "-").replace("/", "_")
    if not like.endswith("=") and len(re.sub(r"\s", "", like)) % 4:
        text = text.rstrip("=")
    width = like.find("\n")
    if width > 0:
        sign = "\r\n" if like[width - 1] == "\r" else "\n"
        width -= sign == "\r\n"
        text = sign.join(text[at : at + width] for at in range(0, len(text), width))
    return text + ("\n" if like.endswith("\n") else "")


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return str(json.loads(f'"{match[1]}"'))
    return _SIGNS.get(match[2], match[2])


def _json(new: Any, old: Any, like: str) -> str:
    return serialize_like(new, old, like)


def _escape(new: Any, ascii_only: bool) -> str:
    return json.dumps(str(new), ensure_ascii=ascii_only)[1:-1]


def percent_encoded(new: Any, like: str) -> str:
    """`new` with percent-encoding, in the style of `like`."""
    kept = "".join(char for char in ":@,!$()*~" if char in like)
    encode = quote_plus if "+" in like else quote
    if like.isascii():
        return encode(str(new), safe=kept)
    return "".join(encode(char, safe=kept) if char.isascii() else char for char in str(new))


def _entities(new: Any, like: str) -> str:
    text = html.escape(str(new), quote="&quot;" in like or "&#x27;" in like)
    return text.encode("ascii", "xmlcharrefreplace").decode() if like.isascii() else text
