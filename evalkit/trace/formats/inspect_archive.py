"""``.eval`` files: a zip of a log's header and its samples, read one sample at a time.

``samples/<id>_epoch_<n>.json`` is a whole sample; a large one is in pieces under ``samples/<id>_epoch_<n>/``: a shell
``sample.json`` and the sequences ``messages/``, ``events/`` and ``attachments/`` in chunks named by the index of their
first item. A log that was still running has ``_journal/start.json`` instead of ``header.json``. Older versions deflate
the entries; newer ones compress them with Zstandard (method 93), which `zipfile` reads from Python 3.14 on.
Source: https://github.com/UKGovernmentBEIS/inspect_ai (``log/_recorders/eval.py``, ``.../chunked/format.py``).
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of
from evalkit.trace.formats.protocol import Source
from evalkit.trace.json_input import parse_json, without_constants

__all__ = ["Archive", "inspect_json", "is_archive", "opened"]

_MAGIC = b"PK\x03\x04"
_HEADERS = ("header.json", "_journal/start.json")
_ZSTANDARD = 93
_MAX_ENTRY_BYTES = 2 * 1024**3
_WHOLE = re.compile(r"samples/.*_epoch_\d+\.json", re.DOTALL)
_SHELL = re.compile(r"(samples/.*_epoch_\d+)/sample\.json", re.DOTALL)
_LOCAL_HEADER = struct.Struct("<26xHH")
_SEQUENCES = ("messages", "events", "attachments")


def is_archive(source: Source) -> bool:
    """Whether it is a zip with a log's header or its samples. It raises nothing."""
    if not source.head.startswith(_MAGIC):
        return False
    try:
        with opened(source) as archive:
            return archive.is_log
    except UnreadableTrace:
        return False


def inspect_json(data: bytes, where: str) -> Json:
    """A document that Inspect wrote: it writes NaN and infinity, in scores and metrics, as such.

    Raises:
        UnreadableTrace: it is not JSON apart from these.
    """
    try:
        return parse_json(data, where)
    except UnreadableTrace:
        plain, count = without_constants(data)
        if not count:
            raise
    return parse_json(plain, where)


class Archive:
    """An open ``.eval`` file."""

    def __init__(self, zipped: zipfile.ZipFile, where: str) -> None:
        self._zip = zipped
        self._where = where
        self._names = set(zipped.namelist())

    @property
    def is_log(self) -> bool:
        """Whether a log's header or start stands in it."""
        return "task" in dict_of(self.header().get("eval"))

    def header(self) -> dict[str, Any]:
        """The log without its samples."""
        name = next((name for name in _HEADERS if name in self._names), None)
        return {} if name is None else dict_of(self._json(name))

    def samples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each sample with its place, in the archive's order."""
        for name in dict.fromkeys(self._zip.namelist()):
            if _WHOLE.fullmatch(name):  # a sample's id may hold slashes
                yield f"{self._where}/{name}", dict_of(self._json(name))
            elif shell := _SHELL.fullmatch(name):
                yield f"{self._where}/{name}", self._joined(shell[1], name)

    def _joined(self, prefix: str, shell_name: str) -> dict[str, Any]:
        sample = dict_of(self._json(shell_name))
        found = {each: self._sequence(f"{prefix}/{each}/") for each in _SEQUENCES}
        refs = sample.pop("message_refs", None)
        return {
            **sample,
            "messages": _picked(found["messages"], refs, f"{self._where}/{shell_name}"),
            "events": found["events"],
            "events_data": {"messages": found["messages"]},
            "attachments": {str(at): text for at, text in enumerate(found["attachments"])},
        }

    def _sequence(self, folder: str) -> list[Json]:
        """The items of the chunks in `folder`, in the order of their numbers."""
        chunks = {
            int(number): name
            for name in self._names
            if name.startswith(folder) and (number := name.removeprefix(folder).removesuffix(".json")).isdecimal()
        }
        items: list[Json] = []
        for start in sorted(chunks):
            chunk = self._json(chunks[start])
            if start != len(items) or not isinstance(chunk, list):
                raise UnreadableTrace(f"a chunk is missing before {chunks[start]}", self._where, "copy the file again")
            items += chunk
        return items

    def _json(self, name: str) -> Json:
        return inspect_json(self._bytes(self._zip.getinfo(name)), f"{self._where}/{name}")

    def _bytes(self, entry: zipfile.ZipInfo) -> bytes:
        spot = f"{self._where}/{entry.filename}"
        if entry.file_size > _MAX_ENTRY_BYTES:
            raise UnreadableTrace(f"larger than {_MAX_ENTRY_BYTES} bytes (unpacked)", spot, "export fewer samples")
        if entry.flag_bits & 1:
            raise UnreadableTrace("the entry is encrypted", spot, "unpack it first")
        if entry.compress_type == _ZSTANDARD:
            return _decompressed(self._packed(entry), entry, spot)
        with self._zip.open(entry) as stream:
            return stream.read(_MAX_ENTRY_BYTES)

    def _packed(self, entry: zipfile.ZipInfo) -> bytes:
        """The compressed bytes of an entry: they follow its local header, whose name and extra field come first."""
        file = self._zip.fp
        if file is None:
            raise UnreadableTrace("the archive is closed", self._where, "open it again")
        file.seek(entry.header_offset)
        head = file.read(_LOCAL_HEADER.size)
        if len(head) < _LOCAL_HEADER.size:
            raise zipfile.BadZipFile("cut off")
        name_length, extra_length = _LOCAL_HEADER.unpack(head)
        file.seek(name_length + extra_length, io.SEEK_CUR)
        return file.read(entry.compress_size)


@contextmanager
def opened(source: Source) -> Iterator[Archive]:
    """The archive of a source; it is read from the disk where it lies there.

    Raises:
        UnreadableTrace: it is no zip, or damaged.
    """
    try:
        with zipfile.ZipFile(_file(source)) as zipped:
            yield Archive(zipped, source.where)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, struct.error) as error:
        raise UnreadableTrace(f"the zip is damaged or cut off: {error}", source.where, "copy the file again") from None


def _file(source: Source) -> Any:
    if source.path is not None and source.path.is_file():
        with source.path.open("rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                return source.path
    return io.BytesIO(source.data())


def _picked(pool: list[Json], refs: Any, where: str) -> list[Json]:
    """The messages that half-open ranges name."""
    found: list[Json] = []
    for ref in refs if isinstance(refs, list) else []:
        if not (isinstance(ref, list) and len(ref) == 2 and all(isinstance(each, int) for each in ref)):
            raise UnreadableTrace("message_refs is no list of ranges", where, "export the log again")
        found += pool[max(ref[0], 0) : max(ref[1], 0)]
        if len(found) > len(pool) * 2:
            raise UnreadableTrace("message_refs names messages again and again", where, "export the log again")
    return found


def _decompressed(packed: bytes, entry: zipfile.ZipInfo, where: str) -> bytes:
    import pyarrow  # heavy, and needed for such archives only

    found = bytearray()
    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
            while chunk := stream.read(1 << 20):
                found += chunk
                if len(found) > entry.file_size:
                    raise UnreadableTrace("the entry is larger than it says", where, "copy the file again")
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableTrace(f"the Zstandard data is damaged: {error}", where, "copy the file again") from None
    if zlib.crc32(found) != entry.CRC:
        raise UnreadableTrace("the entry's checksum does not hold", where, "copy the file again")
    return bytes(found)
