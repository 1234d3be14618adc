"""Texts that bytes hold, for the last look: UTF-8, UTF-16, gzip, zlib, zip, within a budget.

Written apart from `blobs`, which puts what it took out back again: here reading may be crude and must miss little.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator

from evalkit.errors import SanitizationFailed

__all__ = ["APART", "INVISIBLE", "Budget", "texts_in"]

_SHORTEST = 5
INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
"""Characters that are not seen, as a class of a pattern has them."""
_STRANGE = re.compile(
    f"[^{INVISIBLE}\t\n\r -~\u00a0-\u024f\u2010-\u2027\u2460-\u24ff\u3000-\u30ff\u3400-\u9fff\uff01-\uff5e"
    "\U0001d400-\U0001d7ff]"
)
_MAX_STRANGE = 0.2
_MIN_KEPT = 0.8
_HIGH_BYTES = bytes((0x00, 0x01, 0x02, 0x20, 0x24, 0x30, *range(0x34, 0xA0), 0xD8, *range(0xDC, 0xE0), 0xFF))
"""The upper bytes of UTF-16 for Latin and Chinese letters and signs, and for those of mathematics."""
_GZIP, _ZLIB, _ZIP = b"\x1f\x8b", b"\x78", b"PK\x03\x04"
_FIRST = frozenset((_GZIP[0], _ZLIB[0], _ZIP[0]))
APART, _SAME = b"\x06", bytes.maketrans(b"\x06", b"\x07")
"""Stands between bytes that are looked at together; where it is in them, another that is as strange stands for it."""


class Budget:
    """How much may still be decoded.

    Args:
        characters: of all views together.

    Attributes:
        runs: base64 and hex that was decoded already.
    """

    def __init__(self, characters: int = 256 * 2**20) -> None:
        self._left = characters
        self.runs: set[bytes] = set()

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


def texts_in(blobs: Iterable[bytes], budget: Budget, where: str) -> Iterator[str]:
    """The texts that some bytes may be; what is mostly strange characters is none.

    Most bytes are no text in any way, which is told of all of them at once.

    Raises:
        SanitizationFailed: the budget is used up.
    """
    some = [blob for blob in blobs if len(blob) >= _SHORTEST]
    if not some:
        return
    plain = [blob.translate(_SAME) for blob in some]
    texts = APART.join(plain).decode("utf-8", "ignore").encode().split(APART)
    pairs = (APART * 2).join([blob[: len(blob) // 2 * 2] for blob in plain])
    little, big = (pairs[first::2].translate(None, _HIGH_BYTES).split(APART) for first in (1, 0))
    for blob, text, low, high in zip(some, texts, little, big, strict=True):
        size = len(blob)
        strange = _MAX_STRANGE * ((size + 1) // 2)
        if len(text) > _MIN_KEPT * size:
            yield from _mostly_text(text.decode())
        if len(low) < strange:
            yield from _mostly_text(blob[: size // 2 * 2].decode("utf-16-le", "replace"))
        if len(high) < strange:
            yield from _mostly_text(blob[: size // 2 * 2].decode("utf-16-be", "replace"))
        if blob[0] in _FIRST:
            yield from _opened(blob, budget, where)


def _opened(data: bytes, budget: Budget, where: str) -> Iterator[str]:
    if data.startswith(_GZIP):
        yield from _inflated(data, 31, budget, where)
    elif data.startswith(_ZLIB):
        yield from _inflated(data, 15, budget, where)
    elif data.startswith(_ZIP):
        yield from _members(data, budget, where)


def _mostly_text(text: str) -> Iterator[str]:
    if len(_STRANGE.findall(text)) <= _MAX_STRANGE * len(text):
        yield text


def _inflated(data: bytes, form: int, budget: Budget, where: str) -> Iterator[str]:
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
    yield from texts_in((b"".join(parts),), budget, where)


def _members(data: bytes, budget: Budget, where: str) -> Iterator[str]:
    """The members of a zip by their local headers, so that a torn archive is looked into as well (APPNOTE 4.3.7)."""
    for found in re.finditer(_ZIP, data):
        at = found.start()
        sizes = data[at + 26 : at + 30]
        if len(sizes) < 4:
            return
        start = at + 30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little")
        yield data[at + 30 : start].decode("utf-8", "replace")
        if data[at + 8] == 8:
            yield from _inflated(data[start:], -15, budget, where)
        else:  # what is behind it is no text; its size may be given wrongly, or behind it
            size = int.from_bytes(data[at + 18 : at + 22], "little")
            yield from texts_in((data[start : start + size], data[start:]), budget, where)
