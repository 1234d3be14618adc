"""The last look at a case's files, while they still have temporary names: nothing that was harvested may be in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

from evalkit.case.begun import Begun, equal_items
from evalkit.errors import EvalkitError, SanitizationFailed
from evalkit.sanitize.verify import Harvested, verify_bytes, verify_strings, verify_text

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
    """Every text of a table as it stands, and everything that the strings in it can be decoded to.

    A chat's requests each list all messages before. So a text is looked at from where it goes on from an earlier one,
    and each string is decoded once, however many rows repeat it. That is as good as decoding the rows, as JSON has
    nothing outside of its strings that could be decoded, and no encoding reaches over a quotation mark.
    """
    strings: dict[str, None] = {}
    begun, messages = Begun(), list[Any]()
    for number, text in enumerate(dict.fromkeys(_texts(path))):
        verify_text(text, harvested, f"{path.parent.name}, text {number}", known=begun.known(text))
        value = _read(text)
        if isinstance(value, dict) and isinstance(value.get("messages"), list):
            given, known = value["messages"], messages
            messages, value["messages"] = given, given[equal_items(given, known) :]
        strings |= dict.fromkeys(_strings(value))
    verify_strings(strings, harvested, path.parent.name)


def _read(text: str) -> Any:
    """The value of a JSON object or list; any other text itself."""
    try:
        return orjson.loads(text) if text[:1] in ("{", "[") else text
    except orjson.JSONDecodeError:
        return text


def _strings(value: Any) -> Iterator[str]:
    """The strings and keys of a JSON value."""
    level = [value]
    while level:
        yield from (item for item in level if type(item) is str)
        inner = [item for item in level if type(item) is dict or type(item) is list]
        level = []
        for item in inner:
            level += item
            level += item.values() if type(item) is dict else ()


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
