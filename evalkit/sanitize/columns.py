"""Values in lists whose key stands elsewhere: a table's columns, the name beside a header's value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

from evalkit.sanitize.rules.hints import bare_key

__all__ = ["Table", "are_pairs", "table_in", "table_of"]

_COLUMNS = frozenset({"columns", "columnnames", "fields", "fieldnames", "headers", "header", "cols"})
_ROWS = frozenset({"rows", "data", "values", "records", "results", "result"})
_HEADING = re.compile(r"[A-Za-z\u3400-\u9fff][\w .-]{0,40}")


class Table(NamedTuple):
    """A list of lists of one length, and what their items are called.

    Attributes:
        rows: the key of the list in its object; empty where the first of the lists has the columns.
        columns: the names, all of them different.
    """

    rows: str
    columns: tuple[str, ...]


def table_in(node: Mapping[str, Any], keys: tuple[str, ...]) -> Table | None:
    """The table that an object of these keys is, as databases answer: ``{"columns": [...], "rows": [[...], ...]}``."""
    named = _table_keys(keys)
    if named is None:
        return None
    columns = node[named[0]]
    if isinstance(columns, list) and columns and all(isinstance(one, dict) for one in columns):
        columns = [one.get("name") for one in columns]
    return Table(named[1], tuple(columns)) if _are_columns(columns) and _are_rows(node[named[1]], columns) else None


def table_of(items: Sequence[Any]) -> Table | None:
    """The table that a list of lists is whose first one has the names of columns."""
    if len(items) < 2 or type(items[0]) is not list or not _are_columns(items[0]) or not _are_rows(items[1:], items[0]):
        return None
    return Table("", tuple(items[0]))


def are_pairs(items: Sequence[Any]) -> TypeGuard[Sequence[Sequence[str]]]:
    """Whether a list holds nothing but pairs of texts, as headers of HTTP may be given."""
    return bool(items) and all(
        type(item) is list and len(item) == 2 and type(item[0]) is str and type(item[1]) is str for item in items
    )


@lru_cache(maxsize=1024)
def _table_keys(keys: tuple[str, ...]) -> tuple[str, str] | None:
    columns = next((key for key in keys if bare_key(key) in _COLUMNS), None)
    rows = next((key for key in keys if bare_key(key) in _ROWS), None)
    return None if columns is None or rows is None else (columns, rows)


def _are_columns(columns: Any) -> bool:
    return (
        isinstance(columns, list)
        and len(columns) > 0
        and all(isinstance(one, str) and _HEADING.fullmatch(one) for one in columns)
        and len(set(columns)) == len(columns)
    )


def _are_rows(rows: Any, columns: Sequence[Any]) -> bool:
    return isinstance(rows, list) and all(isinstance(row, list) and len(row) == len(columns) for row in rows)
