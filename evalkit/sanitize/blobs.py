"""Bytes that hold text, and text put back into such bytes: UTF-8, UTF-16, gzip, zlib, zip.

For base64 and hex in traces: a log that was compressed, a shell command in UTF-16, an attached archive.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

__all__ = ["MAX_UNPACKED", "Blob", "blob_of", "may_hold_text"]

MAX_UNPACKED = 4 * 2**20
"""Bytes that one blob may unpack to; a larger one is not looked into."""

_MAX_MEMBERS = 64
_NO_TEXT = re.compile(r"[^\t\n\r -~\u00a0-\ud7ff\uf900-\ufffd\U00010000-\U0010ffff]")
_TEXT_16 = re.compile(r"[\t\n\r -~\u00a0-\u024f\u2010-\u2027\u3000-\u30ff\u3400-\u9fff\uff01-\uff5e]+")


_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\r") + b"\x7f"
_PACKED = (b"\x1f\x8b", b"\x78", b"PK")
_HIGH = bytes((0, 1, 2, 0x20, 0x30, *range(0x34, 0xA0), 0xFE, 0xFF))
"""The upper bytes of UTF-16 of which `_TEXT_16` takes characters, and those of a byte order mark."""


class Blob(NamedTuple):
    """What bytes hold.

    Attributes:
        value: a text; for a zip a list of ``[name, text]``, the text None where a member holds none.
        pack: the bytes of a changed value, packed in the same way.
    """

    value: Any
    pack: Callable[[Any], bytes]


def may_hold_text(head: bytes) -> bool:
    """Whether `blob_of` may find something in bytes that begin with `head`: no control sign in it, or it is packed."""
    if len(head.translate(None, _CONTROL)) == len(head) or head.startswith(_PACKED):
        return True
    return not (head[1::2].translate(None, _HIGH) and head[::2].translate(None, _HIGH))


def blob_of(data: bytes) -> Blob | None:
    """The text in `data`; None when it holds none, or too much of it."""
    if data[:2] == b"\x1f\x8b":
        return _compressed(data, 31, lambda raw: gzip.compress(raw, mtime=0))
    if data[:1] == b"\x78" and data[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
        return _compressed(data, 15, zlib.compress) or _text(data)
    if data[:4] == b"PK\x03\x04":
        return _zip(data)
    return _text(data)


def _text(data: bytes) -> Blob | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _utf_16(data)
    if _NO_TEXT.search(text) is None:
        return Blob(text, lambda new: str(new).encode())
    return _utf_16(data)


def _utf_16(data: bytes) -> Blob | None:
    if len(data) % 2 or len(data) < 8:
        return None
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if _TEXT_16.fullmatch(text.removeprefix("\ufeff")):
            return Blob(text, partial(_encode, encoding=encoding))
    return None


def _encode(new: Any, encoding: str) -> bytes:
    return str(new).encode(encoding)


def _compressed(data: bytes, form: int, compress: Callable[[bytes], bytes]) -> Blob | None:
    unpacker = zlib.decompressobj(form)
    try:
        raw = unpacker.decompress(data, MAX_UNPACKED)
    except zlib.error:
        return None
    inner = None if unpacker.unconsumed_tail else blob_of(raw)
    return None if inner is None else Blob(inner.value, lambda new: compress(inner.pack(new)))


def _zip(data: bytes) -> Blob | None:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            infos = archive.infolist()
            if len(infos) > _MAX_MEMBERS or sum(info.file_size for info in infos) > MAX_UNPACKED:
                return None
            raws = [archive.read(info) for info in infos]
    except (zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, NotImplementedError, OSError, EOFError):
        return None
    inners = [_text(raw) for raw in raws]
    value = [[info.filename, None if one is None else one.value] for info, one in zip(infos, inners, strict=True)]

    def pack(new: Any) -> bytes:
        sink = BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as made:
            for (name, text), raw, inner, info in zip(new, raws, inners, infos, strict=True):
                entry = zipfile.ZipInfo(str(name), info.date_time)
                made.writestr(entry, raw if inner is None else inner.pack(text), zipfile.ZIP_DEFLATED)
        return sink.getvalue()

    return Blob(value, pack)
