"""`evalkit run`: load -> select -> plan -> manifest -> take samples -> judge, decide, report -> keep the night."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.app.ab_plan import ARMS_NAME
from evalkit.app.environment import environment, fresh_run_id, now_utc
from evalkit.app.keys import sanitizing_json
from evalkit.app.narrow import narrowed
from evalkit.app.nights import chosen_history, keep_night
from evalkit.app.run_end import cases_of, finish, load_reporting, load_run
from evalkit.app.run_model import Begun, Run
from evalkit.app.run_plan import (
    baseline_path,
    check_cost_budget,
    layers_of,
    measures_of,
    read_suite,
    runs_twice,
    samples_about,
    underpowered_lines,
)
from evalkit.app.settings import Settings
from evalkit.app.workforce import Workforce
from evalkit.errors import ExitCode, InputError, Interrupted
from evalkit.playback.endpoint.budget import NO_LIMITS, Budget
from evalkit.suite.account import read_account
from evalkit.suite.begun import beginning, starting
from evalkit.suite.config import suite_from_json
from evalkit.suite.freed import give_back, take_from_system
from evalkit.suite.manifest import read_manifest, start_run, suite_json
from evalkit.suite.model import Manifest
from evalkit.suite.progress import Progress
from evalkit.suite.reopen import go_on, raise_samples
from evalkit.suite.results import is_whole
from evalkit.suite.run import OpenRun
from evalkit.suite.select import select_cases
from evalkit.verdict.night import night_of
from evalkit.verdict.plans import Plans, make_plans
from evalkit.verdict.schedule import wanted
from evalkit.verdict.verdicts import distinct

__all__ = ["exit_code", "report_run", "resume_suite", "run_suite"]


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
    suite = read_suite(path, settings, overrides)
    own_baseline = suite.baseline or str(baseline_path(Path(path)))
    suite = replace(suite, baseline=baseline or suite.baseline)
    cases, part = narrowed(
        select_cases(settings.cases, suite.select, compared=bool(suite.baseline)), filter_text, only_failing
    )
    check_cost_budget(suite, cases)
    layers = layers_of(suite, cases)
    started_at = now_utc()
    measures = measures_of(suite, cases, started_at)
    plans = make_plans(suite, cases, measures)
    underpowered = {case_id: said for case_id, plan in plans.items() if (said := plan.underpowered)}
    manifest = Manifest(
        run_id=fresh_run_id(suite.name),
        suite=suite_json(suite),
        cases=cases.named,
        started_at=started_at,
        file=str(path),
        actor=actor or settings.actor,
        reason=reason,
        environment=environment(settings.root),
        layers=layers,
        measures=measures,
        underpowered=underpowered,
        part=part,
        history=chosen_history(Path(path), suite.history, overrides or {}, history, whole=not part),
        baseline=own_baseline,
        world=settings.world.json(),
    )
    folder = folder or settings.reports / manifest.run_id
    with starting(folder):
        start_run(folder, manifest)
    for line in underpowered_lines(underpowered, frozen=suite.mode == "exact"):
        on_warning(line)
    with beginning(folder):
        return _do(Begun(folder, manifest, suite, cases), settings, plans, Workforce(executor, workers, on_progress))


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
        actor: who asks for them, or goes on.

    Raises:
        InputError: there is no run, it is an arm of an A/B run, or a case of it changed since.
        ConfigError: a cost budget is set, and a model has no price.
    """
    _check_alone(folder)
    if samples is not None:
        _check_raised(read_manifest(folder), samples, settings, folder)  # refused before anything changes
        raise_samples(folder, samples, at=now_utc(), actor=actor or settings.actor)
    manifest = read_manifest(folder)
    suite = suite_from_json(manifest.suite, str(folder))
    known = Budget(**read_account(folder).limits)  # type: ignore[arg-type]  # limits that `json` made
    limits = suite.budget.with_limits(known).with_limits(budget)
    suite = replace(suite, budget=limits, prices=settings.prices or suite.prices)
    run = Begun(folder, manifest, suite, cases_of(manifest, settings.cases, folder))
    if is_whole(folder):
        with _resumable(folder):
            return finish(run.taken(), settings)
    check_cost_budget(suite, run.cases)
    manifest = go_on(folder, environment(settings.root), at=now_utc(), actor=actor or settings.actor)
    run = replace(run, manifest=manifest)
    return _do(run, settings, run.plans(), Workforce(executor, workers, on_progress))


def report_run(folder: Path, settings: Settings) -> Run:
    """Judges and reports a run again from the samples that it has; makes no calls.

    Raises:
        InputError: there is no run, it is not finished, or a case of it is gone.
    """
    return finish(load_run(folder, settings), settings)


def exit_code(run: Run) -> ExitCode:
    """What `evalkit run` ends with: 1 when a case fails, 3 when one can't be told, else 0.

    Cases that screening left alone are no reason for 3.
    """
    effects = {verdict.effect for verdict, _ in distinct(run.verdicts) if not verdict.screened}
    if "blocks" in effects:
        return ExitCode.BLOCKED
    return ExitCode.INCONCLUSIVE if "unmeasured" in effects else ExitCode.DONE


def _do(run: Begun, settings: Settings, plans: Plans, by: Workforce) -> Run:
    take_from_system()
    about = samples_about(run.suite, plans)
    executor, count = by.chosen(run.suite, run.cases, about)
    with _resumable(run.folder):
        _replay(
            OpenRun(  # not kept here: what was held of the samples meanwhile is gone before they are judged
                run.folder,
                run.suite,
                run.cases,
                executor=executor,
                workers=count,
                on_progress=by.on_progress,
                sanitizing=sanitizing_json(settings),
                world=run.manifest.world,
                about=about,
                meanwhile=load_reporting,
            ),
            plans,
            twice=runs_twice(run.suite),
        )
        give_back()  # tables that were written in between: some 20 MB
        return _kept(finish(run.taken(), settings, plans))


def _replay(opened: OpenRun, plans: Plans, *, twice: bool) -> None:
    """Takes the samples, and writes them."""
    with opened as run:
        _take_samples(run, plans, twice=twice)
        run.finish()


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Whoever stops what is done inside is told how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was done is kept", str(folder), f"evalkit run --resume {folder}") from None


def _kept(run: Run) -> Run:
    """A run that has just ended is kept in its suite's history, where it is whole and asked for."""
    if not run.manifest.history or run.account.stopped:
        return run
    fault = keep_night(run.manifest, night_of(run.manifest, run.samples, run.verdicts, run.decision))
    unkept = replace(run.manifest, history="")  # what is shown of it; the file stays as it was written
    return replace(run, manifest=unkept, notices=(*run.notices, fault)) if fault else run


def _check_alone(folder: Path) -> None:
    """Refuses one arm of an A/B run: on its own it would take no turns, and may come to more samples than the other."""
    whole = folder.absolute().parent
    if (whole / ARMS_NAME).exists():
        raise InputError("it is an arm of an A/B run", str(folder), f"evalkit ab --resume {whole}")


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
    goes_on = run.again()
    while goes_on and (lacking := wanted(plans, run.seen, frozen=twice)):
        goes_on = run.up_to(lacking)
