"""VERDICT -> GATE: the release decision. Only permanent cases block; what can't be measured is never green."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalkit.case.lock import LOCK_NAME, LockLine
from evalkit.figures import counted
from evalkit.verdict.model import CaseVerdict, Decision

__all__ = ["decide", "if_all_were_run"]


def decide(
    verdicts: Sequence[CaseVerdict],
    locked: Iterable[LockLine],
    lock_problems: Sequence[tuple[str, str]],
    *,
    holds: Sequence[tuple[str, str]] = (),
    left_out: str = "",
) -> Decision:
    """The decision.

    Args:
        verdicts: of the run's cases.
        locked: the gate lock: every case in it must be in the run, at that version.
        lock_problems: where lock and cases disagree (`case.lock.lock_problems`), here or against the base branch.
        holds: what else blocks, whatever the samples say: (case id or what it is about, sentence).
        left_out: why cases may not be in the run, in words: what its suite selects, what it was limited to.
    """
    blocking = [(case_id, f"{LOCK_NAME}: {sentence}") for case_id, sentence in lock_problems]
    blocking += holds
    inconclusive: list[tuple[str, str]] = []
    versions: dict[str, tuple[str, int]] = {}
    bad: list[tuple[str, str]] = []
    permanent = degraded = 0
    wanted = [*locked]
    for verdict in verdicts:
        if wanted:
            versions[verdict.case_id] = verdict.digest, verdict.version
        if not verdict.permanent:
            continue
        permanent += 1
        degraded += verdict.verdict == "DEGRADED_WITHIN_MARGIN"
        if verdict.effect == "blocks":
            bad.append((verdict.case_id, verdict.reason))
        elif verdict.effect == "unmeasured":
            inconclusive.append((verdict.case_id, verdict.reason))
    for line in wanted:
        found = versions.get(line.case_id)
        if found is None:
            why = f": {left_out}" if left_out else ""
            blocking.append((line.case_id, f"is a permanent gate and was not run{why}"))
        elif found[0] != line.digest and not any(case_id == line.case_id for case_id, _ in lock_problems):
            blocking.append(
                (line.case_id, f"ran as version {found[1]}; the lock wants version {line.version}: run it again")
            )
    blocking += bad
    if blocking:
        return Decision("BLOCKED", _blocked(blocking), tuple(blocking), tuple(inconclusive))
    if inconclusive:
        return Decision("INCONCLUSIVE", _unmeasured(inconclusive, permanent), (), tuple(inconclusive))
    if not permanent:
        return Decision("INCONCLUSIVE", "no permanent case was run: nothing guards this release")
    return Decision("PASS", _passed(permanent, degraded))


def if_all_were_run(
    decision: Decision, verdicts: Sequence[CaseVerdict], locked: Iterable[LockLine], left_out: str = ""
) -> Decision:
    """The decision of a run that is not asked for the whole lock: where it left permanent cases out, it opens nothing.

    Args:
        left_out: why cases may not be in the run, in words.
    """
    lacking = {line.case_id: line.digest for line in locked} if decision.outcome == "PASS" else {}
    for verdict in verdicts:
        if not lacking:
            return decision
        if lacking.get(verdict.case_id) == verdict.digest:
            del lacking[verdict.case_id]
    if not lacking:
        return decision
    first = min(lacking)
    others = len(lacking) - 1
    told = f"{first} and {counted(others, 'more permanent case')} were" if others else f"{first} was"
    why = f": {left_out}" if left_out else ", as the lock has it"
    return Decision("INCONCLUSIVE", f"{decision.reason}, but {told} not run{why}")


def _blocked(blocking: Sequence[tuple[str, str]]) -> str:
    first, sentence = blocking[0]
    others = len({case_id for case_id, _ in blocking} - {first})
    return f"{first}: {sentence}" + (f" (and {others} more)" if others else "")


def _unmeasured(inconclusive: Sequence[tuple[str, str]], permanent: int) -> str:
    first, sentence = inconclusive[0]
    return f"{len(inconclusive)} of {counted(permanent, 'permanent case')} could not be measured; {first}: {sentence}"


def _passed(permanent: int, degraded: int) -> str:
    cases = counted(permanent, "permanent case")
    if degraded:
        are = "is" if degraded == 1 else "are"
        told = f"{degraded} of {cases} {are} degraded within the margin, which the policy lets pass"
        return told if degraded == permanent else f"{told}; {permanent - degraded} passed"
    return f"{cases} passed" if permanent == 1 else f"all {cases} passed"
