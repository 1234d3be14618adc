"""Baselines: ``suites/<suite>.baseline.parquet``, a row per case and metric, small enough to commit.

Columns: ``case_id, case_version, checks`` (digest of what the case demanded), ``metric, n, sum``. For metric ``passed``
n counts the samples that enter the rate and sum those that passed; for the others sum is the total over n samples.
The schema's metadata key ``evalkit.baseline`` says which run it was, who set it, when and why.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.canonical import digest
from evalkit.check.model import Check
from evalkit.errors import InputError
from evalkit.suite.model import Sample
from evalkit.suite.select import CaseRef

__all__ = ["Baseline", "BaselineInfo", "checks_digest", "make_baseline", "read_baseline", "write_baseline"]

_KEY = b"evalkit.baseline"
_SCHEMA = pa.schema(
    [
        ("case_id", pa.string()),
        ("case_version", pa.int32()),
        ("checks", pa.string()),
        ("metric", pa.string()),
        ("n", pa.int64()),
        ("sum", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class BaselineInfo:
    """Where a baseline comes from."""

    run_id: str
    suite: str
    actor: str
    reason: str
    set_at: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Passed and counted samples by case.

    Attributes:
        counts: case id to (passed, n, digest of the checks then).
        rows: the whole table's rows, for display.
    """

    info: BaselineInfo
    counts: Mapping[str, tuple[int, int, str]]
    rows: tuple[Mapping[str, object], ...]


def checks_digest(checks: Iterable[Check]) -> str:
    """What a case demands, in 16 hex digits: equal while its gating checks are."""
    return digest([*sorted(check.id for check in checks if check.gating)])[:16]


def make_baseline(info: BaselineInfo, samples: Mapping[str, Sequence[Sample]], cases: Iterable[CaseRef]) -> Baseline:
    """The baseline of a run's samples."""
    rows: list[dict[str, object]] = []
    counts: dict[str, tuple[int, int, str]] = {}
    for case in cases:
        counted = [s for s in samples.get(case.id, ()) if s.outcome in ("passed", "failed")]
        demanded = checks_digest(case.checks)
        passed = sum(sample.outcome == "passed" for sample in counted)
        counts[case.id] = (passed, len(counted), demanded)
        totals = {
            "passed": float(passed),
            "cost_usd": sum(sample.cost_usd for sample in counted),
            "duration_s": sum(sample.duration_s for sample in counted),
            "live_model": float(sum(sample.live_model for sample in counted)),
        }
        rows += [
            {"case_id": case.id, "case_version": case.version, "checks": demanded, "metric": metric,
             "n": len(counted), "sum": total}
            for metric, total in totals.items()
        ]  # fmt: skip
    return Baseline(info, counts, tuple(rows))


def write_baseline(baseline: Baseline, path: Path) -> Path:
    """Writes a baseline at once, over an older one."""
    schema = _SCHEMA.with_metadata({_KEY: orjson.dumps(asdict(baseline.info))})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.writing")
    pq.write_table(pa.Table.from_pylist(list(baseline.rows), schema=schema), temporary, compression="zstd")
    os.replace(temporary, path)
    return path


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        InputError: there is none, or the file is no baseline.
    """
    try:
        table = pq.read_table(path)
        info = BaselineInfo(**orjson.loads((table.schema.metadata or {})[_KEY]))
        rows = table.to_pylist()
        counts = {
            row["case_id"]: (round(row["sum"]), row["n"], row["checks"]) for row in rows if row["metric"] == "passed"
        }
    except FileNotFoundError:
        raise InputError("there is no baseline", str(path), "evalkit baseline set RUN") from None
    except (pa.ArrowException, OSError, KeyError, TypeError, orjson.JSONDecodeError) as error:
        raise InputError(f"not a baseline: {error}", str(path), "evalkit baseline set RUN") from None
    return Baseline(info, counts, tuple(rows))
