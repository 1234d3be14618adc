"""A whole suite against its baseline: how far apart, how sure for these cases, and how sure for others like them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, TypeAlias

from evalkit.figures import counted
from evalkit.percent import points_between, signed_points
from evalkit.verdict.model import BaselineRow, CaseVerdict, SuiteEffect
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
    both = _Both(verdicts)
    if not both.cases:
        return None
    from evalkit.stats.mover import mover_interval
    from evalkit.stats.suite import differences, like_these_interval, this_suite_interval

    counts = _columns(both.counts)
    each = differences(*counts, estimated=both.estimated)
    difference = float(each.mean())
    like_these = like_these_interval(each)
    if both.deterministic:
        return SuiteEffect(both.cases, difference, (difference, difference), like_these, float(difference >= 0), True)
    interval = this_suite_interval(*counts, estimated=both.estimated)
    if both.cases == 1:  # one case's own holds, and covers better
        low, high = mover_interval(*map(int, counts[:, 0]))
        interval = min(low, difference), max(high, difference)
    return SuiteEffect(both.cases, difference, interval, like_these, _p_worse(both))


class _Both:
    """What is asked of the cases that have samples and a baseline, column by column: they may be very many.

    Attributes:
        counts: passes and samples of the baseline, then of the run, case after case.
        first: the same of each case's first look, or first step.
        fresh: the same of second steps.
        estimated: of the baseline and of the run, see `stats.mean_rate.Estimated`.
        screened: whether there are steps.
        deterministic: all replays were equal, in both.
    """

    def __init__(self, verdicts: Sequence[CaseVerdict]) -> None:
        self.counts, self.first, self.fresh = array("q"), array("q"), array("q")
        self.estimated: tuple[_Estimates, _Estimates] = ({}, {})
        self.screened, self.deterministic = False, True
        for now in verdicts:
            then = now.baseline
            if then is None or not then.n or not now.n:
                continue
            for known, one in zip(self.estimated, (then.estimate, now.estimate), strict=True):
                if one is not None:
                    known[self.cases] = one.rate, one.variance
            self.counts.extend((then.passed, then.n, now.passed, now.n))
            self.first.extend(now.steps[0] if now.steps else _first_look(then, now))
            for step in now.steps[1:]:
                self.fresh.extend(step)
            self.screened = self.screened or bool(now.steps)
            self.deterministic = self.deterministic and then.deterministic and now.deterministic

    @property
    def cases(self) -> int:
        """How many they are."""
        return len(self.counts) // 4


_Estimates: TypeAlias = dict[int, tuple[float, float | None]]


def _first_look(then: BaselineRow, now: CaseVerdict) -> tuple[int, int, int, int]:
    before, after = then.estimate or then, now.estimate or now
    return before.passed, before.n, after.passed, after.n


def _p_worse(both: _Both) -> float:
    """The exact test; of a screened suite it is one of the first step and one of the second."""
    from evalkit.stats.screening import both_steps_p
    from evalkit.stats.suite import cmh_p

    p = float(cmh_p(*_columns(both.first)))
    if not both.screened:
        return p
    return both_steps_p(p, float(cmh_p(*_columns(both.fresh))) if both.fresh else 1.0)


def _columns(counts: array[int]) -> Any:
    """The four columns of counts, as NumPy has them."""
    import numpy as np

    return np.frombuffer(counts, np.int64).reshape(-1, 4).T


def effect_sentence(effect: SuiteEffect) -> str:
    """The effect in a line."""
    told = f"{counted(effect.cases, 'case')} against the baseline: {signed_points(effect.difference)}"
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
    return f"{points_between(*bounds)} points"
