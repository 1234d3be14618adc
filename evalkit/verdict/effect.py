"""A whole suite against its baseline: how far apart, how sure for these cases, and how sure for others like them."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.verdict.model import CaseVerdict, SuiteEffect
from evalkit.verdict.ruling import points
from evalkit.verdict.verdicts import distinct

__all__ = ["OPPOSED", "effect_sentence", "opposed", "suite_effect"]

OPPOSED = "the cases with most samples are worse, the mean of all is not: neither is shown for the suite"
_ALPHA = 0.05


def suite_effect(verdicts: Sequence[CaseVerdict]) -> SuiteEffect | None:
    """The effect over the cases that have samples and a baseline; None where none has.

    In a sequential run the numbers of samples hang on what they came to, and bad cases have fewer of them: the
    intervals are then for reading, not for deciding.
    """
    if not any(verdict.baseline for verdict, _ in distinct(verdicts)):
        return None
    tables = [(v.baseline.passed, v.baseline.n, v.passed, v.n) for v in verdicts if v.baseline is not None and v.n]
    if not tables:
        return None
    import numpy as np

    from evalkit.stats.suite import cluster_t_interval, cmh_p, differences, this_suite_interval

    columns = np.array(tables, dtype=np.int64).T
    each = differences(*columns)
    low, high = cluster_t_interval(each)
    return SuiteEffect(
        cases=len(tables),
        difference=float(each.mean()),
        this_suite=this_suite_interval(*columns),
        cases_like_these=(max(low, -1.0), min(high, 1.0)),
        p_worse=cmh_p(*columns),
    )


def effect_sentence(effect: SuiteEffect) -> str:
    """The effect in a line."""
    low, high = effect.this_suite
    wide_low, wide_high = effect.cases_like_these
    cases = f"{effect.cases} case" + ("" if effect.cases == 1 else "s")
    return (
        f"{cases} against the baseline: {_signed(effect.difference)}, {_signed(low)} to {_signed(high)} in this suite, "
        f"{_signed(wide_low)} to {_signed(wide_high)} for cases like these; p(worse) {effect.p_worse:.2g}"
        + (f"; {OPPOSED}" if opposed(effect.difference, effect.p_worse) else "")
    )


def opposed(difference: float, p_worse: float) -> bool:
    """Whether the exact test, which weighs cases by their samples, says worse, and the plain mean does not.

    It is so where bad cases have more samples than the others: those that a screening suspected.
    """
    return p_worse <= _ALPHA and difference >= 0


def _signed(share: float) -> str:
    """``+2 points``, ``-12.5 points``, ``0 points``."""
    return f"+{points(share)}" if round(100 * share, 1) > 0 else points(share)
