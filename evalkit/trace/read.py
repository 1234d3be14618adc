"""Traces from anywhere: a file, a folder, standard input; compressed or not; in any registered format.

The format is judged by content. A file that no format reads is refused with what was seen in it, never skipped.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import orjson

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport, Source, TraceFormat
from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.json_input import BOM, parse_json
from evalkit.trace.model import Trace
from evalkit.trace.sound import sound
from evalkit.trace.visible import visible

__all__ = ["load_traces"]

_HEAD_BYTES = 64 * 1024
_MAX_DOCUMENT_BYTES = 2 * 1024**3
_MAX_LINE_BYTES = 256 * 1024**2
_MAX_RATIO = 100
_FREE_BYTES = 64 * 1024**2
"""So much may be unpacked from however little."""
_GZIP_MAGIC = b"\x1f\x8b"


def load_traces(source: str | Path, *, format: str | None = None, report: ReadReport | None = None) -> Iterator[Trace]:
    """The traces in `source`, one at a time.

    Args:
        source: a file, a folder (all its files, in the order of their names; symbolic links and hidden files are
            passed over and counted), or ``-`` for standard input. Gzip is unpacked.
        format: the name of the format; None finds it out from the content.
        report: is filled with what was read and what was passed over.

    Raises:
        UnreadableTrace: nothing is there, no format reads a file, or a file breaks its format's rules.
        IntegrityError: a hash in a file does not hold.
        ConfigError: no format is called `format`.
    """
    chosen = None if format is None else FORMATS.get(format)
    report = ReadReport() if report is None else report
    for found, content in _sources(source, chosen, report):
        reader = chosen or _detected(found, content)
        for trace in reader.read(found, report):
            yield sound(trace, found.where, report)


def _sources(source: str | Path, chosen: TraceFormat | None, report: ReadReport) -> Iterator[tuple[Source, _Content]]:
    if source == "-":
        yield _open("-", None, io.BytesIO(_read_all(sys.stdin.buffer, "-")))
        return
    path = Path(source)
    if path.is_dir():
        count = 0
        for item in _in_folder(path, chosen, report):
            count += 1
            yield item
        if not count:
            raise UnreadableTrace("no file is in the folder", str(path), "pass the folder that holds the traces")
    else:
        yield _open(str(path), path)


def _in_folder(folder: Path, chosen: TraceFormat | None, report: ReadReport) -> Iterator[tuple[Source, _Content]]:
    bundle = _bundle(folder)
    formats = [chosen] if chosen else [each for _, each in FORMATS.items()]
    if any(each.detect(bundle[0]) for each in formats):
        yield bundle
        return
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            report.skipped["symbolic link: not followed"] += 1
        elif path.name.startswith("."):
            report.skipped["hidden file: not read"] += 1
        elif path.is_dir():
            yield from _in_folder(path, chosen, report)
        elif path.is_file():
            yield _open(str(path), path)
        else:
            report.skipped["special file: not read"] += 1


class _Content:
    """The bytes of one file, unpacked on the way, and its JSON document, parsed at most once."""

    def __init__(self, where: str, opened: Callable[[], IO[bytes]]) -> None:
        self.where = where
        self.problem: UnreadableTrace | None = None
        self._opened = opened
        self._document: Json = None
        self._parsed = False
        with _readable(where), self._stream() as stream:
            self.head = stream.read(_HEAD_BYTES).removeprefix(BOM)

    def data(self) -> bytes:
        with _readable(self.where), self._stream() as stream:
            return _read_all(stream, self.where)

    def lines(self) -> Iterator[bytes]:
        with _readable(self.where), self._stream() as stream:
            first = True
            while line := stream.readline(_MAX_LINE_BYTES + 1):
                if len(line) > _MAX_LINE_BYTES:
                    raise UnreadableTrace(
                        f"a line is longer than {_MAX_LINE_BYTES} bytes", self.where, "split the file"
                    )
                yield line.removeprefix(BOM) if first else line
                first = False

    def document(self) -> Json:
        if not self._parsed:
            self._parsed = True
            if not _is_json_lines(self.head):
                try:
                    self._document = parse_json(self.data(), self.where)
                except UnreadableTrace as problem:
                    self.problem = problem
        return self._document

    @contextmanager
    def _stream(self) -> Iterator[IO[bytes]]:
        with self._opened() as raw:
            packed = raw.read(2) == _GZIP_MAGIC
            size = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            if not packed:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast("IO[bytes]", _Bounded(unpacked, max(_FREE_BYTES, size * _MAX_RATIO), self.where))


class _Bounded:
    """A packed stream that ends with an error where it gives more than real data would: a few bytes may hold a disk.

    Args:
        limit: bytes that may come out.
    """

    def __init__(self, stream: gzip.GzipFile, limit: int, where: str) -> None:
        self._stream = stream
        self._left = limit
        self._limit = limit
        self._where = where

    def read(self, size: int) -> bytes:
        return self._counted(self._stream.read(min(size, self._left + 1)))

    def readline(self, size: int) -> bytes:
        return self._counted(self._stream.readline(min(size, self._left + 1)))

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            what = f"the packed file unpacks to more than {self._limit} bytes, over {_MAX_RATIO} times its size"
            raise UnreadableTrace(what, self._where, "unpack it yourself, and pass what is inside")
        return data


def _open(where: str, path: Path | None, kept: io.BytesIO | None = None) -> tuple[Source, _Content]:
    def opened() -> IO[bytes]:
        return io.BytesIO(kept.getbuffer()) if kept is not None else cast(Path, path).open("rb")

    content = _Content(where, opened)
    return Source(where, path, content.head, content.data, content.lines, content.document), content


def _bundle(folder: Path) -> tuple[Source, _Content]:
    content = _Content(str(folder), io.BytesIO)
    return Source(str(folder), folder, b"", content.data, content.lines, lambda: None), content


def _detected(source: Source, content: _Content) -> TraceFormat:
    fitting = {name: each for name, each in FORMATS.items() if each.detect(source)}
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    if fitting:
        names = ", ".join(fitting)
        raise UnreadableTrace(
            f"{len(fitting)} formats claim it ({names}), wanted exactly one: a bug in one of them",
            source.where,
            f"pass --format with one of: {names}",
        )
    seen = visible(source.head[:60].decode("utf-8", "backslashreplace")) if source.head else "nothing (it is empty)"
    broken = f"; as one JSON document: {content.problem.what}" if content.problem and source.head else ""
    raise UnreadableTrace(
        f"no format reads it. It starts with: {seen}{broken}. Tried: {', '.join(FORMATS.names())}",
        source.where,
        "pass --format NAME if it is one of these, or convert it",
    )


def _is_json_lines(head: bytes) -> bool:
    """Whether the first line is a whole JSON object and another follows: so that a long file isn't read to see it."""
    first, _, rest = head.partition(b"\n")
    if not rest.strip() or not first.lstrip().startswith(b"{"):
        return False
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError:
        return False
    return True


def _read_all(stream: IO[bytes], where: str) -> bytes:
    data = stream.read(_MAX_DOCUMENT_BYTES + 1)
    if len(data) > _MAX_DOCUMENT_BYTES:
        raise UnreadableTrace(f"larger than {_MAX_DOCUMENT_BYTES} bytes (unpacked)", where, "split the file")
    return data


@contextmanager
def _readable(where: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UnreadableTrace("no such file or folder", where, "check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableTrace(f"the gzip data is damaged or cut off: {error}", where, "copy the file again") from None
    except OSError as error:
        raise UnreadableTrace(f"can't be read: {error.strerror or error}", where, "check the path and rights") from None
