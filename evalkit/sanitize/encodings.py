"""What a text looks like in the usual encodings, as bytes: for the last look over what is written."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

__all__ = ["encodings"]

_MIN_BASE64_BYTES = 8
_PLAIN_IN_JSON = re.compile(r"[ !#-\[\]-~]*")
_PLAIN_IN_URL = re.compile(r"[A-Za-z0-9_.~-]*")
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class _Escapes(dict[str, str]):
    """The JSON escape of each character, as far as it was asked for."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form = form

    def __missing__(self, char: str) -> str:
        made = self[char] = self._form % ord(char) if char <= "\uffff" else ""
        return made


_LOWER, _UPPER = _Escapes("\\u%04x"), _Escapes("\\u%04X")


def encodings(text: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of `text` in hex, UTF-16, JSON escapes, percent-encoding and base64 at its three offsets.

    What equals the plain text is left out.
    """
    plain = text.encode()
    digits = plain.hex()
    yield from (("hex", digits.encode()), ("hex", digits.upper().encode()))
    yield from (("UTF-16", text.encode("utf-16-le")), ("UTF-16", text.encode("utf-16-be")))
    for name, variant in _escaped(text):
        if variant != text:
            yield name, variant.encode()
    if len(plain) >= _MIN_BASE64_BYTES:
        for offset in range(3):
            core = _base64_core(plain, offset)
            yield "base64", core
            if b"+" in core or b"/" in core:
                yield "base64", core.translate(_URL_SAFE)


def _escaped(text: str) -> Iterator[tuple[str, str]]:
    yield "JSON escapes", "".join(map(_LOWER.__getitem__, text))
    yield "JSON escapes", "".join(map(_UPPER.__getitem__, text))
    if _PLAIN_IN_JSON.fullmatch(text) is None:
        escaped = json.dumps(text)[1:-1]
        yield "JSON escapes", escaped
        yield "JSON escapes", _upper_hex(escaped)
        yield "JSON escapes twice", json.dumps(escaped)[1:-1]
    if _PLAIN_IN_URL.fullmatch(text) is None:
        percent = quote(text, safe="")
        yield "percent-encoding", percent
        yield "percent-encoding", _lower_hex(percent)
        yield "percent-encoding", quote_plus(text, safe="")
        yield "percent-encoding twice", quote(percent, safe="")


def _upper_hex(escaped: str) -> str:
    return re.sub(r"\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), escaped)


def _lower_hex(percent: str) -> str:
    parts = percent.split("%")
    return "%".join((parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])))


def _base64_core(plain: bytes, offset: int) -> bytes:
    """The characters that base64 has for `plain` wherever it starts `offset` bytes after a multiple of three."""
    text = base64.b64encode(b"\0" * offset + plain)
    start = -(-offset * 8 // 6)
    return text[start : (offset + len(plain)) * 8 // 6]
