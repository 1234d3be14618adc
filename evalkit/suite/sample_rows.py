"""Samples as Arrow rows and back: a row a sample, as in ``samples.parquet``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from evalkit.suite.model import SERVED_LISTS, Sample, SampleCheck, Served
from evalkit.suite.spread import inside

__all__ = ["ALIKE", "SAMPLE_SCHEMA", "samples_of"]

_CHECKS = pa.list_(
    pa.struct(
        [
            ("check", pa.string()),
            ("gating", pa.bool_()),
            ("passed", pa.bool_()),
            ("reason", pa.string()),
            ("steps", pa.list_(pa.int32())),
        ]
    )
)
_SERVED = pa.struct(
    [
        *((name, pa.list_(pa.string())) for name in SERVED_LISTS),
        ("cached_tokens", pa.int64()),
        ("answers", pa.string()),
    ]
)
SAMPLE_SCHEMA = pa.schema(
    [
        ("case_id", pa.string()),
        ("case_version", pa.int32()),
        ("index", pa.int32()),
        ("outcome", pa.string()),
        ("checks", _CHECKS),
        ("reason", pa.string()),
        ("misses", pa.list_(pa.string())),
        ("trace", pa.string()),
        ("tool_bodies", pa.int32()),
        ("live_model", pa.int32()),
        ("substituted", pa.int32()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", pa.float64()),
        ("duration_s", pa.float64()),
        ("attempt", pa.int32()),
        ("drew", pa.bool_()),
        ("served", _SERVED),
    ]
)
ALIKE = "alike"
"""A further column of the file: rows with the same number there differ in index and time alone."""


def samples_of(table: pa.Table, held: Mapping[str, list[Any]] | None = None) -> list[Sample]:
    """The samples of some rows.

    Args:
        held: fields that are known; the table needs no columns of them.
    """
    count = table.num_rows
    columns: dict[str, list[Any]] = {"drew": [False] * count, "order": [*range(count)], **(held or {})}
    for name in SAMPLE_SCHEMA.names:
        if name not in (held or {}) and name in table.column_names:  # a run from before `drew` was told lacks it
            columns[name] = _READ.get(name, _plain)(table.column(name))
    names = (*SAMPLE_SCHEMA.names, "order")
    return [Sample(*values) for values in zip(*(columns[name] for name in names), strict=True)]


def _checks_of(chunked: pa.ChunkedArray) -> list[tuple[SampleCheck, ...]]:
    """The checks of each sample: fields taken column by column, which is many times faster than row by row.

    Equal results are one object: samples of a case mostly have the same.
    """
    column = chunked.combine_chunks()
    flat = inside(column)
    fields = [flat.field(name).to_pylist() for name in ("check", "gating", "passed", "reason")]
    steps = [tuple(one) for one in flat.field("steps").to_pylist()]
    known: dict[tuple[Any, ...], SampleCheck] = {}
    checks: list[SampleCheck] = []
    for values in zip(*fields, steps, strict=True):
        check = known.get(values)
        if check is None:
            check = known[values] = SampleCheck(*values)
        checks.append(check)
    ends = column.offsets.to_pylist()
    first = ends[0]
    of_sample: dict[tuple[int, ...], tuple[SampleCheck, ...]] = {}
    found: list[tuple[SampleCheck, ...]] = []
    for start, end in itertools.pairwise(ends):
        part = checks[start - first : end - first]
        found.append(of_sample.setdefault(tuple(map(id, part)), tuple(part)))
    return found


def _texts_of(column: pa.ChunkedArray) -> list[Any]:
    """A column's values, equal ones as one object."""
    known: dict[Any, Any] = {}
    return [known.setdefault(value, value) for value in column.to_pylist()]


def _misses_of(column: pa.ChunkedArray) -> list[Any]:
    return [tuple(misses) for misses in column.to_pylist()]


def _served_of(column: pa.ChunkedArray) -> list[Any]:
    return [None if one is None else Served.from_json(one) for one in column.to_pylist()]


def _plain(column: pa.ChunkedArray) -> list[Any]:
    found: list[Any] = column.to_pylist()
    return found


_READ: Mapping[str, Callable[[pa.ChunkedArray], list[Any]]] = {
    **dict.fromkeys(("case_id", "outcome", "reason", "trace"), _texts_of),
    "checks": _checks_of,
    "misses": _misses_of,
    "served": _served_of,
}
