"""`evalkit baseline`: runs are made the measure of later ones, by a person who says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit.app.environment import acting, now_utc
from evalkit.app.nights import suite_file
from evalkit.app.run_end import judged, load_run
from evalkit.app.run_plan import baseline_path, read_suite, runs_twice
from evalkit.app.settings import Settings
from evalkit.errors import InputError
from evalkit.suite.account import read_account
from evalkit.suite.case_ref import ids_of
from evalkit.suite.freed import take_from_system
from evalkit.suite.model import Manifest, Sample, Suite
from evalkit.suite.samples import column
from evalkit.suite.select import CaseRef
from evalkit.verdict.baseline import (
    Baseline,
    BaselineInfo,
    make_baseline,
    read_baseline,
    write_baseline,
)
from evalkit.verdict.effect import suite_effect
from evalkit.verdict.estimate import estimates_of, pooled
from evalkit.verdict.facts import facts_of
from evalkit.verdict.model import CaseVerdict, Estimate
from evalkit.verdict.plans import make_plans
from evalkit.verdict.schedule import equal_replays
from evalkit.verdict.staleness import differences_of_facts

__all__ = ["Comparison", "bless_baseline", "compare_run", "set_baseline", "show_baseline"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against a baseline.

    Attributes:
        run_id: of the run.
        info: where the baseline comes from.
        verdicts: the run's, with what they are against that baseline.
        p: exact test of "worse in this suite" over the cases that could be compared; None where none could.
        difference, low, high: of the cases' mean pass rate, with its 95 % interval, the cases being fixed.
        deterministic: see `verdict.model.SuiteEffect`.
    """

    run_id: str
    info: BaselineInfo
    verdicts: tuple[CaseVerdict, ...]
    p: float | None = None
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0
    deterministic: bool = False


def set_baseline(
    folders: Sequence[Path],
    settings: Settings,
    *,
    actor: str,
    reason: str,
    out: Path | None = None,
    on_warning: Callable[[str], None] = lambda _: None,
) -> Path:
    """Writes finished runs as their suite's first baseline; returns the file.

    Args:
        on_warning: is told what makes the runs a worse measure than others would be.

    Raises:
        InputError: there is a baseline already; a run is not finished; the runs can't be added up; or nobody or no
            reason is named.
    """
    made, path = _made(folders, settings, actor, reason, out, on_warning)
    if path.exists():
        former = read_baseline(path).info
        raise InputError(
            f"there is a baseline: run {former.run_id}, set by {former.actor} at {former.set_at}",
            str(path),
            "evalkit baseline bless RUN --reason WHY accepts that the measure changes",
        )
    return write_baseline(made, path)


def bless_baseline(
    folders: Sequence[Path],
    settings: Settings,
    *,
    actor: str,
    reason: str,
    out: Path | None = None,
    on_warning: Callable[[str], None] = lambda _: None,
) -> Path:
    """Writes finished runs in the place of a baseline: a change of the measure that somebody accepts, and says why.

    Raises:
        InputError: as `set_baseline`; or there is no baseline yet.
    """
    made, path = _made(folders, settings, actor, reason, out, on_warning)
    former = read_baseline(path).info
    if former.runs == made.info.runs:
        raise InputError(f"run {former.run_id} is the baseline already", str(path), "evalkit baseline show SUITE")
    info = replace(made.info, former=(*former.former, former.as_former))
    return write_baseline(replace(made, info=info), path)


def show_baseline(suite_or_file: str, settings: Settings) -> Baseline:
    """The baseline of a suite (by name or file), or in a file."""
    return read_baseline(_file_of(suite_or_file, settings))


def compare_run(folder: Path, settings: Settings, *, baseline: str = "") -> Comparison:
    """Compares a finished run with a baseline; makes no calls and writes nothing.

    Args:
        baseline: a suite's name or file, a baseline file, or another run's folder; the run's own baseline when empty.

    Raises:
        InputError: the run is not finished, there is no baseline, or the run is the baseline.
    """
    manifest, suite, cases, samples = load_run(folder, settings)
    if baseline and Path(baseline).is_dir():
        other, other_suite, other_cases, other_samples = load_run(Path(baseline), settings)
        info = BaselineInfo(other.run_id, suite.name, "", "", "", measured_at=other.started_at)
        estimates = _estimates([(other, other_suite, other_cases, other_samples)])
        measure = make_baseline(
            info, other_samples, other_cases, frozen=other_suite.mode == "exact", estimates=estimates
        )
    else:
        measure = read_baseline(_file_of(baseline or suite.baseline or manifest.baseline or suite.name, settings))
    if manifest.run_id in (measure.info.run_id, *measure.info.runs):
        raise InputError(
            f"run {manifest.run_id} is what it would be compared with: that shows nothing",
            str(folder),
            "name another run, or --with another measure",
        )
    verdicts = judged(manifest, suite, cases, samples, read_account(folder), baseline=measure)
    return _compared(Comparison(manifest.run_id, measure.info, tuple(verdicts)))


def _compared(found: Comparison) -> Comparison:
    """With what the cases say together, as far as they have results on both sides."""
    effect = suite_effect(found.verdicts)
    if effect is None:
        return found
    low, high = effect.this_suite
    return replace(
        found,
        p=effect.p_worse,
        difference=effect.difference,
        low=low,
        high=high,
        deterministic=effect.deterministic,
    )


def _made(
    folders: Sequence[Path],
    settings: Settings,
    actor: str,
    reason: str,
    out: Path | None,
    on_warning: Callable[[str], None],
) -> tuple[Baseline, Path]:
    actor = acting(actor, settings)
    if not reason.strip():
        raise InputError("the reason is empty", str(folders[0]), "pass --reason")
    take_from_system()
    loaded = [_loaded(folder, settings) for folder in folders]
    manifest, suite, cases, _ = loaded[0]
    _must_be_of_one_kind(loaded, folders)
    runs = tuple(one.run_id for one, *_ in loaded)
    commits = {str(one.environment.get("git_commit") or "") for one, *_ in loaded} - {""}
    measured_at = min(one.started_at for one, *_ in loaded)
    info = BaselineInfo(
        manifest.run_id, suite.name, actor, reason, now_utc(), runs, measured_at, tuple(sorted(commits))
    )
    runs_samples = [samples for *_, samples in loaded]
    empty = sum(not any(_counts(one.get(id, ()))[1] for one in runs_samples) for id in ids_of(cases))
    if empty == len(cases):
        raise InputError("no sample came to a result: such a baseline measures nothing", str(folders[0]), _MEASURE)
    if empty:
        on_warning(f"{empty} of {len(cases)} cases have no sample that came to a result, and so no baseline")
    for one in loaded:
        if early := _stopped_early(one):
            on_warning(
                f"{early} of {len(cases)} cases stopped early in run {one[0].run_id}: rates at which a run stops are a "
                f"little too extreme, and rest on few samples; a run with --fixed measures better"
            )
    together = runs_samples[0]  # made when they are asked for, if at all
    if len(runs_samples) > 1:
        together = {id: [one for samples in runs_samples for one in samples.get(id, ())] for id in ids_of(cases)}
    made = make_baseline(info, together, cases, frozen=suite.mode == "exact", estimates=_estimates(loaded))
    known = Path(manifest.baseline) if manifest.baseline else baseline_path(settings.suites / f"{suite.name}.toml")
    return made, out or known


_MEASURE = "mend what misses or errs, and run the suite again"
Loaded = tuple[Manifest, Suite, Sequence[CaseRef], Mapping[str, Sequence[Sample]]]


def _loaded(folder: Path, settings: Settings) -> Loaded:
    loaded = load_run(folder, settings)
    if part := loaded[0].part:
        raise InputError(
            f"the run is only a part of its suite: {len(loaded[2])} of {part.get('of')} cases",
            str(folder),
            "evalkit run SUITE without --filter and --only-failing",
        )
    if stopped := read_account(folder).stopped:
        raise InputError(f"the run is not whole: {stopped}", str(folder), f"evalkit run --resume {folder} --budget ...")
    return loaded


def _estimates(runs: Sequence[Loaded]) -> dict[str, Estimate]:
    """By case id, the rates of those that have as many samples as they have because of what they came to."""
    known = [
        estimates_of(make_plans(suite, cases, manifest.measures), samples, twice=runs_twice(suite))
        for manifest, suite, cases, samples in runs
    ]
    found: dict[str, Estimate] = {}
    for case_id in ids_of(runs[0][2]) if any(known) else ():
        each = zip(runs, known, strict=True)
        estimate = pooled([(*_counts(one[3].get(case_id, ())), estimates.get(case_id)) for one, estimates in each])
        if estimate is not None:
            found[case_id] = estimate
    return found


def _counts(samples: Sequence[Sample]) -> tuple[int, int]:
    """Passes, and samples that came to a result."""
    outcomes = column(samples, "outcome")
    passed = outcomes.count("passed")
    return passed, passed + outcomes.count("failed")


def _stopped_early(loaded: Loaded) -> int:
    """How many cases of a run took fewer samples than their policy takes where it does not stop early."""
    manifest, suite, cases, samples = loaded
    if not suite.sequential:
        return 0
    plans = make_plans(suite, cases, manifest.measures)
    varying = [case.id for case in cases if suite.mode != "exact" or not equal_replays(samples.get(case.id, ()))]
    return sum(len(samples.get(case_id, ())) < plans[case_id].fixed for case_id in varying)


def _must_be_of_one_kind(loaded: Sequence[Loaded], folders: Sequence[Path]) -> None:
    """Refuses runs whose samples can't be added up: of other suites, cases, checks, models or prompts."""
    first, suite, cases, samples = loaded[0]
    cure = "pool only runs of one suite that were answered and asked the same; or set one run alone"
    for (manifest, other, other_cases, other_samples), folder in zip(loaded[1:], folders[1:], strict=True):
        if manifest.run_id == first.run_id:
            raise InputError(f"run {first.run_id} is named twice", str(folder), "name each run once")
        if (other.name, other.mode, other.target) != (suite.name, suite.mode, suite.target):
            told = f"{other.name}, {other.mode}, {other.target} against {suite.name}, {suite.mode}, {suite.target}"
            raise InputError(f"the runs are not of one suite, mode and target: {told}", str(folder), cure)
        if {case.id for case in other_cases} != {case.id for case in cases}:
            raise InputError("the runs are not of the same cases", str(folder), cure)
        of_id = {case.id: case for case in other_cases}
        for case in cases:
            one = facts_of(case, samples.get(case.id, ()))
            why = differences_of_facts(one, facts_of(of_id[case.id], other_samples.get(case.id, ())))
            if why:
                raise InputError(f"case {case.id}: {why}", str(folder), cure)


def _file_of(suite_or_file: str, settings: Settings) -> Path:
    path = Path(suite_or_file)
    if path.suffix == ".parquet":
        return path
    suite = suite_file(suite_or_file, settings)
    beside = baseline_path(suite)
    if beside.exists() and not suite.exists():  # of a suite that went
        return beside
    return Path(read_suite(suite, settings).baseline or beside)
