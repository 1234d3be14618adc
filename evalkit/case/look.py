"""The last look at a case's files, while they still have temporary names: nothing that was harvested may be in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.case.begun import Begun
from evalkit.errors import EvalkitError, SanitizationFailed
from evalkit.sanitize.verify import Harvested, verify_bytes, verify_strings, verify_texts

__all__ = ["Look", "look_over"]

_DIGESTS = ("request_key", "hash")
Look = Callable[[Path], None]
"""Looks at a file that was written under a temporary name; raises where it must not be kept."""


def look_over(path: Path, harvested: Harvested) -> None:
    """Read a file back and look for originals: its bytes, and for Parquet its columns and metadata decoded.

    Raises:
        SanitizationFailed: there is one, or the file can't be looked through.
    """
    try:
        verify_strings((path.parent.name,), harvested, "the file's name")
        if path.suffix == ".parquet":
            verify_bytes(path.read_bytes(), harvested, path.parent.name)
            if len(harvested):
                _look_inside(path, harvested)
        else:
            verify_strings((path.read_text("utf-8"),), harvested, path.parent.name)
    except EvalkitError:
        raise
    except Exception as error:
        raise SanitizationFailed(
            f"what was written can't be looked through ({type(error).__name__}); nothing was kept",
            path.parent.name,
            "report it as a bug",
        ) from error


def _look_inside(path: Path, harvested: Harvested) -> None:
    """Every text of a table as it stands, and everything that it can be decoded to.

    A chat's requests each list all messages before. So a text is looked at from where it goes on from an earlier one:
    from a quotation mark on, which no encoding reaches over, and no later than an original may begin that ends there.
    """
    begun = Begun()
    fresh: dict[str, None] = {}
    table = _read(path)
    for text in dict.fromkeys(_texts(table)):
        known = max(0, begun.known(text) - harvested.longest)
        fresh[text[max(0, text.rfind('"', 0, known)) :]] = None
    verify_texts((*fresh, *_digests(table)), harvested, path.parent.name)
    verify_strings(fresh, harvested, path.parent.name)


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source, pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False)


def _digests(table: pa.Table) -> Iterator[str]:
    """What was worked out of the rest: there is nothing to decode in it."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in _DIGESTS:
            yield from (value for value in column.to_pylist() if isinstance(value, str))


def _texts(table: pa.Table) -> Iterator[str]:
    """All other texts, of the metadata too."""
    for key, value in (table.schema.metadata or {}).items():
        yield key.decode("utf-8", "replace")
        yield value.decode("utf-8", "replace")
    for name, column in zip(table.column_names, table.columns, strict=True):
        for value in column.to_pylist() if name not in _DIGESTS else ():
            if isinstance(value, str):
                yield value
            elif isinstance(value, bytes):
                yield value.decode("utf-8", "replace")
