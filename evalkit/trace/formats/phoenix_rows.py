"""Phoenix's data frame of spans, as any of the files that pandas writes: rows of ``{"context.span_id": ..., ...}``.

``px.Client().get_spans_dataframe()`` has a column a field and a column an attribute (``attributes.llm.model_name``),
with lists and objects in cells. ``to_json`` writes it by columns, by rows, or a row a line; ``to_csv`` writes a list as
Python does; ``to_parquet`` fills each object of a list up with nulls for the keys of all others.
Source: https://github.com/Arize-ai/phoenix, ``src/phoenix/trace/dsl/query.py`` (``_get_spans_dataframe``).
"""

from __future__ import annotations

import ast
import csv
import io
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dicts
from evalkit.trace.formats.protocol import Source
from evalkit.trace.json_input import MAX_DEPTH, json_or_text

__all__ = ["SPAN_ID", "csv_rows", "is_csv", "is_parquet", "json_rows", "parquet_rows"]

SPAN_ID = "context.span_id"
_COLUMNS = (SPAN_ID, "context.trace_id", "span_kind")
_MAGIC = b"PAR1"
_MAX_CELL = 64 * 1024**2


def json_rows(document: Json) -> list[dict[str, Any]]:
    """The rows of a frame in JSON, by rows or by columns; none for another document."""
    if isinstance(document, list):
        found = dicts(document)
        return found if len(found) == len(document) and all(SPAN_ID in row for row in found) else []
    if not isinstance(document, dict) or SPAN_ID not in document:
        return []
    columns = {key: value for key, value in document.items() if isinstance(value, dict)}
    if len(columns) < len(document):
        return [document]
    keys = columns[SPAN_ID]
    return [{name: column.get(key) for name, column in columns.items()} for key in keys]


def is_csv(head: bytes) -> bool:
    """Whether the first line names the columns of the frame."""
    names = head.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r").split(",")
    return all(column in names for column in _COLUMNS)


def csv_rows(source: Source) -> list[dict[str, Any]]:
    """The rows of a CSV file, each cell as what it was before it was written.

    Raises:
        UnreadableTrace: it is not CSV in UTF-8.
    """
    limit = csv.field_size_limit(_MAX_CELL)
    try:
        rows = [*csv.DictReader(io.StringIO(source.data().decode("utf-8"), newline=""))]
    except (csv.Error, UnicodeDecodeError) as error:
        raise UnreadableTrace(f"the CSV can't be read: {error}", source.where, "export it as Parquet or JSON") from None
    finally:
        csv.field_size_limit(limit)
    return [
        {name: _cell(text) for name, text in row.items() if name and isinstance(text, str) and text} for row in rows
    ]


def is_parquet(source: Source) -> bool:
    """Whether it is a Parquet file with the columns of the frame."""
    if not source.head.startswith(_MAGIC):
        return False
    import pyarrow
    from pyarrow import parquet

    try:
        with _opened(source) as file:
            names = parquet.read_schema(file).names
    except (pyarrow.ArrowException, OSError):
        return False
    return all(column in names for column in _COLUMNS)


def parquet_rows(source: Source) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file.

    Raises:
        UnreadableTrace: it is damaged.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with _opened(source) as file:
            table = parquet.read_table(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableTrace(f"the Parquet file is damaged: {error}", source.where, "export it again") from None
    for batch in table.to_batches(max_chunksize=512):
        for row in batch.to_pylist():
            yield {name: _plain(value) for name, value in row.items() if value is not None}


def _opened(source: Source) -> Any:
    """A Parquet file as Arrow opens it: from the disk where it lies there, since its columns are named at its end."""
    import pyarrow

    if source.path is not None and source.path.is_file():
        with source.path.open("rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                return pyarrow.OSFile(str(source.path), "rb")
    return pyarrow.BufferReader(source.data())


def _cell(text: str) -> Any:
    """A list or object in a cell, as JSON or as Python writes it; else the text."""
    found = json_or_text(text)
    if not isinstance(found, str) or not text.startswith(("[", "{")) or not text.endswith(("]", "}")):
        return found
    if sum(map(text.count, "[{(")) > MAX_DEPTH * 50 or _depth(text) > MAX_DEPTH:
        return found
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return found


def _depth(text: str) -> int:
    """How deep brackets nest in a text, counted in strings too: an upper bound."""
    depth = deepest = 0
    for character in text:
        if character in "[{(":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]})":
            depth -= 1
    return deepest


def _plain(value: Any) -> Any:
    """A value as JSON has it: without nulls in objects, numbers that are none, and times."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
