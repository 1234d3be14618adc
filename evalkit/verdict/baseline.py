"""Baselines: ``suites/<suite>.baseline.parquet``, a row per case and metric, small enough to commit.

Columns: ``case_id, case_version, checks`` (digest of what the case demanded), ``replayed`` (of what its replays were
given), ``deterministic`` (whether these were equal, in a frozen world), ``models, fingerprints, prompts, toolsets``
(what its live calls were answered by and asked with), ``metric, n, sum``. For metric ``passed`` n counts the samples
that enter the rate and sum those that passed; for costs, times and calls sum is the total over n samples. Where a run
took as many samples as it did because of what they came to, ``first_look`` counts those that it took in any case, and
``unbiased_rate`` and ``rate_variance`` are as `verdict.model.Estimate` has them. The schema's metadata key
``evalkit.baseline`` says which runs they were, who set it, when and why, and which baselines stood there before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.check.model import checks_digest
from evalkit.errors import InputError
from evalkit.suite.model import Sample
from evalkit.suite.samples import live_samples
from evalkit.suite.select import CaseRef
from evalkit.verdict.model import Estimate
from evalkit.verdict.schedule import TWICE, equal_replays

__all__ = [
    "Baseline",
    "BaselineInfo",
    "Facts",
    "Former",
    "checks_digest",
    "facts_of",
    "make_baseline",
    "read_baseline",
    "write_baseline",
]

_KEY = b"evalkit.baseline"
_FIRST, _RATE, _VARIANCE = "first_look", "unbiased_rate", "rate_variance"
_LISTS = ("models", "fingerprints", "prompts", "toolsets")
_SCHEMA = pa.schema(
    [
        ("case_id", pa.string()),
        ("case_version", pa.int32()),
        ("checks", pa.string()),
        ("replayed", pa.string()),
        ("deterministic", pa.bool_()),
        *((name, pa.list_(pa.string())) for name in _LISTS),
        ("metric", pa.string()),
        ("n", pa.int64()),
        ("sum", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Former:
    """A baseline that stood there before, and what its setting said."""

    run_id: str
    actor: str
    reason: str
    set_at: str


@dataclass(frozen=True, slots=True)
class BaselineInfo:
    """Where a baseline comes from.

    Attributes:
        run_id: the run; of several the first.
        runs: all runs that were pooled.
        measured_at: when the oldest of them began.
        commits: of the project, as far as they are known.
        former: the baselines before, oldest first.
    """

    run_id: str
    suite: str
    actor: str
    reason: str
    set_at: str
    runs: tuple[str, ...] = ()
    measured_at: str = ""
    commits: tuple[str, ...] = ()
    former: tuple[Former, ...] = ()

    @property
    def as_former(self) -> Former:
        """What a baseline that takes its place keeps of it."""
        return Former(self.run_id, self.actor, self.reason, self.set_at)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a case's samples were samples of: whether counts may be compared, or added, hangs on it.

    Attributes:
        version: the case's.
        checks: see `check.model.checks_digest`.
        replayed: see `suite.select.CaseRef`.
        models, fingerprints, prompts, toolsets: of all its samples, sorted; see `suite.model.Served`.
        deterministic: its replays were equal, in a frozen world: one outcome, however many there are.
    """

    version: int
    checks: str
    replayed: str = ""
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    deterministic: bool = False


@dataclass(frozen=True, slots=True)
class Baseline:
    """Passed and counted samples by case.

    Attributes:
        counts: case id to (passed, n, digest of the checks then).
        rows: the whole table's rows, for display.
        facts: by case id.
        estimates: by case id, where the share of samples that passed is a biased rate.
    """

    info: BaselineInfo
    counts: Mapping[str, tuple[int, int, str]]
    rows: tuple[Mapping[str, object], ...]
    facts: Mapping[str, Facts] = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)


def facts_of(case: CaseRef, samples: Sequence[Sample]) -> Facts:
    """What a case's samples were samples of."""
    served = [sample.served for sample in live_samples(samples) if sample.served is not None]
    words = {name: {word for one in served for word in getattr(one, name)} for name in _LISTS}
    lists: dict[str, Any] = {name: tuple(sorted(found)) for name, found in words.items()}
    return Facts(case.version, case.checks_digest, case.replayed, **lists)


def make_baseline(
    info: BaselineInfo,
    samples: Mapping[str, Sequence[Sample]],
    cases: Iterable[CaseRef],
    *,
    frozen: bool = False,
    estimates: Mapping[str, Estimate] | None = None,
) -> Baseline:
    """The baseline of a run's samples, or of several runs' together.

    Args:
        frozen: whether everything that the target saw was.
        estimates: by case id, the rates of those whose share of passes is biased.
    """
    rows: list[dict[str, object]] = []
    for case in cases:
        counted = [s for s in samples.get(case.id, ()) if s.outcome in ("passed", "failed")]
        equal = frozen and len(counted) >= TWICE and equal_replays(counted)
        facts = asdict(replace(facts_of(case, counted), deterministic=equal))
        shared = {"case_id": case.id, "case_version": facts.pop("version"), **facts, "n": len(counted)}
        totals = {
            "passed": float(sum(sample.outcome == "passed" for sample in counted)),
            "cost_usd": sum(sample.cost_usd for sample in counted),
            "duration_s": sum(sample.duration_s for sample in counted),
            "live_model": float(sum(sample.live_model for sample in counted)),
        }
        estimate = (estimates or {}).get(case.id)
        rows += [{**shared, "metric": metric, "sum": total} for metric, total in totals.items()]
        if estimate is not None:
            rows += [{**shared, **row} for row in _estimate_rows(estimate)]
    return _baseline(info, rows)


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
        return _baseline(_info(orjson.loads((table.schema.metadata or {})[_KEY])), table.to_pylist())
    except FileNotFoundError:
        cure = f"evalkit baseline set RUN --reason WHY --out {path}, with a run of the suite before it names that file"
        raise InputError("there is no baseline", str(path), cure) from None
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a baseline: {error}", str(path), "evalkit baseline set RUN") from None


def _baseline(info: BaselineInfo, rows: Sequence[Mapping[str, Any]]) -> Baseline:
    passed = [row for row in rows if row["metric"] == "passed"]
    return Baseline(
        info,
        {row["case_id"]: (round(row["sum"]), row["n"], row["checks"]) for row in passed},
        tuple(rows),
        {row["case_id"]: _facts(row) for row in passed},
        _estimates(rows),
    )


def _estimate_rows(estimate: Estimate) -> Iterator[dict[str, object]]:
    yield {"metric": _FIRST, "n": estimate.n, "sum": float(estimate.passed)}
    yield {"metric": _RATE, "sum": estimate.rate}
    if estimate.variance is not None:
        yield {"metric": _VARIANCE, "sum": estimate.variance}


def _estimates(rows: Sequence[Mapping[str, Any]]) -> dict[str, Estimate]:
    first, rates, variances = (
        {row["case_id"]: row for row in rows if row["metric"] == metric} for metric in (_FIRST, _RATE, _VARIANCE)
    )
    return {
        case_id: Estimate(
            row["sum"],
            variances[case_id]["sum"] if case_id in variances else None,
            round(first[case_id]["sum"]),
            first[case_id]["n"],
        )
        for case_id, row in rates.items()
    }


def _facts(row: Mapping[str, Any]) -> Facts:
    lists: dict[str, Any] = {name: tuple(row[name]) for name in _LISTS}
    known = bool(row.get("deterministic"))  # files from before it was told lack it
    return Facts(row["case_version"], row["checks"], row["replayed"], **lists, deterministic=known)


def _info(body: dict[str, Any]) -> BaselineInfo:
    lists = {name: tuple(body[name]) for name in ("runs", "commits")}
    return BaselineInfo(**{**body, **lists, "former": tuple(Former(**one) for one in body["former"])})
