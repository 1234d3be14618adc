"""`evalkit ab`: two arms of a suite in turns, each a run of its own, compared case by case.

reports/<id>/arms.json   what was to be compared, written first
reports/<id>/a, b        the arms' runs
reports/<id>/ab.json, summary.md   the verdict
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.app.ab_arms import ArmSpec, arm_overrides
from evalkit.app.ab_checks import check_primary, check_targets
from evalkit.app.ab_model import ABRun
from evalkit.app.ab_plan import ARMS_NAME, ABPlan, read_plan, write_plan
from evalkit.app.ab_work import Work, take_turns
from evalkit.app.environment import environment, fresh_run_id, now_utc
from evalkit.app.run_end import cases_of, finish, load_run
from evalkit.app.run_model import Begun
from evalkit.app.run_plan import check_cost_budget, layers_of, measures_of, read_suite, runs_twice
from evalkit.app.settings import Settings
from evalkit.app.show_ab import write_ab
from evalkit.app.workforce import Workforce
from evalkit.errors import ConfigError, ExitCode, InputError, Interrupted
from evalkit.playback.endpoint.budget import NO_LIMITS, Budget
from evalkit.suite.begun import beginning, starting
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.config import suite_from_json
from evalkit.suite.disk import DiskFault
from evalkit.suite.manifest import read_manifest, start_run, suite_json
from evalkit.suite.model import Manifest, Suite
from evalkit.suite.progress import Progress
from evalkit.suite.reopen import go_on
from evalkit.suite.results import is_whole
from evalkit.suite.select import select_cases
from evalkit.suite.turns import Arm
from evalkit.verdict.ab import Metric
from evalkit.verdict.ab_compare import ArmSamples, compare_arms
from evalkit.verdict.estimate import first_looks
from evalkit.verdict.notices import went_on

__all__ = ["ab_exit_code", "ab_of_runs", "ab_resume", "ab_suite"]

_SAMPLES = 10
_BLOCKS = 4
_ARMS: tuple[Arm, Arm] = ("a", "b")


def ab_suite(
    path: str | Path,
    settings: Settings,
    a: ArmSpec,
    b: ArmSpec,
    *,
    samples: int | None = None,
    blocks: int = _BLOCKS,
    primary: Metric = "pass_rate",
    alpha: float = 0.05,
    overrides: Mapping[str, Any] | None = None,
    workers: int | None = None,
    executor: str = "",
    budget: Budget = NO_LIMITS,
    folder: Path | None = None,
    actor: str = "",
    reason: str = "",
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> ABRun:
    """Runs both arms of a suite in turns and compares them.

    Args:
        samples: a case and arm; the suite's, else 10.
        blocks: A B B A blocks; more of them even out faster drifts, and cost a start of the workers each.
        primary: the metric that decides.
        alpha: see `verdict.ab_compare.compare_arms`.
        overrides: suite keys that win over the file in both arms.
        budget: of both arms together; without it the suite's.

    Raises:
        ConfigError, InputError, IntegrityError: nothing was replayed, or the runs can be resumed.
        Interrupted: stopped; the message says how to continue.
    """
    suites = _suites(path, settings, (a, b), overrides or {}, samples, budget)
    cases = select_cases(settings.cases, suites[0].select)
    for suite in suites:
        check_cost_budget(suite, cases)
    check_primary(primary, suites, cases)
    check_targets(suites, cases)
    began = now_utc()
    facts = [(suite, layers_of(suite, cases), measures_of(suite, cases, began)) for suite in suites]
    name = fresh_run_id(f"ab-{suites[0].name}")
    folder = folder or settings.reports / name
    if folder.exists():
        begun = (folder / ARMS_NAME).exists()
        cure = "pass --resume, or another name" if begun else "pass another name, or remove it"
        raise InputError("there is a folder of this name already", str(folder), cure)
    found = environment(settings.root)
    plan = ABPlan((a.name, b.name), suites[0].samples or _SAMPLES, blocks, primary, alpha, suites[0].budget)
    runs = []
    with starting(folder):
        for arm, named, (suite, held, compared) in zip(_ARMS, plan.names, facts, strict=True):
            manifest = Manifest(
                run_id=f"{name}-{arm}",
                suite=suite_json(suite),
                cases=cases.named,
                started_at=began,
                file=str(path),
                arm=f"arm {arm} of {name} ({named})",
                actor=actor or settings.actor,
                reason=reason,
                environment=found,
                layers=held,
                world=settings.world.json(),
                measures=compared,
            )
            start_run(folder / arm, manifest)
            runs.append(Begun(folder / arm, manifest, suite, cases))
        write_plan(folder, plan)
    with beginning(folder, *(folder / arm for arm in _ARMS)):
        return _do(folder, plan, settings, runs, Workforce(executor, workers, on_progress))


def ab_resume(
    folder: Path,
    settings: Settings,
    *,
    workers: int | None = None,
    executor: str = "",
    budget: Budget = NO_LIMITS,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> ABRun:
    """Finishes what was stopped; whole runs are only compared again.

    Args:
        budget: limits that take the place of those that stopped it.

    Raises:
        InputError: there is no A/B run, or a case of it changed since.
        IntegrityError: its plan is broken.
    """
    plan = read_plan(folder)
    if budget.json():
        plan = replace(plan, budget=plan.budget.with_limits(budget))
        with _resumable(folder):
            write_plan(folder, plan)
    code = environment(settings.root)
    manifests = [
        read_manifest(run) if is_whole(run) else go_on(run, code, at=now_utc(), actor=settings.actor)
        for run in (folder / arm for arm in _ARMS)
    ]
    cases = cases_of(manifests[0], settings.cases, folder)
    runs = []
    for arm, manifest in zip(_ARMS, manifests, strict=True):
        suite = suite_from_json(manifest.suite, str(folder))
        suite = replace(suite, budget=plan.budget, prices=settings.prices or suite.prices)
        check_cost_budget(suite, cases)
        runs.append(Begun(folder / arm, manifest, suite, cases))
    return _do(folder, plan, settings, runs, Workforce(executor, workers, on_progress))


def ab_of_runs(
    folder_a: Path, folder_b: Path, settings: Settings, *, primary: Metric = "pass_rate", alpha: float = 0.05
) -> ABRun:
    """Compares two finished runs; makes no calls.

    A case is compared where both runs have it with the same recording and the same checks.

    Raises:
        InputError: a run is not there or not finished, a case of it is gone, or both are one.
    """
    a, b = load_run(folder_a, settings), load_run(folder_b, settings)
    if a.run_id == b.run_id:
        raise InputError(f"both are run {a.run_id}: that shows nothing", str(folder_b), "name two runs")
    of_a, of_b = ({case.id: case for case in run.cases} for run in (a, b))
    left_out = {}
    for case_id, case in {**of_a, **of_b}.items():
        if case_id not in of_b or case_id not in of_a:
            left_out[case_id] = f"only run {'B' if case_id in of_b else 'A'} has it"
        elif _guards(of_a[case_id]) != _guards(case):
            left_out[case_id] = "its recording or its checks are others in run B"
    remarks: list[str] = []
    interleaved = _took_turns(folder_a, folder_b)
    if not interleaved:
        remarks.append("the runs did not take turns: whatever changed between them is part of the difference")
    arms = []
    for name, run in (("A", a), ("B", b)):
        if stopped := run.account.stopped:
            remarks.append(f"run {name} is not whole: {stopped}")
        compared, more = first_looks(run.plans(), run.samples, twice=runs_twice(run.suite))
        arms.append(_arm(f"run {run.run_id}", run.suite, compared))
        if more:
            remarks.append(
                f"run {name} took as many samples as it did because of what they came to: of {more} of its "
                f"{len(run.cases)} cases those of the first look are compared; runs with --fixed compare all"
            )
    every = [*a.cases, *(case for case in b.cases if case.id not in of_a)]
    verdict = compare_arms(every, *arms, primary=primary, alpha=alpha, left_out=left_out, remarks=remarks)
    return ABRun(None, (folder_a, folder_b), interleaved, verdict)


def _took_turns(folder_a: Path, folder_b: Path) -> bool:
    """Whether they are the arms of one A/B run."""
    a, b = folder_a.absolute().parent, folder_b.absolute().parent
    return a == b and (a / ARMS_NAME).exists()


def ab_exit_code(run: ABRun, *, fail_if_worse: bool = False) -> ExitCode:
    """What `evalkit ab` ends with: 3 where nothing could be compared or the budget stopped it, else 0.

    Args:
        fail_if_worse: 1 where arm b is shown to be worse on the primary metric; 3 where neither arm is, and one
            lost more samples than the other: that b is worse may be what was lost.
    """
    if fail_if_worse and run.verdict.better == "a":
        return ExitCode.BLOCKED
    hidden = fail_if_worse and run.verdict.unequal_loss and run.verdict.better != "b"
    unmeasured = run.stopped or run.verdict.better == "not compared" or hidden
    return ExitCode.INCONCLUSIVE if unmeasured else ExitCode.DONE


def _suites(
    path: str | Path,
    settings: Settings,
    arms: tuple[ArmSpec, ArmSpec],
    overrides: Mapping[str, Any],
    samples: int | None,
    budget: Budget,
) -> list[Suite]:
    """Each arm's suite.

    Raises:
        ConfigError: neither arm has anything of its own, or asks a frozen model otherwise.
    """
    if not any(arm.given for arm in arms):
        raise ConfigError("the arms are the same", "--a, --b", "give one of them something, such as --b prompt=new.txt")
    asked = any(arm.asks_otherwise for arm in arms)
    live = asked and read_suite(path, settings, {**overrides, "mode": None}).mode == "exact"
    own = [arm_overrides(arm, live=live, flag=flag) for arm, flag in zip(arms, ("--a", "--b"), strict=True)]
    found = []
    for arm in own:
        suite = read_suite(path, settings, {**overrides, **arm})
        found.append(
            replace(
                suite,
                samples=samples or suite.samples or _SAMPLES,
                sequential=False,
                budget=suite.budget.with_limits(budget),
            )
        )
    return found


def _do(folder: Path, plan: ABPlan, settings: Settings, runs: Sequence[Begun], by: Workforce) -> ABRun:
    cases = runs[0].cases
    suites = {arm: run.suite for arm, run in zip(_ARMS, runs, strict=True)}
    executors = {arm: by.chosen(suite, cases, plan.samples * len(cases)) for arm, suite in suites.items()}
    work = Work(folder, suites, cases, plan.samples, plan.budget, executors)
    with _resumable(folder):
        stopped = take_turns(work, plan.blocks, settings, by.on_progress)
        return _compared(folder, plan, settings, runs, stopped)


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """What is to be resumed is the whole, not an arm's run."""
    resume = f"evalkit ab --resume {folder}"
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was done is kept", str(folder), resume) from None
    except DiskFault as error:
        raise DiskFault(error.what, error.where, f"make room, then {resume}") from None


def _compared(folder: Path, plan: ABPlan, settings: Settings, runs: Sequence[Begun], stopped: str) -> ABRun:
    """The verdict on what both arms came to; written down, as the arms' own reports are."""
    remarks = [f"stopped before its end: {stopped}"] if stopped else []
    arms = []
    for arm, name, begun in zip(_ARMS, plan.names, runs, strict=True):
        taken, manifest = begun.taken(), begun.manifest
        remarks += [f"arm {arm.upper()}: {one}" for one in went_on(manifest.environment, manifest.continued)]
        finish(taken, settings)
        arms.append(_arm(name, taken.suite, taken.samples))
    if runs[0].suite == runs[1].suite:
        remarks.append("both arms are the same: whatever differs is chance, or a drift between their turns")
    verdict = compare_arms(runs[0].cases, *arms, primary=plan.primary, alpha=plan.alpha, remarks=remarks)
    run = ABRun(folder, (folder / "a", folder / "b"), True, verdict, stopped)
    write_ab(run, folder)
    return run


def _arm(name: str, suite: Suite, samples: Mapping[str, Any]) -> ArmSamples:
    return ArmSamples(name, samples, frozen=suite.mode == "exact", live=suite.live)


def _guards(case: CaseRef) -> tuple[str, str]:
    """What makes two versions of a case comparable: what is replayed, and what it must come to."""
    return case.raw_hash, case.checks_digest
