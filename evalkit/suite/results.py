"""A finished run's tables: ``samples.parquet``, a row a sample, and ``traces.parquet``, a row a kept replay.

``traces.parquet`` names each replay by the digest that its samples carry, so equal replays are stored once; its column
``trace`` is the JSON of `playback.kept`. Samples that infrastructure spoiled and that were replayed again stand in
``attempts.parquet``, in the form of ``samples.parquet``; it is there only where there were any.

Samples carry the digest of the manifest of their run, so that files of two runs in one folder are told, and Parquet's
checksum of each page.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from evalkit.errors import InputError, IntegrityError
from evalkit.playback.kept import trace_from_json
from evalkit.suite.disk import half_written, on_disk, to_disk
from evalkit.suite.freed import give_back
from evalkit.suite.journal import JOURNAL_NAME, OWN, KeptTrace, encode_batch
from evalkit.suite.manifest import manifest_digest
from evalkit.suite.met import Met
from evalkit.suite.model import Sample
from evalkit.suite.sample_rows import ALIKE, SAMPLE_SCHEMA, samples_of
from evalkit.suite.samples import MANIFEST_KEY, RunSamples, check_run, sound
from evalkit.suite.spread import encoded, inside, spread, texts_in
from evalkit.trace.model import Trace

__all__ = [
    "ATTEMPTS_NAME",
    "SAMPLES_NAME",
    "TRACES_NAME",
    "Tables",
    "is_whole",
    "read_attempts",
    "read_lines",
    "read_samples",
    "read_traces",
    "write_results",
]

SAMPLES_NAME = "samples.parquet"
TRACES_NAME = "traces.parquet"
ATTEMPTS_NAME = "attempts.parquet"

_TRACE_SCHEMA = pa.schema([("digest", pa.string()), ("case_id", pa.string()), ("trace", pa.string())])


def _several(field: pa.Field) -> pa.Field:
    """A field of samples that are alike, see `suite.journal`."""
    return field.with_type(pa.list_(field.type)) if field.name in OWN else field


_LINE_SCHEMA = pa.schema(
    [
        ("alike", pa.list_(pa.struct([_several(field) for field in SAMPLE_SCHEMA]))),
        ("traces", pa.list_(pa.struct(list(_TRACE_SCHEMA)))),
    ]
)
_ROW_SCHEMA = pa.schema([*(pa.field(one.name, encoded(one.type)) for one in SAMPLE_SCHEMA), (ALIKE, pa.int32())])
_SCHEMAS = {SAMPLES_NAME: _ROW_SCHEMA, ATTEMPTS_NAME: _ROW_SCHEMA, TRACES_NAME: _TRACE_SCHEMA}
_CHUNK_BYTES = 1_000_000
_LINE_ROWS = 500
_GROUP_ROWS = 10_000
_GROUP_BYTES = 4_000_000
"""What a reader that wants a few rows has to read."""
_SPREAD_ROWS = 5_000
"""Rows that have a dictionary of their texts together; a group has that of its rows, and few others'."""


def write_results(folder: Path, retried: Mapping[tuple[str, int], int] | None = None) -> None:
    """Writes a run's tables from its journal; see `Tables.finish`."""
    with Tables(folder) as tables:
        tables.finish(retried or {})


class Tables:
    """A run's tables while they are written, out of its journal and in bounded memory.

    Arrow parses the journal itself: no Python object a row. Rows stand in the journal's order, in which the samples
    were finished; readers sort them, and keep it as a number. What can be written while the run goes on is written
    then: the journal's lines up to the first sample that may be replayed again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writing: dict[str, _Grouped] = {}
        self._open = ExitStack()
        self._waiting: list[bytes] = []
        self._size = 0
        self._done = 0  # bytes of the journal whose rows are in the tables
        self._entries = 0  # likewise, entries of samples
        self._ahead = not (folder / JOURNAL_NAME).exists()
        self._written = Met()

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, lines: Iterable[bytes], *, final: bool) -> None:
        """Takes note of lines that were appended to the journal; their rows are written when it is worth it.

        Args:
            final: whether none of their samples may be replayed again.

        Raises:
            IntegrityError: the journal is broken.
            DiskFault: the disk is full; the journal holds all samples.
        """
        self._ahead = self._ahead and final
        if not self._ahead:
            return
        for line in lines:
            self._waiting += (line, b"\n")
            self._size += len(line) + 1
        if self._size >= _CHUNK_BYTES:
            with on_disk(self._folder / SAMPLES_NAME):
                self._write(b"".join(self._waiting), {})
            self._done += self._size
            self._waiting, self._size = [], 0

    def finish(self, retried: Mapping[tuple[str, int], int]) -> None:
        """Writes the rest; each table appears whole or not at all.

        Args:
            retried: by case and index, the last attempt of samples that have several; see `Seen.retried`.

        Raises:
            IntegrityError: the journal is broken.
            DiskFault: the disk is full; the journal holds all samples.
        """
        names = (TRACES_NAME, *((ATTEMPTS_NAME,) if retried else ()), SAMPLES_NAME)  # the last says that it is whole
        with on_disk(self._folder / SAMPLES_NAME):
            for chunk in _chunks(self._folder / JOURNAL_NAME, self._done):
                self._write(chunk, retried)
            for name in names:
                self._table(name).finish()
                os.replace(self._table(name).path, self._folder / name)
            to_disk(self._folder)  # the journal is removed next

    def _write(self, chunk: bytes, retried: Mapping[tuple[str, int], int]) -> None:
        table = _parsed(chunk, self._folder)
        alike = _rows(table, "alike")
        for samples in _samples(alike, self._entries):
            if retried:
                samples, before = _last_attempts(samples, retried)
                self._table(ATTEMPTS_NAME).add(before)
            self._table(SAMPLES_NAME).add(samples)
        self._entries += alike.num_rows
        self._table(TRACES_NAME).add(_unwritten(_rows(table, "traces"), self._written))

    def _table(self, name: str) -> _Grouped:
        if name not in self._writing:
            opened = _Grouped(self._folder / half_written(name), _SCHEMAS[name])
            self._writing[name] = self._open.enter_context(opened)
            if name != TRACES_NAME:
                opened.tell(MANIFEST_KEY, manifest_digest(self._folder))
        return self._writing[name]


class _Grouped:
    """A Parquet file whose rows are written in groups large enough to be worth their own description.

    Rows come in small tables; they are held until there are `_GROUP_ROWS` of them, or `_GROUP_BYTES`. The file is gone
    at the end, unless somebody has given it another name.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self._file = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            store_schema=False,  # texts are read as such
            use_dictionary=[name for field in schema for name in texts_in(field.type, field.name)],
            write_statistics=["case_id"],
            write_page_checksum=True,
        )
        self._held: list[pa.Table] = []
        self._rows = self._bytes = 0

    def __enter__(self) -> _Grouped:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def tell(self, key: bytes, value: str) -> None:
        """Adds something to the file's metadata."""
        self._file.add_key_value_metadata({key: value})

    def add(self, rows: pa.Table) -> None:
        """Adds some rows."""
        self._held.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._write()
            give_back()  # 2 ms; what lies free between other pieces adds up, to some 20 MB

    def finish(self) -> None:
        """Writes what is held, and waits until the file is on the disk."""
        self._write()
        self._file.close()
        to_disk(self.path)

    def _write(self) -> None:
        if self._held:
            rows = pa.concat_tables(self._held).unify_dictionaries()  # else Parquet writes each text
            self._file.write_table(rows, row_group_size=_GROUP_ROWS + _SPREAD_ROWS)
            self._held.clear()
            self._rows = self._bytes = 0


def is_whole(folder: Path) -> bool:
    """Whether a run has come to its end: not one that its budget stopped, whose journal goes on."""
    return (folder / SAMPLES_NAME).exists() and not (folder / JOURNAL_NAME).exists()


def read_lines(folder: Path) -> Iterator[bytes]:
    """A finished run's tables as the lines of a journal that holds the same, some samples a line.

    Raises:
        IntegrityError: a file is broken, or another run's.
    """
    manifest = manifest_digest(folder)
    for name in (ATTEMPTS_NAME, SAMPLES_NAME, TRACES_NAME):
        path = folder / name
        if not path.exists():
            continue
        with sound(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_run(file.metadata, manifest, path)
            for batch in file.iter_batches(_LINE_ROWS):
                if name == TRACES_NAME:
                    yield encode_batch([], [KeptTrace(**row) for row in batch.to_pylist()])
                else:
                    yield encode_batch(samples_of(pa.Table.from_batches([batch])), [])


def read_attempts(folder: Path) -> list[Sample]:
    """The replays that infrastructure spoiled and that were done again, in no order; none where there were none.

    Raises:
        IntegrityError: the file is broken, or another run's.
    """
    path = folder / ATTEMPTS_NAME
    if not path.exists():
        return []
    return [sample for samples in RunSamples(path, manifest_digest(folder)).values() for sample in samples]


def read_samples(folder: Path) -> RunSamples:
    """The samples of a run by case id, in index order; made when they are asked for.

    Raises:
        InputError: no run is there, or it is not whole.
        IntegrityError: the file is broken, or another run's.
    """
    path = folder / SAMPLES_NAME
    digest = manifest_digest(folder)
    if not path.exists():
        raise InputError("the run is not finished", str(folder), f"evalkit run --resume {folder}")
    return RunSamples(path, digest)


def read_traces(folder: Path, digests: Iterable[str]) -> dict[str, Trace]:
    """The kept replays of some digests; those that were not kept are absent.

    Raises:
        IntegrityError: the file is broken.
    """
    path = folder / TRACES_NAME
    wanted = set(digests)
    found: dict[str, Trace] = {}
    if not path.exists() or not wanted:
        return found
    try:
        # without a buffer: a whole group takes three times its size
        with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            for batch in file.iter_batches(_LINE_ROWS, columns=["digest", "trace"], use_threads=False):
                texts = batch.column("trace")
                for row, digest in enumerate(batch.column("digest").to_pylist()):
                    if digest in wanted:
                        found[digest] = trace_from_json(texts[row].as_py(), digest)
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"the kept replays are broken: {error}", str(path), "run the suite again") from None
    return found


def _last_attempts(samples: pa.Table, retried: Mapping[tuple[str, int], int]) -> tuple[pa.Table, pa.Table]:
    """The samples' last attempts, and those before."""
    keys = zip(*(samples.column(name).to_pylist() for name in ("case_id", "index", "attempt")), strict=True)
    last = [attempt >= retried.get((case_id, index), 1) for case_id, index, attempt in keys]
    return samples.filter(pa.array(last)), samples.filter(pa.array([not one for one in last]))


def _chunks(journal: Path, start: int) -> Iterator[bytes]:
    """The journal's whole lines from a byte on, some at a time."""
    with open(journal, "rb") as file:
        file.seek(start)
        while lines := file.readlines(_CHUNK_BYTES):
            yield b"".join(line for line in lines if line.endswith(b"\n"))


def _parsed(chunk: bytes, folder: Path) -> pa.Table:
    options = pj.ParseOptions(explicit_schema=_LINE_SCHEMA, unexpected_field_behavior="ignore")
    try:
        reading = pj.ReadOptions(use_threads=False, block_size=len(chunk) + 1)
        return pj.read_json(pa.BufferReader(chunk), read_options=reading, parse_options=options)
    except pa.ArrowException as error:
        raise IntegrityError(f"the journal is broken: {error}", str(folder), "run the suite again") from None


def _rows(table: pa.Table, name: str) -> pa.Table:
    """The rows inside of a list column."""
    return pa.Table.from_struct_array(inside(table.column(name).combine_chunks()))


def _samples(alike: pa.Table, first: int) -> Iterator[pa.Table]:
    """The samples of the journal's entries, some at a time; entries are counted from `first`."""
    columns = {name: alike.column(name).combine_chunks() for name in SAMPLE_SCHEMA.names}
    ends = np.from_dlpack(columns[OWN[0]].offsets)
    start = 0
    while start < len(ends) - 1:
        end = max(start + 1, int(np.searchsorted(ends, ends[start] + _SPREAD_ROWS, "right")) - 1)
        some = {name: column.slice(start, end - start) for name, column in columns.items()}
        places = np.repeat(np.arange(end - start), np.diff(ends[start : end + 1]))
        rows = [inside(column) if name in OWN else spread(column, places) for name, column in some.items()]
        number = pa.py_buffer((places + first + start).astype(np.int32))
        rows.append(pa.Array.from_buffers(pa.int32(), len(places), [None, number]))
        yield pa.Table.from_arrays(rows, schema=_ROW_SCHEMA)
        start = end


def _unwritten(traces: pa.Table, written: Met) -> pa.Table:
    """The traces whose digest was not written before, each once; notes them."""
    runs: list[list[int]] = []  # start and end of consecutive fresh rows: slices copy nothing
    for at in written.fresh(traces.column("digest").to_pylist()):
        if runs and runs[-1][1] == at:
            runs[-1][1] = at + 1
        else:
            runs.append([at, at + 1])
    slices = [traces.slice(start, end - start) for start, end in runs]
    return pa.concat_tables(slices) if slices else traces.slice(0, 0)
