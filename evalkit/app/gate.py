"""`evalkit gate`: reads a finished run, makes no calls, and decides the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.app.affected import holding
from evalkit.app.base_lock import Compared, compare_with_base
from evalkit.app.base_suite import changed_suite
from evalkit.app.base_tree import base_tree
from evalkit.app.gate_policy import policy_words, with_policy
from evalkit.app.locks import current_lock_problems
from evalkit.app.run_end import cases_left, judged, notices_of, write_run
from evalkit.app.run_model import Run
from evalkit.app.settings import Settings
from evalkit.capture.environment import git_commit
from evalkit.case.lock import read_lock
from evalkit.case.store import read_case
from evalkit.errors import ExitCode
from evalkit.playback.model import UNSAFE
from evalkit.suite.account import Account, read_account
from evalkit.suite.config import suite_from_json
from evalkit.suite.freed import take_from_system
from evalkit.suite.manifest import read_manifest
from evalkit.suite.model import Manifest, Sample, Selection
from evalkit.suite.results import read_samples
from evalkit.suite.select import list_cases
from evalkit.verdict.effect import suite_effect
from evalkit.verdict.gate import decide
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.plans import Plans, make_plans
from evalkit.verdict.verdicts import changed

__all__ = ["gate_exit_code", "gate_run"]

_CODES = {"PASS": ExitCode.DONE, "BLOCKED": ExitCode.BLOCKED, "INCONCLUSIVE": ExitCode.INCONCLUSIVE}


def gate_run(
    folder: Path,
    settings: Settings,
    *,
    against: str = "",
    policy: Mapping[str, Any] | None = None,
    report: bool = False,
) -> Run:
    """Decides from a run's samples and the gate lock.

    Args:
        against: a git reference, such as ``origin/main``: what its lock holds may not be missing or weaker here.
        policy: keys of a suite that take the place of the run's: ``policy``, ``policies``; None for its own.
        report: whether the run's reports are written again, with this decision.

    Raises:
        InputError: the run is not finished.
        ConfigError: the policy is none.
        IntegrityError: run, case or lock was changed after writing.
    """
    take_from_system()
    manifest, samples = read_manifest(folder), read_samples(folder)
    suite = suite_from_json(manifest.suite, str(folder))
    cases, gone = cases_left(manifest, settings.cases)
    account = read_account(folder)
    plans = make_plans(suite, cases, manifest.measures)
    if policy is not None:
        suite = with_policy(manifest.suite, policy)
    if policy is None:
        verdicts = judged(manifest, suite, cases, samples, account, plans=plans)
    else:
        verdicts = judged(manifest, suite, cases, samples, account, planned=False, sampled=plans)
    verdicts, retired = _without_retired(verdicts, settings)
    problems = current_lock_problems(settings.cases)
    tree = base_tree(settings.root, against) if against else None
    compared = compare_with_base(settings.cases, tree) if tree else Compared(())
    problems += compared.problems
    permanent = [verdict.case_id for verdict in verdicts if verdict.permanent]
    holds = [
        *_unsafe(manifest, verdicts),
        *_skipped(verdicts, samples, account),
        *_gone(gone),
        *holding(permanent, suite.affected.with_more(settings.affected), settings),
    ]
    left_out = _left_out(suite.select, manifest)
    decision = decide(verdicts, read_lock(settings.cases), problems, holds=holds, left_out=left_out)
    run = Run(
        folder=folder,
        manifest=manifest,
        samples=samples,
        cases=cases,
        verdicts=verdicts,
        decision=decision,
        account=account,
        effect=suite_effect(verdicts),
        notices=(
            *_elsewhere(settings.cases, gone),
            *([compared.nothing] if compared.nothing else ()),
            *(changed_suite(manifest.suite, settings.suites, tree) if tree else ()),
            *_another_commit(manifest, settings),
            *_another_policy(manifest, policy, verdicts, plans),
            *retired,
            *(f"{case_id} {sentence}" for case_id, sentence in _gone(gone, permanent=False)),
            *notices_of(folder, manifest, suite, samples, verdicts, plans),
        ),
    )
    if report:
        write_run(run, suite, settings)
    return run


def gate_exit_code(decision: Decision) -> ExitCode:
    """The exit code of a decision."""
    return _CODES[decision.outcome]


def _another_policy(
    manifest: Manifest, policy: Mapping[str, Any] | None, verdicts: Sequence[CaseVerdict], plans: Plans
) -> Iterator[str]:
    if policy is None:
        return
    now, then = policy_words(policy), policy_words(manifest.suite)
    yield f"gated under another policy than the run's: {now} instead of {then}"
    early = sum(verdict.samples < plans[verdict.case_id].fixed and not verdict.deterministic for verdict in verdicts)
    if early and manifest.suite.get("sequential", True):
        yield (
            f"the run may have stopped as soon as its own policy was decided, in {early} of {len(verdicts)} cases; the "
            "error rates of another policy hold for runs with --fixed only"
        )


def _another_commit(manifest: Manifest, settings: Settings) -> Iterator[str]:
    """What the run tried may not be what is to be released."""
    ran, now = manifest.environment.get("git_commit"), git_commit(settings.root)
    if ran and now and ran != now:
        yield f"the run is of commit {str(ran)[:10]}, and this is {now[:10]}: what changed between them was not run"


def _without_retired(verdicts: Sequence[CaseVerdict], settings: Settings) -> tuple[Sequence[CaseVerdict], list[str]]:
    """Verdicts in which cases that were retired since the run block nothing any more; and that they were, in words."""
    retired = {case.id: case.path for case in list_cases(settings.cases) if case.state == "retired"}
    told = []

    def without(verdict: CaseVerdict) -> CaseVerdict:
        if not verdict.permanent or verdict.case_id not in retired:
            return verdict
        event = read_case(retired[verdict.case_id]).life[-1]
        told.append(f"{verdict.case_id} was retired after it was run, by {event.actor} at {event.at}: {event.reason}")
        return replace(verdict, permanent=False)

    return (changed(verdicts, without) if retired else verdicts), told


def _unsafe(manifest: Manifest, verdicts: Sequence[CaseVerdict]) -> Iterator[tuple[str, str]]:
    """A run in which an agent could reach the machine says nothing that a release may hang on."""
    permanent = sum(verdict.permanent for verdict in verdicts)
    for layer in manifest.layers:
        if layer.startswith(UNSAFE) and permanent:
            cure = "run it where the layers hold, or without a sandbox"
            yield "sandbox", f"{permanent} permanent cases ran in an {layer}; {cure}"


def _skipped(
    verdicts: Sequence[CaseVerdict], samples: Mapping[str, Sequence[Sample]], account: Account
) -> Iterator[tuple[str, str]]:
    """Permanent cases that the run names and holds no sample of, though nothing stopped it."""
    for verdict in verdicts:
        if verdict.permanent and not samples.get(verdict.case_id) and not account.stopped:
            yield verdict.case_id, "is a permanent gate and was skipped: the run holds no sample of it"


def _gone(gone: Sequence[tuple[str, int, str]], *, permanent: bool = True) -> Iterator[tuple[str, str]]:
    """Cases that were run and that nobody can judge any more: they may have been deleted to be rid of a gate."""
    for case_id, version, state in gone:
        if (state == "permanent") is permanent:
            what = "is a permanent gate, and" if permanent else "was run, and"
            yield case_id, f"{what} version {version} of it is gone: restore it, or run the suite again"


def _elsewhere(cases: Path, gone: Sequence[tuple[str, int, str]]) -> Iterator[str]:
    """Where all is gone, the command may have been called in another folder."""
    if gone and not cases.is_dir():
        yield f"there is no folder {cases}: is this the project's?"


def _left_out(select: Selection, manifest: Manifest) -> str:
    """Why cases may not be in the run; empty where it took every case."""
    if expression := manifest.part.get("filter"):
        return f"the run was limited to --filter {expression}"
    if run_id := manifest.part.get("only_failing"):
        return f"the run was limited to what failed in {run_id}"
    parts = [
        f"{name} {', '.join(values)}"
        for name, values in (("ids", select.ids), ("tags", select.tags), ("signatures", select.signatures))
        if values
    ]
    return f"the suite selects {' and '.join(parts)}" if parts else ""
