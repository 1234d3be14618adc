"""A finished run's tables: ``samples.parquet``, a row a sample, and ``traces.parquet``, a row a kept replay.

``traces.parquet`` names each replay by the digest that its samples carry, so equal replays are stored once; its column
``trace`` is the JSON of `suite.kept`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.canonical import exact_text
from evalkit.errors import InputError, IntegrityError
from evalkit.suite.kept import trace_from_json
from evalkit.suite.model import Sample, SampleCheck
from evalkit.trace.model import Trace

__all__ = ["SAMPLES_NAME", "TRACES_NAME", "read_samples", "read_traces", "write_results"]

SAMPLES_NAME = "samples.parquet"
TRACES_NAME = "traces.parquet"

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
_SAMPLE_SCHEMA = pa.schema(
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
    ]
)
_TRACE_SCHEMA = pa.schema([("digest", pa.string()), ("case_id", pa.string()), ("trace", pa.string())])
_BATCHES_A_GROUP = 64


def write_results(folder: Path, batches: Iterable[tuple[list[Sample], dict[str, Any]]]) -> None:
    """Writes both tables from a journal's batches, in bounded memory; each appears whole or not at all.

    Rows stand in the journal's order; readers sort by case and index.
    """
    samples, traces = folder / f".{SAMPLES_NAME}.writing", folder / f".{TRACES_NAME}.writing"
    with (
        pq.ParquetWriter(samples, _SAMPLE_SCHEMA, compression="zstd") as sample_writer,
        pq.ParquetWriter(traces, _TRACE_SCHEMA, compression="zstd") as trace_writer,
    ):
        written: set[str] = set()
        for rows, kept in _groups(batches, written):
            sample_writer.write_table(_sample_table(rows))
            trace_writer.write_table(pa.table(kept, schema=_TRACE_SCHEMA))
    os.replace(traces, folder / TRACES_NAME)
    os.replace(samples, folder / SAMPLES_NAME)  # last: its presence says that the run is whole


def read_samples(folder: Path) -> dict[str, list[Sample]]:
    """The samples of a run by case id, each list in index order.

    Raises:
        InputError: the run is not whole.
        IntegrityError: the file is broken.
    """
    path = folder / SAMPLES_NAME
    if not path.exists():
        raise InputError("the run is not finished", str(folder), f"evalkit run --resume {folder}")
    try:
        rows = pq.read_table(path).to_pylist()
        found: dict[str, list[Sample]] = {}
        for row in rows:
            checks = tuple(SampleCheck(**{**check, "steps": tuple(check["steps"])}) for check in row["checks"])
            sample = Sample(**{**row, "checks": checks, "misses": tuple(row["misses"])})
            found.setdefault(sample.case_id, []).append(sample)
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise IntegrityError(f"the samples are broken: {error}", str(path), "run the suite again") from None
    for samples in found.values():
        samples.sort(key=lambda sample: sample.index)
    return found


def read_traces(folder: Path, digests: Iterable[str]) -> dict[str, Trace]:
    """The kept replays of some digests; those that were not kept are absent."""
    path = folder / TRACES_NAME
    wanted = list(digests)
    if not path.exists() or not wanted:
        return {}
    table = pq.read_table(path, filters=[("digest", "in", wanted)])
    return {row["digest"]: trace_from_json(row["trace"], row["digest"]) for row in table.to_pylist()}


def _groups(
    batches: Iterable[tuple[list[Sample], dict[str, Any]]], written: set[str]
) -> Iterator[tuple[list[Sample], dict[str, list[str]]]]:
    rows: list[Sample] = []
    kept: dict[str, list[str]] = {name: [] for name in _TRACE_SCHEMA.names}
    count = 0
    for samples, traces in batches:
        rows += samples
        owner = {sample.trace: sample.case_id for sample in samples}
        for digest, body in traces.items():
            if digest not in written:
                written.add(digest)
                kept["digest"].append(digest)
                kept["case_id"].append(owner.get(digest, ""))
                kept["trace"].append(exact_text(body).decode())
        count += 1
        if count % _BATCHES_A_GROUP == 0:
            yield rows, kept
            rows, kept = [], {name: [] for name in _TRACE_SCHEMA.names}
    if rows:
        yield rows, kept


def _sample_table(samples: list[Sample]) -> pa.Table:
    columns: dict[str, list[Any]] = {
        field.name: [getattr(sample, field.name) for sample in samples] for field in fields(Sample)
    }
    columns["checks"] = [
        [
            {"check": c.check, "gating": c.gating, "passed": c.passed, "reason": c.reason, "steps": list(c.steps)}
            for c in checks
        ]
        for checks in columns["checks"]
    ]
    columns["misses"] = [list(misses) for misses in columns["misses"]]
    return pa.table(columns, schema=_SAMPLE_SCHEMA)
