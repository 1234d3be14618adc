"""Case files, many at a time: every step of reading is taken for all of them before the next one.

In turns, each step drives the others' code out of the processor's caches, and one case after the other takes a third
longer.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.canonical import parse_exact
from evalkit.case.header import case_from_header, header_digest, refuse_strange_format
from evalkit.case.model import Case
from evalkit.case.pointer import refuse_pointer
from evalkit.case.rows import STEP_SCHEMA, Chain, steps_from_rows
from evalkit.errors import InputError, IntegrityError

__all__ = ["METADATA_KEY", "read_files"]

METADATA_KEY = b"evalkit.case"
_MAX_ROWS = 1_000_000
_MAX_BYTES = 1024**3
_LITTLE_BYTES = 16 * 1024**2
_ROW = pa.struct([field.with_type(pa.int64()) if pa.types.is_timestamp(field.type) else field for field in STEP_SCHEMA])
"""A row with its times in microseconds; Arrow's compute functions would take 30 ms to load."""
_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED"})
"""In none of them is a value shorter than it is (the last two are of flags and levels)."""


def read_files(places: Iterable[str], *, strict: bool = False) -> list[tuple[Case, str]]:
    """The cases in some files with their digests, in order. The files are in memory at once.

    Args:
        strict: a small file, too, is refused where another program wrote it.

    Raises:
        InputError: there is no such file, or it is no case.
        IntegrityError: header or rows were changed after writing.
    """
    readings = [_Reading(where, strict) for where in places]
    for step in (_Reading.open, _Reading.unpack, _Reading.take_rows, _Reading.check, _Reading.make_case):
        for reading in readings:
            step(reading)
    return [(reading.case, reading.header["digest"]) for reading in readings]


class _Reading:
    """A case that is being read. Each method is a step, and raises what `read_files` does."""

    file: pq.ParquetFile
    table: pa.Table
    header: dict[str, Any]
    rows: list[dict[str, Any]]
    case: Case

    def __init__(self, where: str, strict: bool) -> None:
        self._where = where
        self._strict = strict

    def open(self) -> None:
        """Open a file of which all may be unpacked."""
        where = self._where
        with _as_parquet(where):
            self.file = file = pq.ParquetFile(_source(where), pre_buffer=False)
            if file.metadata.num_rows > _MAX_ROWS:
                raise InputError(
                    f"{file.metadata.num_rows} rows are more than a case can have", where, "check the file"
                )
            if self._strict or not _is_little(file.metadata):
                _refuse_strange(file, where)

    def unpack(self) -> None:
        """Let Arrow read it."""
        with _as_parquet(self._where):
            self.table = self.file.read(use_threads=False)  # small files: threads cost more than they save
        del self.file

    def take_rows(self) -> None:
        """Take header and rows over from Arrow."""
        table, where = self.table, self._where
        text = _header_text(table.schema, where)
        try:
            header = parse_exact(text)
        except ValueError:
            header = None
        if not isinstance(header, dict):
            raise IntegrityError("the header is no JSON object", where, "restore the file from version control")
        self.header, self.rows = header, []
        for batch in table.to_batches():
            self.rows += batch.to_struct_array().view(_ROW).to_pylist()
        del self.table

    def check(self) -> None:
        """See whether they are as they were written."""
        header, where = self.header, self._where
        refuse_strange_format(header, where)
        chain = Chain(whole=header.get("format") == 1)
        for row in self.rows:
            if chain.next(row) != row["hash"]:
                raise IntegrityError(f"row {row['seq']} was changed after writing", where, "restore the file")
        if chain.last != header.get("steps_hash") or header.get("digest") != header_digest(header):
            raise IntegrityError("the header was changed after writing", where, "restore the file from version control")

    def make_case(self) -> None:
        """Make the case of them."""
        try:
            steps = steps_from_rows(self.rows)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = f"a row is no step ({type(error).__name__}: {error})"
            raise InputError(what, self._where, "restore the file") from None
        self.case = case_from_header(self.header, steps, self._where)


@contextlib.contextmanager
def _as_parquet(where: str) -> Iterator[None]:
    """Tells what keeps a file from being read as Parquet."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("there is no such file", where, "evalkit list") from None
    except (pa.ArrowException, OSError) as error:
        refuse_pointer(where)
        raise InputError(f"not readable as Parquet: {error}", where, "restore the file from version control") from None


def _source(where: str) -> pa.NativeFile:
    """A file to read from: a small one whole, since each column would be a reading of its own."""
    with open(where, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size <= _LITTLE_BYTES:
            return pa.BufferReader(file.read())
    return pa.OSFile(where)


def _is_little(metadata: pq.FileMetaData) -> bool:
    """Whether all that a file holds would be little even with each of its values in every row."""
    size = sum(metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups))
    return bool(size * metadata.num_rows <= _LITTLE_BYTES)


def _refuse_strange(file: pq.ParquetFile, where: str) -> None:
    """Refuse, before anything is unpacked, what `write_case` never writes: a few bytes may stand for gigabytes."""
    _header_text(file.schema_arrow, where)
    groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
    columns = [group.column(at) for group in groups for at in range(group.num_columns)]
    if any(column.has_dictionary_page or not _ENCODINGS.issuperset(column.encodings) for column in columns):
        raise IntegrityError(
            "another program wrote it: its columns are dictionaries", where, "restore the file from version control"
        )
    size = sum(column.total_uncompressed_size for column in columns)
    if size > _MAX_BYTES:
        raise InputError(f"{size} bytes unpacked are more than a case can have", where, "check the file")


def _header_text(schema: pa.Schema, where: str) -> bytes:
    """What the schema of a case's table holds as the header; any other is refused."""
    text: bytes | None = (schema.metadata or {}).get(METADATA_KEY)
    if text is None or not schema.equals(STEP_SCHEMA):
        raise InputError("a Parquet file, but no case", where, "pass a file that `evalkit ingest` wrote")
    return text
