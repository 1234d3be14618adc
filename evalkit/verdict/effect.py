"""A whole suite against its baseline: how far apart, how sure for these cases, and how sure for others like them."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.percent import signed_points
from evalkit.verdict.model import BaselineRow, CaseVerdict, Estimate, SuiteEffect
from evalkit.verdict.verdicts import distinct

__all__ = ["OPPOSED", "effect_sentence", "opposed", "suite_effect"]

OPPOSED = "the exact test says worse, the mean of the cases does not: neither is shown for the suite"
_ALPHA = 0.05


def suite_effect(verdicts: Sequence[CaseVerdict]) -> SuiteEffect | None:
    """The effect over the cases that have samples and a baseline; None where none has.

    Difference and intervals are of rates without the bias of stopping early, or of going on with suspects alone; the
    test is over the samples that nothing could keep from being taken, and those that confirm or clear a suspect.
    """
    if not any(verdict.baseline for verdict, _ in distinct(verdicts)):
        return None
    both = [(one.baseline, one) for one in verdicts if one.baseline is not None and one.baseline.n and one.n]
    if not both:
        return None
    import numpy as np

    from evalkit.stats.suite import differences, like_these_interval, this_suite_interval

    columns = np.array([(then.passed, then.n, now.passed, now.n) for then, now in both], dtype=np.int64).T
    estimated = _estimated([then.estimate for then, _ in both]), _estimated([now.estimate for _, now in both])
    each = differences(*columns, estimated=estimated)
    difference = float(each.mean())
    like_these = like_these_interval(each)
    if all(then.deterministic and now.deterministic for then, now in both):
        return SuiteEffect(len(both), difference, (difference, difference), like_these, float(difference >= 0), True)
    interval = this_suite_interval(*columns, estimated=estimated)
    return SuiteEffect(len(both), difference, interval, like_these, _p_worse(both))


def _p_worse(both: Sequence[tuple[BaselineRow, CaseVerdict]]) -> float:
    """The exact test; of a screened suite it is one of the first step and one of the second."""
    import numpy as np

    from evalkit.stats.screening import both_steps_p
    from evalkit.stats.suite import cmh_p

    first = [now.steps[0] if now.steps else _first_look(then, now) for then, now in both]
    p_first = float(cmh_p(*np.array(first, dtype=np.int64).T))
    if not any(now.steps for _, now in both):
        return p_first
    fresh = [counts for _, now in both for counts in now.steps[1:]]
    return both_steps_p(p_first, float(cmh_p(*np.array(fresh, dtype=np.int64).T)) if fresh else 1.0)


def _first_look(then: BaselineRow, now: CaseVerdict) -> tuple[int, int, int, int]:
    before, after = then.estimate or then, now.estimate or now
    return before.passed, before.n, after.passed, after.n


def _estimated(estimates: Sequence[Estimate | None]) -> dict[int, tuple[float, float | None]]:
    return {at: (one.rate, one.variance) for at, one in enumerate(estimates) if one is not None}


def effect_sentence(effect: SuiteEffect) -> str:
    """The effect in a line."""
    cases = f"{effect.cases} case" + ("" if effect.cases == 1 else "s")
    told = f"{cases} against the baseline: {signed_points(effect.difference)}"
    if effect.deterministic:
        return f"{told}, in equal replays, here and there; {_interval(effect.cases_like_these)} for cases like these"
    return (
        f"{told}, "
        f"{_interval(effect.this_suite)} in this suite, {_interval(effect.cases_like_these)} for cases like these; "
        f"p(worse) {effect.p_worse:.2g}" + (f"; {OPPOSED}" if opposed(effect.difference, effect.p_worse) else "")
    )


def opposed(difference: float, p_worse: float) -> bool:
    """Whether the exact test, which weighs cases by their samples, says worse, and the mean of the cases does not."""
    return p_worse <= _ALPHA and difference >= 0


def _interval(bounds: tuple[float, float]) -> str:
    low, high = map(signed_points, bounds)
    return f"{low} to {high}"
