"""`evalkit gate`: reads a finished run, makes no calls, and decides the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.app.affected import holding
from evalkit.app.base_lock import Compared, compare_with_base
from evalkit.app.base_settings import changed_settings
from evalkit.app.base_suite import changed_suite, other_than_its_file
from evalkit.app.base_tree import BaseTree, base_tree
from evalkit.app.differences import policy_changes
from evalkit.app.gate_policy import with_policy
from evalkit.app.holds import holds_of, left_out_by
from evalkit.app.locks import problems_with
from evalkit.app.run_end import cases_left, judged, notices_of, write_run
from evalkit.app.run_model import Run, Taken
from evalkit.app.settings import Settings
from evalkit.app.since import Since, retired_since
from evalkit.capture.environment import git_commit
from evalkit.case.lock import read_lock
from evalkit.errors import ExitCode, InputError
from evalkit.suite.account import read_account
from evalkit.suite.case_ref import CaseRefs
from evalkit.suite.config import suite_from_json
from evalkit.suite.freed import take_from_system
from evalkit.suite.manifest import read_manifest
from evalkit.suite.model import Manifest, Suite
from evalkit.suite.results import read_samples
from evalkit.suite.select import list_cases
from evalkit.verdict.gate import decide
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.plans import Plans, make_plans, taken_of

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
    ran = suite_from_json(manifest.suite, str(folder))
    cases, gone = cases_left(manifest, settings.cases)
    run = Taken(folder, manifest, ran, cases, samples, read_account(folder))
    plans = judging = run.plans()
    if policy is not None:
        run = replace(run, suite=with_policy(manifest.suite, policy))
        judging = make_plans(run.suite, cases, manifest.measures, taken=taken_of(samples))
    suite = run.suite
    verdicts = judged(run, judging, sampled=plans)
    listed, locked = CaseRefs(list_cases(settings.cases)), read_lock(settings.cases)
    since = Since(retired_since(verdicts, listed), gone)
    verdicts = since.released(verdicts)
    tree = base_tree(settings.root, against) if against else None
    compared = compare_with_base(settings.cases, listed, tree) if tree else Compared(())
    problems = [*problems_with(locked, listed), *compared.problems]
    permanent = {verdict.case_id for verdict in verdicts if verdict.permanent}
    gates = (case for case in listed if case.id in permanent)
    held = holding(gates, suite.affected.with_more(settings.affected), settings)
    holds = [*holds_of(run, verdicts), *since.holds(), *held.holds]
    left_out = left_out_by(manifest, suite.select)
    decision = decide(verdicts, locked, problems, holds=holds, left_out=left_out)
    decided = run.decided(
        verdicts,
        decision,
        notices=(
            *since.elsewhere(settings.cases),
            *compared.told,
            *(_otherwise(manifest, settings, tree) if tree else other_than_its_file(manifest, settings)),
            *_another_commit(manifest, settings),
            *_another_try(manifest),
            *_of_an_arm(manifest),
            *(() if policy is None else _another_policy(suite, ran, verdicts, plans)),
            *since.told(),
            *_untold(held.unknown),
            *notices_of(run, verdicts, plans),
        ),
    )
    if report:
        write_run(decided, suite, settings)
    return decided


def gate_exit_code(decision: Decision) -> ExitCode:
    """The exit code of a decision."""
    return _CODES[decision.outcome]


def _another_policy(now: Suite, then: Suite, verdicts: Sequence[CaseVerdict], plans: Plans) -> Iterator[str]:
    """What decides instead of the run's own policy, and what the samples were taken for."""
    changes = [*policy_changes(now.policy, then.policy)]
    if now.policies != then.policies:
        changes.append("other policies for some cases")
    told = f"another policy than the run's: {', '.join(changes)}" if changes else "the run's own policy, of all samples"
    yield f"gated under {told}"
    early = sum(verdict.samples < plans[verdict.case_id].fixed and not verdict.deterministic for verdict in verdicts)
    if early and then.sequential:
        yield (
            f"the run may have stopped as soon as its own policy was decided, in {early} of {len(verdicts)} cases; the "
            "error rates of another policy hold for runs with --fixed only"
        )


def _otherwise(manifest: Manifest, settings: Settings, tree: BaseTree) -> Iterator[str]:
    """What suite and settings say otherwise than the base's, and that the base may be what is to be released itself."""
    if tree.commit == git_commit(settings.root):
        yield (
            f"{tree.base} is the commit that is checked out: what it changed was compared with nothing (--against "
            "the commit before, such as HEAD~1)"
        )
    found = [*_changed(manifest, settings, tree)]
    behind = ""
    if found and (left := tree.left()) is not None and left.commit != tree.commit:
        with suppress(InputError):  # of long ago: no reason to refuse what is here
            if not [*_changed(manifest, settings, left)]:
                behind = f" ({tree.base} has changed that since this branch left it: merge {tree.base})"
    yield from (f"{sentence}{behind}" for sentence in found)


def _changed(manifest: Manifest, settings: Settings, tree: BaseTree) -> Iterator[str]:
    yield from changed_suite(manifest, settings.suites, tree)
    yield from changed_settings(manifest, settings, tree)


def _another_commit(manifest: Manifest, settings: Settings) -> Iterator[str]:
    """What the run tried may not be what is to be released."""
    ran, now = manifest.environment.get("git_commit"), git_commit(settings.root)
    if not ran:
        if now:
            yield f"the run does not say of which commit it is: whether it tried {now[:10]} can't be told"
        return
    if now and ran != now:
        yield f"the run is of commit {str(ran)[:10]}, and this is {now[:10]}: what changed between them was not run"
    dirty = manifest.environment.get("git_dirty")
    if dirty:
        yield f"the run tried changes that were not committed, on top of {str(ran)[:10]}: no commit has what was run"
    elif dirty is None:
        yield f"git could not tell whether the run tried changes that were not committed, on top of {str(ran)[:10]}"


def _another_try(manifest: Manifest) -> Iterator[str]:
    """Cases that were run because they had failed: chance passes some of them, the more the oftener it is asked."""
    if run_id := manifest.part.get("only_failing"):
        yield f"the run is another try of what failed in {run_id}: what is tried until it passes is blocked too rarely"


def _of_an_arm(manifest: Manifest) -> Iterator[str]:
    if manifest.arm:
        yield f"the run is {manifest.arm}: what an arm tries may not be what is to be released"


def _untold(unknown: Sequence[str]) -> Iterator[str]:
    if unknown:
        others = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        yield f"{unknown[0]}{others}: recorded without a system prompt: whether today's is another can't be told"
