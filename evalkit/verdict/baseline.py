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
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, pairwise
from math import isnan, nan
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.case.pointer import refuse_pointer
from evalkit.errors import InputError
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import SERVED_LISTS, Sample
from evalkit.suite.samples import column
from evalkit.suite.texts import ByText, Texts
from evalkit.verdict.facts import Facts, FactsOfCases, facts_of
from evalkit.verdict.model import Estimate
from evalkit.verdict.schedule import TWICE, equal_replays

__all__ = [
    "Baseline",
    "BaselineInfo",
    "Former",
    "make_baseline",
    "read_baseline",
    "read_baseline_info",
    "write_baseline",
]

_KEY = b"evalkit.baseline"
_PASSED, _FIRST, _RATE, _VARIANCE = "passed", "first_look", "unbiased_rate", "rate_variance"
TOTALS = ("cost_usd", "duration_s", "live_model")
"""Fields of a sample whose sums a baseline holds."""
_FACTS = ("checks", "replayed", "deterministic", *SERVED_LISTS)
_WRITTEN_AT_ONCE, _READ_AT_ONCE = 16_384, 4_096
_SCHEMA = pa.schema(
    [
        ("case_id", pa.string()),
        ("case_version", pa.int32()),
        ("checks", pa.string()),
        ("replayed", pa.string()),
        ("deterministic", pa.bool_()),
        *((name, pa.list_(pa.string())) for name in SERVED_LISTS),
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
class Baseline:
    """Passed and counted samples by case.

    Attributes:
        counts: case id to (passed, n, digest of the checks then).
        facts: by case id.
        totals: metric to its sum over the samples of each case, in the order of `counts`; NaN where it is not told.
        estimates: by case id, where the share of samples that passed is a biased rate.
    """

    info: BaselineInfo
    counts: Mapping[str, tuple[int, int, str]]
    facts: Mapping[str, Facts] = field(default_factory=dict)
    totals: Mapping[str, Sequence[float]] = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)

    def rows(self) -> Iterator[dict[str, object]]:
        """The rows of the table, as they stand in the file."""
        for at, (case_id, (passed, n, _)) in enumerate(self.counts.items()):
            facts = self.facts[case_id]
            shared = {
                name: list(getattr(facts, name)) if name in SERVED_LISTS else getattr(facts, name) for name in _FACTS
            }
            row = {"case_id": case_id, "case_version": facts.version, **shared}
            yield {**row, "metric": _PASSED, "n": n, "sum": float(passed)}
            for metric, sums in self.totals.items():
                if not isnan(sums[at]):
                    yield {**row, "metric": metric, "n": n, "sum": sums[at]}
            estimate = self.estimates.get(case_id)
            if estimate is not None:
                yield {**row, "metric": _FIRST, "n": estimate.n, "sum": float(estimate.passed)}
                yield {**row, "metric": _RATE, "n": n, "sum": estimate.rate}
                if estimate.variance is not None:
                    yield {**row, "metric": _VARIANCE, "n": n, "sum": estimate.variance}


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
    made = _Made()
    for case in cases:
        counted = _counted(samples.get(case.id, ()))
        equal = frozen and len(counted) >= TWICE and equal_replays(counted)
        passed = column(counted, "outcome").count("passed")
        made.add(case.id, passed, len(counted), replace(facts_of(case, counted), deterministic=equal))
        for metric in TOTALS:
            made.add_total(metric, float(sum(column(counted, metric))))
    return made.baseline(info, estimates or {})


def _counted(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Those that came to a result; the same sequence where all did, of which none need be made then."""
    outcomes = column(samples, "outcome")
    if all(outcome in ("passed", "failed") for outcome in outcomes):
        return samples
    return [sample for sample in samples if sample.outcome in ("passed", "failed")]


def write_baseline(baseline: Baseline, path: Path) -> Path:
    """Writes a baseline at once, over an older one."""
    schema = _SCHEMA.with_metadata({_KEY: orjson.dumps(asdict(baseline.info))})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.writing")
    rows = baseline.rows()
    with pq.ParquetWriter(temporary, schema, compression="zstd", write_page_checksum=True) as file:
        while some := [*islice(rows, _WRITTEN_AT_ONCE)]:
            file.write_table(pa.Table.from_pylist(some, schema=schema))
    os.replace(temporary, path)
    return path


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        InputError: there is none, or the file is no baseline.
    """
    with _opened(path) as file:
        rows = (row for some in file.iter_batches(_READ_AT_ONCE) for row in some.to_pylist())
        return _read(_info_in(file), rows)


def read_baseline_info(path: Path) -> BaselineInfo:
    """Where the baseline in a file comes from; raises as `read_baseline` does."""
    with _opened(path) as file:
        return _info_in(file)


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError:
        cure = f"evalkit baseline set RUN --reason WHY --out {path}, with a finished run of the suite"
        raise InputError("there is no baseline", str(path), cure) from None
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        refuse_pointer(path)
        raise InputError(f"not a baseline: {error}", str(path), "evalkit baseline set RUN") from None


class _Made:
    """A baseline while it is made, case by case: of very many cases, so that what is alike is held once."""

    def __init__(self) -> None:
        self._ids = Texts()
        self._counts: list[tuple[int, int, str]] = []
        self._known: dict[tuple[int, int, str], tuple[int, int, str]] = {}
        self._facts = FactsOfCases(self._ids)
        self._totals = {metric: array("d") for metric in TOTALS}

    def add(self, case_id: str, passed: int, n: int, facts: Facts) -> None:
        """Adds a case; what is added next is of it."""
        counts = passed, n, facts.checks
        self._ids.append(case_id)
        self._counts.append(self._known.setdefault(counts, counts))
        self._facts.add(facts)
        for totals in self._totals.values():
            totals.append(nan)

    def add_total(self, metric: str, total: float) -> None:
        """Adds the sum of one of `TOTALS`."""
        self._totals[metric][-1] = total

    def is_last(self, case_id: str) -> bool:
        """Whether a case is the one that was added last."""
        return bool(self._counts) and self._ids[len(self._counts) - 1] == case_id

    def baseline(self, info: BaselineInfo, estimates: Mapping[str, Estimate]) -> Baseline:
        """All of it.

        Raises:
            ValueError: a case was added twice.
        """
        for one, other in pairwise(sorted(self._ids)):
            if one == other:
                raise ValueError(f"case {one} stands in it twice")
        return Baseline(info, ByText(self._ids, self._counts), self._facts, self._totals, estimates)


def _read(info: BaselineInfo, rows: Iterable[Mapping[str, Any]]) -> Baseline:
    made, estimates = _Made(), dict[str, dict[str, Mapping[str, Any]]]()
    for row in rows:
        case_id, metric = row["case_id"], row["metric"]
        if metric == _PASSED:
            if not 0 <= row["sum"] <= row["n"]:
                raise ValueError(f"{row['sum']:g} of {row['n']} samples of case {case_id} passed")
            made.add(case_id, round(row["sum"]), row["n"], _facts(row))
        elif not made.is_last(case_id):
            raise ValueError(f"{metric} of {case_id} stands apart from the case")
        elif metric in TOTALS:
            made.add_total(metric, row["sum"])
        elif metric in (_FIRST, _RATE, _VARIANCE):
            estimates.setdefault(case_id, {})[metric] = row
    return made.baseline(info, {case_id: _estimate(found) for case_id, found in estimates.items()})


def _estimate(found: Mapping[str, Mapping[str, Any]]) -> Estimate:
    first, variance = found[_FIRST], found.get(_VARIANCE)
    return Estimate(found[_RATE]["sum"], None if variance is None else variance["sum"], round(first["sum"]), first["n"])


def _facts(row: Mapping[str, Any]) -> Facts:
    lists: dict[str, Any] = {name: tuple(row[name]) for name in SERVED_LISTS}
    known = bool(row.get("deterministic"))  # files from before it was told lack it
    return Facts(row["case_version"], row["checks"], row["replayed"], **lists, deterministic=known)


def _info_in(file: pq.ParquetFile) -> BaselineInfo:
    body: dict[str, Any] = orjson.loads((file.schema_arrow.metadata or {})[_KEY])
    lists = {name: tuple(body[name]) for name in ("runs", "commits")}
    return BaselineInfo(**{**body, **lists, "former": tuple(Former(**one) for one in body["former"])})
