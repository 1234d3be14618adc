"""The last look at a case's files, while they still have temporary names: nothing that was harvested may be in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from evalkit.errors import EvalkitError, SanitizationFailed
from evalkit.sanitize.verify import Harvested, verify_bytes, verify_strings

__all__ = ["Look", "look_over"]

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
            verify_strings(_texts(path), harvested, path.parent.name)
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


def _texts(path: Path) -> Iterator[str]:
    table = pq.read_table(path)
    for key, value in (table.schema.metadata or {}).items():
        yield key.decode("utf-8", "replace")
        yield value.decode("utf-8", "replace")
    for column in table.columns:
        for value in column.to_pylist():
            if isinstance(value, str):
                yield value
            elif isinstance(value, bytes):
                yield value.decode("utf-8", "replace")
