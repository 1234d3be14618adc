"""Cases on disk: ``<root>/<case-id>/v0001.parquet``, one file a version, never changed once written.

A version appears under its final name at once and only if no other has that name (a hard link of a finished temporary
file), so two writers can't both become version 3 and a killed one leaves nothing behind that looks like a case.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.canonical import exact_text, parse_exact
from evalkit.case.header import case_from_header, header_digest, header_json, refuse_strange_format
from evalkit.case.look import Look
from evalkit.case.model import Case, check_case_id
from evalkit.case.rows import STEP_SCHEMA, Chain, steps_from_rows, steps_to_columns
from evalkit.errors import InputError, IntegrityError
from evalkit.trace.repeats import Repeats

__all__ = [
    "METADATA_KEY",
    "case_digest",
    "case_versions",
    "find_case",
    "iter_cases",
    "prepare_case",
    "read_case",
    "read_cases",
    "read_header",
    "unfinished",
    "write_case",
    "write_prepared",
]

METADATA_KEY = b"evalkit.case"
_WRITING = ".writing-"
_FILE = re.compile(r"v(\d{4,})\.parquet")
_MAX_ROWS = 1_000_000
_MAX_BYTES = 1024**3
_SMALL_BYTES = 16_384
_LITTLE_BYTES = 16 * 1024**2
_FOOTER_BYTES = 32_768
_IN_FOOTER = b"\x18%c%b\x18" % (len(METADATA_KEY), METADATA_KEY)
"""What stands before the length of the header's text in a file's metadata."""
_NAMES = tuple(STEP_SCHEMA.names)
_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED"})
"""In none of them is a value shorter than it is (the last two are of flags and levels)."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case in the form in which its file holds it; made by `prepare_case` only.

    Attributes:
        header: JSON text.
        columns: the rows, by column.
    """

    case: Case
    header: bytes
    columns: dict[str, list[Any]]

    def texts(self) -> Iterator[str]:
        """Every text that the file will hold."""
        yield self.header.decode()
        yield from (value for column in self.columns.values() for value in column if isinstance(value, str))


def prepare_case(case: Case, *, beside: Repeats | None = None) -> Prepared:
    """Everything that writing a case needs, so that it can be looked at before.

    Args:
        beside: has written messages of the case already (see `Sanitizer.written`).

    Raises:
        InputError: a value is no JSON.
    """
    columns = steps_to_columns(case.trace.trace.steps, case.kept, beside=beside)
    header = header_json(case, columns["hash"][-1] if columns["hash"] else "")
    return Prepared(case, exact_text(header), columns)


def write_case(case: Case, root: str | Path, *, look: Look | None = None) -> Path:
    """Writes a version of a case; returns its file.

    Args:
        look: is shown the finished file under its temporary name; what it raises leaves nothing behind.

    Raises:
        InputError: this version exists already, a value is no JSON, the case's folder is a symbolic link, or the system
            can't write the file.
    """
    return write_prepared(prepare_case(case), root, look=look)


def write_prepared(prepared: Prepared, root: str | Path, *, look: Look | None = None) -> Path:
    """As `write_case`, for what was prepared already."""
    case = prepared.case
    folder = Path(root) / check_case_id(case.id)
    if folder.is_symlink():
        raise InputError("the case's folder is a symbolic link", str(folder), "put the folder itself there")
    target = folder / f"v{case.version:04d}.parquet"
    fresh = [one for one in (folder, folder.parent) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    name = folder / f"{_WRITING}{secrets.token_hex(8)}.parquet"
    try:
        with open(name, "xb") as sink:
            _write_parquet(prepared, sink)
            sink.flush()
            os.fsync(sink.fileno())
        if look is not None:
            look(name)
        os.link(name, target)
    except FileExistsError:
        raise InputError(
            f"version {case.version} exists already", str(target), "read the newest version again"
        ) from None
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror or error}", str(target), "make room for it") from None
    finally:
        name.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # folders that were made for nothing; others aren't empty
            for made in fresh:
                made.rmdir()
    return target


def read_case(path: str | Path, digest: str = "") -> Case:
    """The case in a file, or the newest version in a case's folder; checked against its digest.

    Args:
        digest: of the version that is meant; empty for whichever it is.

    Raises:
        InputError: there is no such file, or it is no case.
        IntegrityError: header or rows were changed after writing, or it is another version.
    """
    return read_cases([(path, digest)])[0]


def read_cases(wanted: Iterable[tuple[str | Path, str]]) -> list[Case]:
    """Several cases as `read_case` reads each, in two thirds of the time that one after the other takes.

    Every step is taken for all of them before the next one: in turns, each drives the others' code out of the
    processor's caches. Their files are in memory at once.

    Args:
        wanted: file or folder, and digest, of each.
    """
    cases: list[Case] = []
    wanted = list(wanted)
    for (path, digest), (case, found) in zip(wanted, _read([path for path, _ in wanted]), strict=True):
        if digest and found != digest:
            raise IntegrityError(
                f"case {case.id} is another one than when this began", str(path), f"git checkout {path}"
            )
        cases.append(case)
    return cases


def read_header(path: str | Path) -> dict[str, Any]:
    """A case's header alone, checked against its own digest; whether the rows are its own is for `read_case` to find.

    Raises:
        InputError: there is no such file, or it is no case.
        IntegrityError: the header was changed after writing.
    """
    where = str(path)
    try:
        header = parse_exact(_header_text(where))
        digest = header["digest"]
    except FileNotFoundError:
        raise InputError("there is no such file", where, "evalkit list") from None
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"not a case: {error}", where, "evalkit check") from None
    refuse_strange_format(header, where)
    if digest != header_digest(header):
        raise IntegrityError("the header was changed after writing", where, "restore the file from version control")
    found: dict[str, Any] = header
    return found


def case_digest(path: str | Path) -> str:
    """The digest of a version, checked; raises as `read_case` does."""
    return read_with_digest(path)[1]


def read_with_digest(path: str | Path) -> tuple[Case, str]:
    """A case and its digest in one reading; raises as `read_case` does.

    Also a small file that another program wrote is refused here: something may stand in it that no digest covers.
    """
    return _read([path], strict=True)[0]


def case_versions(folder: str | Path) -> list[tuple[int, Path]]:
    """The versions in a case's folder, oldest first."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted((int(match[1]), Path(folder, name)) for name in names if (match := _FILE.fullmatch(name)))


def iter_cases(root: str | Path) -> Iterator[tuple[str, list[tuple[int, Path]]]]:
    """The cases under `root` by id, each with its versions, oldest first."""
    if Path(root).is_dir():
        for name in sorted(os.listdir(root)):
            versions = case_versions(os.path.join(root, name))  # a path would keep the names of all cases
            if versions:
                yield name, versions


def unfinished(root: str | Path) -> list[Path]:
    """Files that a writer which was killed left under its temporary names."""
    return sorted(Path(root).glob(f"*/{_WRITING}*"))


def find_case(reference: str, root: str | Path) -> Path:
    """The file that `reference` means: a path, a case id (its newest version), or ``id@version``.

    Raises:
        InputError: there is none; the message lists what there is.
    """
    if reference.endswith(".parquet") and Path(reference).is_file():
        return Path(reference)
    case_id, _, wanted = reference.partition("@")
    versions = dict(case_versions(Path(root) / check_case_id(case_id)))
    if not versions:
        known = ", ".join([name for name, _ in iter_cases(root)][:10]) or "none"
        raise InputError(f"no case {case_id!r}; there are: {known}", str(root), "evalkit list")
    if not wanted:
        return versions[max(versions)]
    number = wanted.removeprefix("v")
    if not number.isdecimal() or int(number) not in versions:
        raise InputError(f"case {case_id} has no version {wanted!r}", str(root), f"evalkit history {case_id}")
    return versions[int(number)]


def _read(paths: Sequence[str | Path], *, strict: bool = False) -> list[tuple[Case, str]]:
    """Cases with their digests."""
    places = [_file_of(path) for path in paths]
    files = [_opened(where, strict=strict) for where in places]
    tables = [_table(file, where) for file, where in zip(files, places, strict=True)]
    parts = [_parts(table, where) for table, where in zip(tables, places, strict=True)]
    return [_case(header, rows, where) for (header, rows), where in zip(parts, places, strict=True)]


def _file_of(path: str | Path) -> str:
    where = str(path)
    if where.endswith(".parquet") or not os.path.isdir(where):
        return where
    versions = case_versions(where)
    if not versions:
        raise InputError("the folder holds no case", where, "pass a case file, or its folder")
    return str(versions[-1][1])


def _case(header: dict[str, Any], rows: list[dict[str, Any]], where: str) -> tuple[Case, str]:
    refuse_strange_format(header, where)
    chain = Chain(whole=header.get("format") == 1)
    for row in rows:
        if chain.next(row) != row["hash"]:
            raise IntegrityError(f"row {row['seq']} was changed after writing", where, "restore the file")
    if chain.last != header.get("steps_hash") or header.get("digest") != header_digest(header):
        raise IntegrityError("the header was changed after writing", where, "restore the file from version control")
    try:
        steps = steps_from_rows(rows)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"a row is no step ({type(error).__name__}: {error})", where, "restore the file") from None
    return case_from_header(header, steps, where), header["digest"]


def _header_text(where: str) -> bytes:
    """The header's text: found in the file's last bytes where `write_case` leaves it, which is four times as quick.

    Parquet ends with its metadata in Thrift's compact form, their length, and a mark; a key and its value are each told
    by 0x18 and their length, and the text itself, as JSON, holds no such byte. What is found wrongly has no digest that
    is right.
    """
    with open(where, "rb", buffering=0) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _FOOTER_BYTES))
        footer = file.read(_FOOTER_BYTES)
    length = int.from_bytes(footer[-8:-4], "little") + 8
    at = footer.rfind(_IN_FOOTER, -length) + len(_IN_FOOTER)
    if footer.endswith(b"PAR1") and at >= len(_IN_FOOTER):
        length = shift = 0
        while footer[at] >= 0x80:
            length |= (footer[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
        at, length = at + 1, length | footer[at] << shift
        if at + length <= len(footer):
            return footer[at : at + length]
    with pa.OSFile(where) as source, pq.ParquetFile(source, pre_buffer=False) as whole:
        text: bytes = (whole.metadata.metadata or {})[METADATA_KEY]
        return text


def _write_parquet(prepared: Prepared, sink: BinaryIO) -> None:
    table = pa.table(prepared.columns, schema=STEP_SCHEMA)
    with pq.ParquetWriter(
        sink,
        STEP_SCHEMA,
        # a decompressor per column costs more than reading a small file as it is
        compression="zstd" if table.nbytes > _SMALL_BYTES else "none",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,  # Parquet has all of its types; Arrow's form of it would hold the header a second time
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({METADATA_KEY: prepared.header})


@contextlib.contextmanager
def _as_parquet(where: str) -> Iterator[None]:
    """Tells what keeps a file from being read as Parquet."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("there is no such file", where, "evalkit list") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not readable as Parquet: {error}", where, "restore the file from version control") from None


def _opened(where: str, *, strict: bool) -> pq.ParquetFile:
    """A file of which all may be unpacked."""
    with _as_parquet(where):
        file = pq.ParquetFile(_source(where), pre_buffer=False)
        if file.metadata.num_rows > _MAX_ROWS:
            raise InputError(f"{file.metadata.num_rows} rows are more than a case can have", where, "check the file")
        if strict or not _is_little(file.metadata):
            _refuse_strange(file, where)
        return file


def _source(where: str) -> pa.NativeFile:
    """A file to read from: a small one whole, since each column would be a reading of its own."""
    with open(where, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size <= _LITTLE_BYTES:
            return pa.BufferReader(file.read())
    return pa.OSFile(where)


def _table(file: pq.ParquetFile, where: str) -> pa.Table:
    with _as_parquet(where):
        return file.read(use_threads=False)  # small files: threads cost more than they save


def _parts(table: pa.Table, where: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A table's header and rows."""
    _refuse_no_case(table.schema, where)
    try:
        header = parse_exact(table.schema.metadata[METADATA_KEY])
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise IntegrityError("the header is no JSON object", where, "restore the file from version control")
    rows: list[dict[str, Any]] = []
    for batch in table.to_batches():
        columns = [_values(column) for column in batch.columns]
        rows += [dict(zip(_NAMES, row, strict=True)) for row in zip(*columns, strict=True)]
    return header, rows


def _is_little(metadata: pq.FileMetaData) -> bool:
    """Whether all that a file holds would be little even with each of its values in every row."""
    size = sum(metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups))
    return bool(size * metadata.num_rows <= _LITTLE_BYTES)


def _refuse_strange(file: pq.ParquetFile, where: str) -> None:
    """Refuse, before anything is unpacked, what `write_case` never writes: a few bytes may stand for gigabytes."""
    _refuse_no_case(file.schema_arrow, where)
    groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
    columns = [group.column(at) for group in groups for at in range(group.num_columns)]
    if any(column.has_dictionary_page or not _ENCODINGS.issuperset(column.encodings) for column in columns):
        raise IntegrityError(
            "another program wrote it: its columns are dictionaries", where, "restore the file from version control"
        )
    size = sum(column.total_uncompressed_size for column in columns)
    if size > _MAX_BYTES:
        raise InputError(f"{size} bytes unpacked are more than a case can have", where, "check the file")


def _refuse_no_case(schema: pa.Schema, where: str) -> None:
    if METADATA_KEY not in (schema.metadata or {}) or not schema.equals(STEP_SCHEMA):
        raise InputError("a Parquet file, but no case", where, "pass a file that `evalkit ingest` wrote")


def _values(column: pa.Array) -> list[Any]:
    """A column in Python; times in microseconds, by a view: Arrow's compute functions take 30 ms to load."""
    if column.null_count == len(column):  # most columns of most steps
        return [None] * len(column)
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    values: list[Any] = column.to_pylist()
    return values
