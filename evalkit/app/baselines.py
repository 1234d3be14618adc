"""`evalkit baseline`: runs are made the measure of later ones, by a person who says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit.app.differences import differences
from evalkit.app.environment import acting, now_utc
from evalkit.app.nights import suite_file
from evalkit.app.run_end import judged, load_run
from evalkit.app.run_model import Taken
from evalkit.app.run_plan import baseline_path, read_suite, runs_twice
from evalkit.app.settings import Settings
from evalkit.errors import ConfigError, InputError
from evalkit.suite.case_ref import ids_of
from evalkit.suite.freed import take_from_system
from evalkit.suite.manifest import suite_json
from evalkit.suite.model import Sample
from evalkit.suite.samples import column
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
from evalkit.verdict.model import CaseVerdict, Estimate, SuiteEffect
from evalkit.verdict.night import HARMLESS, measured_part
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
        effect: over all cases that could be compared; None where none could.
    """

    run_id: str
    info: BaselineInfo
    verdicts: tuple[CaseVerdict, ...]
    effect: SuiteEffect | None


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
    run = load_run(folder, settings)
    if baseline and Path(baseline).is_dir():
        other = load_run(Path(baseline), settings)
        info = BaselineInfo(other.run_id, run.suite.name, "", "", "", measured_at=other.manifest.started_at)
        measure = _measured(info, [other])
    else:
        named = baseline or run.suite.baseline or run.manifest.baseline or run.suite.name
        measure = read_baseline(_file_of(named, settings))
    if run.run_id in (measure.info.run_id, *measure.info.runs):
        raise InputError(
            f"run {run.run_id} is what it would be compared with: that shows nothing",
            str(folder),
            "name another run, or --with another measure",
        )
    verdicts = judged(run, run.plans(), baseline=measure)
    return Comparison(run.run_id, measure.info, tuple(verdicts), suite_effect(verdicts))


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
    runs = [_whole(folder, settings) for folder in folders]
    first = runs[0]
    _must_be_of_one_kind(runs)
    commits = {str(run.manifest.environment.get("git_commit") or "") for run in runs} - {""}
    info = BaselineInfo(
        first.run_id,
        first.suite.name,
        actor,
        reason,
        now_utc(),
        tuple(run.run_id for run in runs),
        min(run.manifest.started_at for run in runs),
        tuple(sorted(commits)),
    )
    cases = len(first.cases)
    made = _measured(info, runs)
    empty = sum(not n for _, n, _ in made.counts.values())
    if empty == cases:
        raise InputError("no sample came to a result: such a baseline measures nothing", str(folders[0]), _MEASURE)
    if empty:
        on_warning(f"{empty} of {cases} cases have no sample that came to a result, and so no baseline")
    if failing := [case_id for case_id, (passed, n, _) in made.counts.items() if 2 * passed < n]:
        others = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
        on_warning(f"{failing[0]}{others} failed more often than not: policy not_worse lets a case go on as it was")
    for run in runs:
        for what in _of_something_else(run, settings):
            on_warning(f"run {run.run_id} {what}")
        if early := _stopped_early(run):
            on_warning(
                f"{early} of {cases} cases stopped early in run {run.run_id}: rates at which a run stops are a "
                f"little too extreme, and rest on few samples; a run with --fixed measures better"
            )
    known = first.manifest.baseline or baseline_path(settings.suites / f"{first.suite.name}.toml")
    return made, out or Path(known)


def _of_something_else(run: Taken, settings: Settings) -> Iterator[str]:
    """That a run measured something else than the later runs of its suite, which are compared with it."""
    manifest, file = run.manifest, Path(run.manifest.file)
    if manifest.arm:
        yield f"is {manifest.arm}"
    if manifest.environment.get("git_dirty"):
        yield f"tried changes that were not committed, on top of {str(manifest.environment['git_commit'])[:10]}"
    if not manifest.file:
        return
    try:
        as_it_is = suite_json(read_suite(file, settings))
    except ConfigError:  # it is gone, or not whole without what the command line said
        return
    then, now = (measured_part(suite, _EXACTLY) for suite in (manifest.suite, as_it_is))
    if otherwise := [*differences(then, now)]:
        yield f"is not of the suite as {file} has it: {', '.join(otherwise)}"


_EXACTLY = HARMLESS.union("name prices policy policies samples retries concurrency pass_k screening affected".split())
"""Keys of a suite by which a run measures the same, however exactly."""
_MEASURE = "mend what misses or errs, and run the suite again"


def _whole(folder: Path, settings: Settings) -> Taken:
    run = load_run(folder, settings)
    if part := run.manifest.part:
        raise InputError(
            f"the run is only a part of its suite: {len(run.cases)} of {part.get('of')} cases",
            str(folder),
            "evalkit run SUITE without --filter and --only-failing",
        )
    if stopped := run.account.stopped:
        raise InputError(f"the run is not whole: {stopped}", str(folder), f"evalkit run --resume {folder} --budget ...")
    return run


def _measured(info: BaselineInfo, runs: Sequence[Taken]) -> Baseline:
    """What runs of one kind measured together."""
    first = runs[0]
    samples = first.samples  # made when they are asked for, if at all
    if len(runs) > 1:
        samples = {id: [one for run in runs for one in run.samples.get(id, ())] for id in ids_of(first.cases)}
    return make_baseline(info, samples, first.cases, frozen=first.suite.mode == "exact", estimates=_estimates(runs))


def _estimates(runs: Sequence[Taken]) -> dict[str, Estimate]:
    """By case id, the rates of those that have as many samples as they have because of what they came to."""
    known = [estimates_of(run.plans(), run.samples, twice=runs_twice(run.suite)) for run in runs]
    found: dict[str, Estimate] = {}
    for case_id in ids_of(runs[0].cases) if any(known) else ():
        each = zip(runs, known, strict=True)
        estimate = pooled([(*_counts(run.samples.get(case_id, ())), rates.get(case_id)) for run, rates in each])
        if estimate is not None:
            found[case_id] = estimate
    return found


def _counts(samples: Sequence[Sample]) -> tuple[int, int]:
    """Passes, and samples that came to a result."""
    outcomes = column(samples, "outcome")
    passed = outcomes.count("passed")
    return passed, passed + outcomes.count("failed")


def _stopped_early(run: Taken) -> int:
    """How many cases of a run took fewer samples than their policy takes where it does not stop early."""
    if not run.suite.sequential:
        return 0
    plans, samples = run.plans(), run.samples
    frozen = run.suite.mode == "exact"
    varying = [id for id in ids_of(run.cases) if not (frozen and equal_replays(samples.get(id, ())))]
    return sum(len(samples.get(id, ())) < plans[id].fixed for id in varying)


def _must_be_of_one_kind(runs: Sequence[Taken]) -> None:
    """Refuses runs whose samples can't be added up: of other suites, cases, checks, models or prompts."""
    first, suite = runs[0], runs[0].suite
    cure = "pool only runs of one suite that were answered and asked the same; or set one run alone"
    for run in runs[1:]:
        where, other = str(run.folder), run.suite
        if run.run_id == first.run_id:
            raise InputError(f"run {first.run_id} is named twice", where, "name each run once")
        if (other.name, other.mode, other.target) != (suite.name, suite.mode, suite.target):
            told = f"{other.name}, {other.mode}, {other.target} against {suite.name}, {suite.mode}, {suite.target}"
            raise InputError(f"the runs are not of one suite, mode and target: {told}", where, cure)
        of_id = {case.id: case for case in run.cases}
        if {*of_id} != {*ids_of(first.cases)}:
            raise InputError("the runs are not of the same cases", where, cure)
        for case in first.cases:
            known = facts_of(case, first.samples.get(case.id, ()))
            if why := differences_of_facts(known, facts_of(of_id[case.id], run.samples.get(case.id, ()))):
                raise InputError(f"case {case.id}: {why}", where, cure)


def _file_of(suite_or_file: str, settings: Settings) -> Path:
    path = Path(suite_or_file)
    if path.suffix == ".parquet":
        return path
    suite = suite_file(suite_or_file, settings)
    beside = baseline_path(suite)
    if beside.exists() and not suite.exists():  # of a suite that went
        return beside
    return Path(read_suite(suite, settings).baseline or beside)
