"""Cases on disk: ``<root>/<case-id>/v0001.parquet``, one file a version, never changed once written.

A version appears under its final name at once and only if no other has that name (a hard link of a finished temporary
file), so two writers can't both become version 3 and a killed one leaves nothing behind that looks like a case.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.canonical import exact_text, parse_exact
from evalkit.case.header import header_digest, header_json, refuse_strange_format
from evalkit.case.look import Look
from evalkit.case.model import Case, check_case_id
from evalkit.case.pointer import refuse_pointer
from evalkit.case.reading import METADATA_KEY, read_files
from evalkit.case.rows import STEP_SCHEMA, steps_to_columns
from evalkit.errors import InputError, IntegrityError
from evalkit.trace.repeats import Repeats

__all__ = [
    "METADATA_KEY",
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

_WRITING = ".writing-"
_FILE = re.compile(r"v([0-9]{4}|[1-9][0-9]{4,})\.parquet")  # one name a version: v00003 would be a second third one
_SMALL_BYTES = 16_384
_FOOTER_BYTES = 32_768
_IN_FOOTER = b"\x18%c%b\x18" % (len(METADATA_KEY), METADATA_KEY)
"""What stands before the length of the header's text in a file's metadata."""


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


def read_case(path: str | Path) -> Case:
    """The case in a file, or the newest version in a case's folder; checked against its digest.

    Raises:
        InputError: there is no such file, or it is no case.
        IntegrityError: header or rows were changed after writing.
    """
    return read_cases([(path, "")])[0]


def read_cases(wanted: Iterable[tuple[str | Path, str]]) -> list[Case]:
    """Several cases as `read_case` reads each, in less time (see `case.reading`).

    Args:
        wanted: of each the file or folder, and the digest of the version that is meant; empty for whichever it is.

    Raises:
        IntegrityError: also for another version than is meant.
    """
    files = [(_file_of(path), digest) for path, digest in wanted]
    found = read_files(where for where, _ in files)
    for (where, digest), (case, its) in zip(files, found, strict=True):
        if digest and its != digest:
            raise IntegrityError(f"case {case.id} is another one than when this began", where, f"git checkout {where}")
    return [case for case, _ in found]


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
        refuse_pointer(where)
        raise InputError(f"not a case: {error}", where, "evalkit check") from None
    refuse_strange_format(header, where)
    if digest != header_digest(header):
        raise IntegrityError("the header was changed after writing", where, "restore the file from version control")
    found: dict[str, Any] = header
    return found


def read_with_digest(path: str | Path) -> tuple[Case, str]:
    """A case and its digest in one reading; raises as `read_case` does.

    Also a small file that another program wrote is refused here: something may stand in it that no digest covers.
    """
    return read_files([_file_of(path)], strict=True)[0]


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


def _file_of(path: str | Path) -> str:
    where = str(path)
    if where.endswith(".parquet") or not os.path.isdir(where):
        return where
    versions = case_versions(where)
    if not versions:
        raise InputError("the folder holds no case", where, "pass a case file, or its folder")
    return str(versions[-1][1])


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
