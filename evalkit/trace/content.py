"""The bytes of one file: read within limits, unpacked on the way, and parsed at most once.

Traces are hostile data, so what a file unpacks to is bounded while it is read, whatever its own headers say.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Protocol, cast

import orjson

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.json_input import BOM, may_be_json, parse_json

__all__ = ["MAX_DOCUMENT_BYTES", "MAX_RATIO", "RATIO_COUNTS_FROM", "Content", "read_all", "readable"]

MAX_DOCUMENT_BYTES = 2 * 1024**3
MAX_RATIO = 200
"""How many times its stored size a file may unpack to. JSON packs to a tenth or so; deflate's limit is 1032."""
RATIO_COUNTS_FROM = 16 * 1024**2
"""Up to this many unpacked bytes the ratio does not matter: nobody is harmed by them."""

_HEAD_BYTES = 64 * 1024
_MAX_LINE_BYTES = 256 * 1024**2
_CHUNK_BYTES = 1024**2
_FIRST_LINE_BYTES = 8 * 1024**2
_NOT_IN_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_GZIP_MAGIC = b"\x1f\x8b"


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


class Content:
    """One file's content.

    Args:
        where: for messages.
        opened: gives a fresh, seekable stream of the file as it is stored.
        packed_bytes: how large the file is as it is stored (in an archive: packed).

    Attributes:
        head: the first 64 KiB, unpacked.
        gzipped: whether the file is stored as gzip.
        problem: why `document` is None, when the content looked like JSON.

    Raises:
        UnreadableTrace: the file can't be read.
    """

    def __init__(self, where: str, opened: Callable[[], IO[bytes]], packed_bytes: int) -> None:
        self.where = where
        self.problem: UnreadableTrace | None = None
        self.opened = opened
        self.packed_bytes = packed_bytes
        self.gzipped = False
        self._document: Json = None
        self._parsed = False
        with readable(where), self.unpacked() as stream:
            self.head = stream.read(_HEAD_BYTES).removeprefix(BOM)

    def data(self) -> bytes:
        """The whole content."""
        with readable(self.where), self.unpacked() as stream:
            return read_all(stream, self.where)

    def lines(self) -> Iterator[bytes]:
        """The content line by line."""
        with readable(self.where), self.unpacked() as stream:
            first = True
            while line := stream.readline(_MAX_LINE_BYTES + 1):
                if len(line) > _MAX_LINE_BYTES:
                    raise UnreadableTrace(
                        f"a line is longer than {_MAX_LINE_BYTES} bytes", self.where, "split the file"
                    )
                yield line.removeprefix(BOM) if first else line
                first = False

    def blocks(self) -> Iterator[bytes]:
        """The content block by block."""
        with readable(self.where), self.unpacked() as stream:
            block = stream.read(_CHUNK_BYTES).removeprefix(BOM)
            while block:
                yield block
                block = stream.read(_CHUNK_BYTES)

    def document(self) -> Json:
        """The content as one JSON document; None when it is none."""
        if not self._parsed:
            self._parsed = True
            if self.head and not _is_binary(self.head) and not self._is_json_lines():
                try:
                    # where it is none, the head shows why, however much follows
                    whole = self.data() if may_be_json(self.head) else BOM + self.head  # one mark is taken off
                    self._document = parse_json(whole, self.where)
                except UnreadableTrace as problem:
                    self.problem = problem
        return self._document

    def _is_json_lines(self) -> bool:
        """Whether the first line is a whole JSON object and more follows: so that a long file isn't read to see it."""
        if not self.head.lstrip().startswith(b"{"):
            return False
        with readable(self.where), self.unpacked() as stream:
            first = stream.readline(_FIRST_LINE_BYTES).removeprefix(BOM)
            if not first.endswith(b"\n") or not stream.read(_HEAD_BYTES).strip():
                return False
        try:
            orjson.loads(first)
        except orjson.JSONDecodeError:
            return False
        return True

    @contextmanager
    def unpacked(self) -> Iterator[_Stream]:
        """A stream of the content, gzip unpacked, that stops at a decompression bomb."""
        with self.opened() as raw:
            self.gzipped = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            if not self.gzipped:
                yield _Bounded(raw, self.where, self.packed_bytes)
                return
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield _Bounded(cast("IO[bytes]", unpacked), self.where, self.packed_bytes)


class _Bounded:
    """A stream that refuses to give far more than the file is large."""

    def __init__(self, inner: IO[bytes], where: str, packed_bytes: int) -> None:
        self._inner = inner
        self._where = where
        self._left = max(MAX_RATIO * packed_bytes, RATIO_COUNTS_FROM)

    def read(self, size: int, /) -> bytes:
        return self._counted(self._inner.read(min(size, self._left + 1)))

    def readline(self, size: int, /) -> bytes:
        return self._counted(self._inner.readline(min(size, self._left + 1)))

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise UnreadableTrace(
                f"it unpacks to more than {MAX_RATIO} times its size, as a decompression bomb does",
                self._where,
                "unpack it yourself, and pass the file",
            )
        return data


def _is_binary(head: bytes) -> bool:
    """Whether this is no text, so that a long file isn't read to see it."""
    return _NOT_IN_TEXT.search(head) is not None and not head.lstrip().startswith((b"{", b"["))


def read_all(stream: _Stream, where: str) -> bytes:
    """All that a stream holds.

    Raises:
        UnreadableTrace: it is larger than any trace may be.
    """
    whole = io.BytesIO()
    while chunk := stream.read(_CHUNK_BYTES):
        whole.write(chunk)
        if whole.tell() > MAX_DOCUMENT_BYTES:
            raise UnreadableTrace(f"larger than {MAX_DOCUMENT_BYTES} bytes (unpacked)", where, "split the file")
    return whole.getvalue()


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Turns what reading a damaged file raises into `UnreadableTrace`."""
    try:
        yield
    except FileNotFoundError:
        raise UnreadableTrace("no such file or folder", where, "check the path") from None
    except NotImplementedError as error:
        raise UnreadableTrace(f"packed in a way that can't be read: {error}", where, "pack it with deflate") from None
    except zipfile.BadZipFile as error:
        raise UnreadableTrace(f"the zip data is damaged: {error}", where, "copy the file again") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise UnreadableTrace(f"the packed data is damaged or cut off: {error}", where, "copy it again") from None
    except OSError as error:
        raise UnreadableTrace(f"can't be read: {error.strerror or error}", where, "check the path and rights") from None
