"""The checks of a new case: few, readable, and each judged before it is proposed.

A gating check fails on the incident and holds on every healthy run that was given. What doesn't tell them apart is
left out, or kept as an observation where a person would want to see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from evalkit.canonical import Json
from evalkit.check.judge import compile_checks
from evalkit.check.model import Check, CheckResult
from evalkit.distil.analogy import about_others
from evalkit.distil.contrast import by_analogy, contrast_tiers
from evalkit.distil.expect import expected_checks
from evalkit.distil.invariant import broken_invariants
from evalkit.distil.recurrence import GENERAL
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["propose"]

_MAX_OBSERVATIONS = 5
_SURE = 0.8
"""From this confidence on a statement gates on its own; a weaker one is observed where a sure one gates."""


def propose(incident: Trace, *, expect: Json | None = None, passing: Sequence[Trace] = ()) -> list[Check]:
    """Proposes a case's checks, gating ones first.

    Args:
        incident: the run that must not happen again.
        expect: what should have happened, in the form of `distil.expect`.
        passing: healthy runs of the same task; what one that is about other records did to them is not demanded.

    Returns:
        The checks; none of them gates when nothing tells the incident from a healthy run.

    Raises:
        InputError: `expect` has a wrong form, or states what does not hold on a healthy run.
    """
    same = [run for run in passing if not about_others(incident, run)]
    found = _stated(incident, expect, same) if expect is not None else []
    if passing:
        found += _contrast(incident, passing, same, gated=any(check.gating for check in found))
    if passing and not same:
        found += _telling(by_analogy(incident, passing), incident, [])
    broken = [
        told
        for check in broken_invariants(incident)
        for told in _telling([check], incident, passing if check.type in GENERAL else same)
    ]
    if any(check.gating and check.confidence >= _SURE for check in found):
        broken = [_observed_unless_sure(check) for check in broken]
    unique: dict[str, Check] = {}
    for check in found + broken:
        unique.setdefault(check.id, check)
    observed = [check for check in unique.values() if not check.gating][:_MAX_OBSERVATIONS]
    return [check for check in unique.values() if check.gating] + observed


def _stated(incident: Trace, expect: Json, passing: Sequence[Trace]) -> list[Check]:
    checks = expected_checks(expect)
    for run in passing:
        for result in compile_checks(checks)(run):
            if result.gating and not result.passed:
                raise InputError(
                    f"the expectation does not hold on the healthy run: {result.reason}",
                    f"trace {run.id}",
                    "correct the expectation, or give another healthy run",
                )
    return [_judged(result) for result in compile_checks(checks)(incident)]


def _telling(candidates: Iterable[Check], incident: Trace, passing: Sequence[Trace]) -> list[Check]:
    """Those that fail on the incident and hold on every healthy run, with the steps that show it."""
    checks = _possible(candidates)
    judge = compile_checks(checks)
    healthy = [judge(run) for run in passing]
    return [
        _judged(result)
        for at, result in enumerate(judge(incident))
        if not result.passed and all(results[at].passed for results in healthy)
    ]


def _possible(candidates: Iterable[Check]) -> list[Check]:
    """Those that a case may hold: a trace may have what no check can name, as a tool without a name."""
    return [check for check in candidates if _compiles(check)]


def _compiles(check: Check) -> bool:
    try:
        compile_checks([check])
    except InputError:
        return False
    return True


def _contrast(incident: Trace, passing: Sequence[Trace], same: Sequence[Trace], *, gated: bool) -> list[Check]:
    """The strongest tier that tells the runs apart gates; what weaker ones show is observed.

    A weaker tier says little about what a healthy run does, so it gates together with the strongest, as one check; and
    not at all where all runs are about other records, for which other tools may be right.
    """
    (strongest, _), *weaker = contrast_tiers(incident, passing, same)
    found = _telling(strongest, incident, same)
    gated = gated or bool(found) or not same
    for tier, runs in weaker:
        telling = _telling(tier, incident, runs)
        if telling and not gated:
            found.append(_together(telling, _holding(strongest, same)))
            gated = True
        else:
            found += [_observed_unless_sure(check) for check in telling]
    return found


def _holding(checks: Sequence[Check], passing: Sequence[Trace]) -> list[Check]:
    """Those that hold on every healthy run: a run given as healthy may have been cut off, and so have no known end."""
    checks = _possible(checks)
    judge = compile_checks(checks)
    results = [judge(run) for run in passing]
    return [check for at, check in enumerate(checks) if all(found[at].passed for found in results)]


def _together(telling: Sequence[Check], strongest: Sequence[Check]) -> Check:
    parts: list[Json] = [{"type": check.type, "params": dict(check.params)} for check in [*telling, *strongest]]
    evidence = tuple(sorted({seq for check in telling for seq in check.evidence}))
    return replace(telling[0], type="all_of", params={"checks": parts}, evidence=evidence)


def _observed_unless_sure(check: Check) -> Check:
    return check if check.confidence >= _SURE else replace(check, gating=False)


def _judged(result: CheckResult) -> Check:
    check = result.check
    return replace(check, gating=check.gating and not result.passed, evidence=check.evidence or result.steps)
