"""Healthy runs of an incident's task, found among many traces of which nothing is known but what they say.

The same task: asked much the same, about the same records (the identifiers that the calls were given); where there are
no identifiers, asked the very same. Healthy: everything holds that any healthy run keeps (it completed, made no change
twice, invented no argument, ...), and what a person said should have happened, where they did. Of runs that changed the
world in different ways at most one way can be right: those are taken that most of them agree with.

Where there is none, healthy runs that were asked much the same about other records tell at least what holds for any
(see `distil.other_records`): production runs nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from evalkit.check.judge import compile_checks
from evalkit.check.model import Check
from evalkit.check.view import shown
from evalkit.check.writes import effects_of
from evalkit.distil.fingerprint import fingerprint
from evalkit.distil.invariant import broken_invariants
from evalkit.distil.other_records import Asked, other_records
from evalkit.distil.recurrence import alike, identifiers, likeness, opening
from evalkit.percent import whole_percent
from evalkit.trace.model import Trace

__all__ = ["HealthyRun", "Search", "healthy_runs", "less_sure"]

_MOST = 5
_SHARED = 0.5
_FOUND = 0.5
_WHOLE = 1_000_000
_OTHER_TASK = "another task"


@dataclass(frozen=True, slots=True)
class HealthyRun:
    """A run that was taken, with the reason in words."""

    trace: Trace
    why: str


@dataclass(frozen=True, slots=True)
class Search:
    """What a search came to.

    Attributes:
        taken: the runs, the likest first.
        kin: where there are none, the likest about other records.
        passed_over: how many of the others there were, by the reason.
    """

    taken: tuple[HealthyRun, ...]
    kin: tuple[HealthyRun, ...]
    passed_over: Counter[str]

    @property
    def found(self) -> tuple[HealthyRun, ...]:
        """What there is to learn from."""
        return self.taken or self.kin


def healthy_runs(incident: Trace, candidates: Iterable[Trace], *, expected: Sequence[Check] = ()) -> Search:
    """The likest healthy runs of the incident's task, or else of its kin, at most five; never the incident itself.

    Args:
        expected: what a person said should have happened: a run on which it does not hold is none.
    """
    passed_over: Counter[str] = Counter()
    found: list[tuple[float, HealthyRun]] = []
    kin: list[tuple[float, HealthyRun]] = []
    itself, given, asked = fingerprint(incident), identifiers(incident), Asked(incident)
    # an incident that breaks no general rule went wrong in what it did: who did the same is no contrast
    wrong = _changes(incident) if not expected and not _is_ill(incident, ()) else None
    for run in candidates:
        why_not = _is_itself(incident, itself, run) or _is_other_task(incident, given, run) or _is_ill(run, expected)
        why_not = why_not or ("it did what the incident did" if _changes(run) == wrong else "")
        if why_not:
            passed_over[why_not] += 1
            if why_not == _OTHER_TASK and not found:
                kin = sorted([*kin, *_kin(incident, asked, run, expected)], key=lambda one: -one[0])[:_MOST]
            continue
        near, shared = likeness(incident, run), given & identifiers(run)
        about = f", {len(shared)} of {len(given)} identifiers are the same" if given else ""
        why = f"asked {whole_percent(near)} the same{about}; it completed and breaks no general rule"
        found.append((near + len(shared), HealthyRun(run, why)))
    agreed = sorted(_most_agreed(found), key=lambda one: -one[0])
    passed_over["changed the world otherwise than most"] += len(found) - len(agreed)
    passed_over["beyond the number that is taken"] += max(0, len(agreed) - _MOST)
    taken = tuple(run for _, run in agreed[:_MOST])
    if not taken:
        passed_over[_OTHER_TASK] -= len(kin)
    return Search(taken, () if taken else tuple(run for _, run in kin), +passed_over)


def _kin(incident: Trace, asked: Asked, run: Trace, expected: Sequence[Check]) -> Iterator[tuple[float, HealthyRun]]:
    """The run, where it is a healthy one that was asked much the same about other records; and how much the same."""
    if alike(incident, run) and other_records(asked, Asked(run)) and not _is_ill(run, expected):
        near = likeness(incident, run)
        why = f"asked {whole_percent(near)} the same about other records; it completed and breaks no general rule"
        yield near, HealthyRun(run, why)


def less_sure(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Checks by contrast with runs that were only found: a person should look at each, whatever its rule says."""
    return tuple(
        replace(check, confidence=min(check.confidence, _FOUND)) if check.rule.startswith("contrast") else check
        for check in checks
    )


def _most_agreed(found: Sequence[tuple[float, HealthyRun]]) -> list[tuple[float, HealthyRun]]:
    """The largest group of runs with the same changes; of equally large ones the first."""
    groups: dict[str, list[tuple[float, HealthyRun]]] = {}
    for one in found:
        groups.setdefault(_changes(one[1].trace), []).append(one)
    return max(groups.values(), key=len, default=[])


def _changes(trace: Trace) -> str:
    """A run's changes of the world as one text, in no order."""
    return "\n".join(sorted(f"{step.name} {shown(step.input, _WHOLE)}" for step in effects_of(trace)))


def _is_itself(incident: Trace, itself: str, run: Trace) -> str:
    same = run.id == incident.id or (bool(itself) and fingerprint(run) == itself)
    return "the incident itself" if same else ""


def _is_other_task(incident: Trace, given: frozenset[str], run: Trace) -> str:
    if not given:
        return "" if opening(incident) and opening(run) == opening(incident) else _OTHER_TASK
    known = identifiers(run)
    shared = len(given & known) >= _SHARED * max(len(given), len(known))
    return "" if shared and alike(incident, run) else _OTHER_TASK


def _is_ill(run: Trace, expected: Sequence[Check]) -> str:
    if any(not result.passed for result in compile_checks(expected)(run) if result.gating):
        return "not as expected"
    rules = [check for check in broken_invariants(run) if check.gating]
    return "" if all(result.passed for result in compile_checks(rules)(run)) else "not healthy"
