"""`evalkit run`: load -> select -> manifest -> execute -> judge the samples -> decide -> report."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.app.environment import environment, now_utc
from evalkit.app.keys import sanitizing_json
from evalkit.app.locks import current_lock_problems
from evalkit.app.narrow import narrowed
from evalkit.app.nights import chosen_history, keep_night, night_of
from evalkit.app.settings import Settings
from evalkit.case.lock import LockLine, read_lock
from evalkit.case.model import Case
from evalkit.case.store import case_versions, read_case
from evalkit.distil.coverage import coverage
from evalkit.errors import ExitCode, InputError, IntegrityError, Interrupted, ReplayRefused
from evalkit.playback.endpoint.budget import NO_LIMITS, Budget, check_prices
from evalkit.playback.keys import requested_model
from evalkit.playback.model import LAYERS, OUTSIDE_LAYERS
from evalkit.playback.targets.reference import is_outside
from evalkit.suite.account import NOTHING_SPENT, Account, read_account
from evalkit.suite.choose import choose
from evalkit.suite.config import load_suite, suite_from_json
from evalkit.suite.disk import on_disk
from evalkit.suite.journal import JOURNAL_NAME
from evalkit.suite.manifest import read_manifest, start_run, suite_json
from evalkit.suite.model import Manifest, Sample, Suite
from evalkit.suite.progress import Progress
from evalkit.suite.reopen import raise_samples
from evalkit.suite.results import SAMPLES_NAME, read_samples, read_traces
from evalkit.suite.run import OpenRun
from evalkit.suite.select import CaseRef, reference, select_cases
from evalkit.verdict.baseline import Baseline, read_baseline
from evalkit.verdict.compare import baseline_rows, case_verdicts
from evalkit.verdict.effect import suite_effect
from evalkit.verdict.gate import decide
from evalkit.verdict.history import Night, read_history
from evalkit.verdict.model import CaseVerdict, Decision, SuiteEffect
from evalkit.verdict.notices import run_notices
from evalkit.verdict.plans import Plans, make_plans, taken_of
from evalkit.verdict.schedule import wanted
from evalkit.verdict.staleness import fresh_part, stale_cases, with_staleness

if TYPE_CHECKING:
    from evalkit.report.model import Background

__all__ = [
    "Run",
    "baseline_beside",
    "baseline_path",
    "cases_of",
    "check_cost_budget",
    "exit_code",
    "finish",
    "judged",
    "layers_of",
    "load_run",
    "measures_of",
    "most_samples",
    "resume_suite",
    "run_suite",
    "runs_twice",
    "suite_baseline",
    "underpowered_lines",
]

_MOST_COVERED = 1_000
"""Cases beyond which a report tells no coverage, since it would read them all: `evalkit coverage` does."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: what was replayed, what it came to, and the decision.

    Attributes:
        folder: where its files are.
        samples: by case id, in index order.
        account: what it spent, and whether its budget stopped it.
        effect: the suite against its baseline; None without one.
        notices: what a reader of its numbers should know, a sentence each.
    """

    folder: Path
    manifest: Manifest
    samples: Mapping[str, list[Sample]]
    cases: tuple[CaseRef, ...]
    verdicts: tuple[CaseVerdict, ...]
    decision: Decision
    account: Account = NOTHING_SPENT
    effect: SuiteEffect | None = None
    notices: tuple[str, ...] = ()

    @property
    def samples_taken(self) -> int:
        """Samples of all cases."""
        return sum(verdict.samples for verdict in self.verdicts)

    @property
    def samples_fixed(self) -> int:
        """Samples that the policies take where none are saved by stopping early."""
        return sum(verdict.samples_fixed for verdict in self.verdicts)

    @property
    def calls_saved(self) -> int:
        """Live model calls that the samples not taken would have made."""
        return sum(verdict.calls_saved for verdict in self.verdicts)


def run_suite(
    path: str | Path,
    settings: Settings,
    *,
    workers: int | None = None,
    executor: str = "",
    overrides: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    baseline: str = "",
    actor: str = "",
    reason: str = "",
    only_failing: Path | None = None,
    filter_text: str = "",
    history: bool | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_warning: Callable[[str], None] = lambda _: None,
) -> Run:
    """Runs a suite from the beginning.

    Args:
        workers: replays at once; None chooses, see `suite.choose`.
        executor: ``serial``, ``fork`` or ``xdist``; empty chooses by the amount of work.
        only_failing: a run; only the cases that failed there, or could not be told, are run.
        filter_text: see `suite.filter`; only the cases that it means are run.
        overrides: suite keys that win over the file (samples, target, mode, ...).
        baseline: a baseline file; empty for the suite's own.
        on_warning: is told, before anything is replayed, what the samples will be too few for.
        history: whether the run is kept in the suite's history; None for runs of the suite as its file has it.

    Raises:
        ConfigError, InputError, IntegrityError: nothing was replayed, or the journal can be resumed.
        Interrupted: stopped; the message says how to continue.
    """
    suite = load_suite(path, overrides, settings.model)
    suite = replace(
        suite,
        target=suite.target or settings.target,
        baseline=baseline or suite.baseline or baseline_beside(path),
        on_miss=(*suite.on_miss, *settings.on_miss),
        prices=settings.prices,
    )
    cases, part = narrowed(select_cases(settings.cases, suite.select), filter_text, only_failing)
    check_cost_budget(suite, cases)
    layers = layers_of(suite, cases)
    started_at = now_utc()
    measures = measures_of(suite, cases, started_at)
    plans = make_plans(suite, cases, measures)
    underpowered = {case_id: said for case_id, plan in plans.items() if (said := plan.underpowered)}
    manifest = Manifest(
        run_id=f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{suite.name}-{secrets.token_hex(2)}",
        suite=suite_json(suite),
        cases=tuple((case.id, case.version, case.digest, case.state) for case in cases),
        started_at=started_at,
        actor=actor or settings.actor,
        reason=reason,
        environment=environment(settings.root),
        layers=layers,
        measures=measures,
        underpowered=underpowered,
        part=part,
        history=chosen_history(Path(path), suite.history, overrides or {}, history, whole=not part),
        world=settings.world.json(),
    )
    folder = folder or settings.reports / manifest.run_id
    start_run(folder, manifest)
    for line in underpowered_lines(underpowered, frozen=suite.mode == "exact"):
        on_warning(line)
    return _do(folder, manifest, suite, cases, settings, plans, workers, executor, on_progress)


def resume_suite(
    folder: Path,
    settings: Settings,
    *,
    workers: int | None = None,
    executor: str = "",
    budget: Budget = NO_LIMITS,
    samples: int | None = None,
    actor: str = "",
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Run:
    """Finishes a run that was stopped; a finished one is only judged and reported again.

    Args:
        budget: limits that take the place of those that stopped it; the account says both.
        samples: more samples a case than the run was to have; only those that it lacks are done.
        actor: who asks for them.

    Raises:
        InputError: there is no run, or a case of it changed since.
        ConfigError: a cost budget is set, and a model has no price.
    """
    if samples is not None:
        _check_raised(read_manifest(folder), samples, settings, folder)  # refused before anything changes
        raise_samples(folder, samples, at=now_utc(), actor=actor or settings.actor)
    manifest = read_manifest(folder)
    suite = suite_from_json(manifest.suite, str(folder))
    known = Budget(**read_account(folder).limits)  # type: ignore[arg-type]  # limits that `json` made
    limits = suite.budget.with_limits(known).with_limits(budget)
    suite = replace(suite, budget=limits, prices=settings.prices or suite.prices)
    cases = cases_of(manifest, settings.cases, folder)
    whole = (folder / SAMPLES_NAME).exists() and not (folder / JOURNAL_NAME).exists()
    if not whole:
        check_cost_budget(suite, cases)
    if whole:
        return finish(folder, manifest, suite, cases, settings)
    plans = make_plans(suite, cases, manifest.measures)
    return _do(folder, manifest, suite, cases, settings, plans, workers, executor, on_progress)


def load_run(folder: Path, settings: Settings) -> tuple[Manifest, Suite, list[CaseRef], dict[str, list[Sample]]]:
    """A finished run's parts.

    Raises:
        InputError: there is none, it is not finished, or a case of it is gone.
    """
    manifest = read_manifest(folder)
    samples = read_samples(folder)
    return manifest, suite_from_json(manifest.suite, str(folder)), cases_of(manifest, settings.cases, folder), samples


def exit_code(run: Run) -> ExitCode:
    """What `evalkit run` ends with: 1 when a case fails, 3 when one can't be told, else 0.

    Cases that screening left alone are no reason for 3.
    """
    effects = {verdict.effect for verdict in run.verdicts if not verdict.screened}
    if "blocks" in effects:
        return ExitCode.BLOCKED
    return ExitCode.INCONCLUSIVE if "unmeasured" in effects else ExitCode.DONE


def underpowered_lines(underpowered: Mapping[str, str], *, frozen: bool) -> Iterator[str]:
    """What is said before a run whose samples are too few; cases of one sentence share a line."""
    unless = "; only cases whose replays are all equal need fewer" if frozen else ""
    for said in dict.fromkeys(underpowered.values()):
        cases = [case_id for case_id, one in underpowered.items() if one == said]
        others = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        yield f"UNDERPOWERED: {cases[0]}{others}: {said}{unless}"


def finish(folder: Path, manifest: Manifest, suite: Suite, cases: list[CaseRef], settings: Settings) -> Run:
    """Judges a whole run's samples, decides, and writes verdicts and report."""
    from evalkit.app.reporting import write_reports

    samples, account = read_samples(folder), read_account(folder)
    verdicts = judged(manifest, suite, cases, samples, account)
    effect = suite_effect(verdicts)
    locked: list[LockLine] = read_lock(settings.cases) if suite.select.gate else []
    decision = decide(verdicts, locked, current_lock_problems(settings.cases) if suite.select.gate else [])
    notices = run_notices(samples, verdicts)
    run = Run(folder, manifest, samples, tuple(cases), tuple(verdicts), decision, account, effect, notices)
    by_need = _CasesByNeed(cases)
    seen_against = _background(manifest, suite, by_need, settings)
    whole = by_need, _traces(folder)
    with on_disk(folder / "report.html"):
        write_reports(folder, manifest, verdicts, decision, samples, *whole, account, effect, notices, seen_against)
    return run


def judged(
    manifest: Manifest,
    suite: Suite,
    cases: list[CaseRef],
    samples: Mapping[str, list[Sample]],
    account: Account,
    *,
    baseline: Baseline | None = None,
    planned: bool = True,
    plans: Plans | None = None,
) -> list[CaseVerdict]:
    """The verdicts on a run's samples, by the plans that the run was made for.

    Args:
        planned: whether the suite's policies are the run's; by others all samples are judged that there are.
        baseline: what the cases are compared with, beside the policies' own decisions; the suite's own if None.
        plans: those of the whole suite, where `cases` are only some of it.
    """
    if plans is None:
        plans = make_plans(suite, cases, manifest.measures, taken=None if planned else taken_of(samples))
    baseline = baseline or suite_baseline(suite)
    stale = stale_cases(cases, samples, baseline, suite.baseline_rules, manifest.started_at)
    verdicts = case_verdicts(
        cases,
        samples,
        plans,
        fresh_part(baseline, stale),
        frozen=suite.mode == "exact",
        alpha=suite.policy.alpha,
        stopped=account.stopped,
        pass_k=suite.pass_k,
        underpowered={case_id: plans[case_id].underpowered for case_id in manifest.underpowered if case_id in plans},
    )
    return with_staleness(verdicts, stale)


def baseline_path(suite_path: Path) -> Path:
    """Where a suite's baseline stands: beside it."""
    return suite_path.with_name(f"{suite_path.stem}.baseline.parquet")


def baseline_beside(path: str | Path) -> str:
    """The baseline beside a suite, where there is one; empty otherwise."""
    found = baseline_path(Path(path))
    return str(found) if found.exists() else ""


def _do(
    folder: Path,
    manifest: Manifest,
    suite: Suite,
    cases: list[CaseRef],
    settings: Settings,
    plans: Plans,
    workers: int | None,
    executor: str,
    on_progress: Callable[[Progress], None],
) -> Run:
    chosen, count = choose(suite, cases, most_samples(suite, plans), executor, workers)
    opened = OpenRun(
        folder,
        suite,
        cases,
        executor=chosen,
        workers=count,
        on_progress=on_progress,
        sanitizing=sanitizing_json(settings),
        world=manifest.world,
        at_most=most_samples(suite, plans),
    )
    try:
        with opened as run:
            _take_samples(run, plans, twice=runs_twice(suite))
            run.finish()
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was done is kept", str(folder), f"evalkit run --resume {folder}") from None
    return _kept(finish(folder, manifest, suite, cases, settings))


def _kept(run: Run) -> Run:
    """A run that has just ended is kept in its suite's history, where it is whole and asked for."""
    if not run.manifest.history or run.account.stopped:
        return run
    fault = keep_night(run.manifest, night_of(run.manifest, run.samples, run.verdicts, run.decision))
    return replace(run, notices=(*run.notices, fault)) if fault else run


def _check_raised(manifest: Manifest, samples: int, settings: Settings, folder: Path) -> None:
    """Refuses a number below what a policy plans by itself: it would take samples away."""
    suite, cases = suite_from_json(manifest.suite, str(folder)), cases_of(manifest, settings.cases, folder)
    if suite.samples is None:
        most = max(plan.most for plan in make_plans(suite, cases, manifest.measures).values())
        if samples <= most:
            cure = f"pass more than {most}, or run the suite again with --samples"
            raise InputError(
                f"the run's policies plan up to {most} samples a case, wanted {samples}", str(folder), cure
            )


def _take_samples(run: OpenRun, plans: Plans, *, twice: bool) -> None:
    """Look by look, what the undecided cases need; until all are decided, or the budget is spent."""
    while (lacking := wanted(plans, run.seen, frozen=twice)) and run.up_to(lacking):
        pass


def runs_twice(suite: Suite) -> bool:
    """Whether two equal replays are enough."""
    return suite.mode == "exact" and suite.sequential


def most_samples(suite: Suite, plans: Plans) -> int:
    """How many samples a run may take."""
    return sum(2 if runs_twice(suite) else plan.fixed for plan in plans.values())


def check_cost_budget(suite: Suite, cases: list[CaseRef]) -> None:
    """Refuses a cost budget that can't be kept; which models will be asked, the recordings say."""
    if suite.budget.cost_usd is None or suite.model is None or not suite.live:
        return
    if suite.model.name is not None:
        check_prices(suite.budget, suite.prices, [suite.model.name])
        return
    for case in cases:
        steps = read_case(case.path).trace.trace.of_kind("model")
        check_prices(suite.budget, suite.prices, sorted({requested_model(step) or "" for step in steps}))


def _outside(suite: Suite, cases: list[CaseRef]) -> list[bool]:
    """Whether the agents that a suite starts are in other processes, case by case."""
    return [is_outside(suite.target or case.target) for case in cases]


def layers_of(suite: Suite, cases: list[CaseRef]) -> tuple[str, ...]:
    """What will keep the run's replays from the world; said in the manifest and the report.

    Raises:
        ReplayRefused: a sandbox is asked for, and Landlock or seccomp does not hold.
    """
    if not suite.sandbox:
        outside = _outside(suite, cases)
        return (*(() if outside and all(outside) else LAYERS), *(OUTSIDE_LAYERS if any(outside) else ()))
    from evalkit.playback.sandbox.run import probe_layers  # runs without a sandbox need not load it

    held = probe_layers()
    if not held.safe and not suite.unsafe_replay:
        raise ReplayRefused(*held.refusal("sandbox"))
    return held.told(live=suite.live)


def suite_baseline(suite: Suite) -> Baseline | None:
    """The baseline that a suite names, if it does."""
    return read_baseline(Path(suite.baseline)) if suite.baseline else None


def measures_of(suite: Suite, cases: list[CaseRef], at: str) -> dict[str, tuple[int, int]]:
    """Passes and samples in the suite's baseline, of each case that has one which is not known to be stale."""
    baseline = suite_baseline(suite)
    rows, stale = baseline_rows(cases, baseline), stale_cases(cases, {}, baseline, suite.baseline_rules, at)
    return {id: (row.passed, row.n) for id, row in rows.items() if row is not None and id not in stale}


def cases_of(manifest: Manifest, root: Path, folder: Path) -> list[CaseRef]:
    """The run's cases as they were run; a version that is gone or is another one now is refused."""
    found: list[CaseRef] = []
    for case_id, version, digest, _ in manifest.cases:
        path = dict(case_versions(root / case_id)).get(version)
        if path is None:
            raise InputError(
                f"case {case_id} version {version} is gone", str(folder), "restore it, or run the suite again"
            )
        case = reference(path)
        if case.digest != digest:
            raise IntegrityError(f"case {case_id} version {version} is another file now", str(path), "git checkout it")
        found.append(case)
    return found


def _background(manifest: Manifest, suite: Suite, cases: Mapping[str, Case], settings: Settings) -> Background:
    """What the report sees the run against: earlier nights, the baseline, and what its cases cover."""
    from evalkit.report.model import Background

    baseline = suite_baseline(suite)
    return Background(
        nights=_nights(manifest),
        baseline=None if baseline is None else baseline.info,
        coverage=coverage(cases.values(), [name for name, _ in settings.effects])
        if len(cases) <= _MOST_COVERED
        else None,
    )


def _nights(manifest: Manifest) -> tuple[Night, ...]:
    """The suite's nights; a broken history stops no report: it is told of where this run can't be added to it."""
    try:
        return read_history(Path(manifest.history)) if manifest.history else ()
    except InputError:
        return ()


class _CasesByNeed(Mapping[str, Case]):
    """The run's cases by id, each read when it is asked for: a report shows few of them in full."""

    def __init__(self, cases: list[CaseRef]) -> None:
        self._paths = {case.id: case.path for case in cases}
        self._read: dict[str, Case] = {}

    def __getitem__(self, case_id: str) -> Case:
        if case_id not in self._read:
            self._read[case_id] = read_case(self._paths[case_id])
        return self._read[case_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _traces(folder: Path) -> Callable[[list[str]], Mapping[str, Any]]:
    return lambda digests: read_traces(folder, digests)
