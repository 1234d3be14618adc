"""Policies on a case's own pass rate, without a baseline, for a number of samples that was fixed beforehand.

Counts are of samples that passed or failed; what was lost is not for these functions.
"""

from __future__ import annotations

from functools import lru_cache

from evalkit.errors import InputError
from evalkit.percent import percent
from evalkit.stats.acceptance import acceptance_plan
from evalkit.stats.interval import cp_lower, cp_upper, zero_failure_bound
from evalkit.verdict.ruling import Ruling

__all__ = ["acceptance", "detectable_below", "min_rate", "zero_failures"]

_MOST_SAMPLES = 5000
_STEPS = 300
_POWER = 0.8


def zero_failures(passed: int, n: int, alpha: float = 0.05) -> Ruling:
    """PASS where no sample failed; the reason says what failure rate that rules out.

    Raises:
        InputError: the counts can't be.
    """
    bound = zero_failure_bound(n, alpha)
    if passed < n:
        return Ruling("FAIL", f"{n - passed} of {n} samples failed")
    if n == 0:
        return Ruling("INCONCLUSIVE", "no sample came to a result", more_samples=1)
    sure = percent(1 - alpha)
    return Ruling("PASS", f"none of {n} samples failed; the failure rate is below {percent(bound)} ({sure})")


def min_rate(passed: int, n: int, rate: float, alpha: float = 0.05, beta: float = 0.05) -> Ruling:
    """PASS where the pass rate is shown to be at least `rate`, FAIL where it is shown to be lower.

    Both by one-sided Clopper-Pearson bounds: the error of FAIL is at most `alpha`, that of PASS at most `beta`.

    Raises:
        InputError: the counts can't be, or `rate` is no share.
    """
    if not 0.0 < rate < 1.0:
        raise InputError(f"a minimum rate of {rate}", cure="give a share below 1; for none to fail use zero_failures")
    lower, upper = cp_lower(passed, n, beta), cp_upper(passed, n, alpha)
    seen = f"{passed} of {n} passed"
    if lower >= rate:
        return Ruling("PASS", f"{seen}; the pass rate is at least {percent(lower)} ({percent(1 - beta)})")
    if upper < rate:
        return Ruling("FAIL", f"{seen}; the pass rate is at most {percent(upper)}, wanted {percent(rate)}")
    more = _more_for_rate(passed, n, rate, beta if passed > rate * n else alpha)
    hope = "" if more is None else f"; about {more} more would, at this rate"
    sentence = f"{seen}: too few samples to tell whether the pass rate is {percent(rate)} or more{hope}"
    return Ruling("INCONCLUSIVE", sentence, detectable_below(rate, n, alpha), more)


def acceptance(
    passed: int, n: int, *, p_good: float = 0.99, p_bad: float = 0.9, alpha: float = 0.05, beta: float = 0.05
) -> Ruling:
    """A number of samples that was fixed beforehand, against two rates.

    FAIL where a rate of `p_good` is ruled out with error `alpha`, PASS where `p_bad` is with error `beta`. Where both
    are, the rate lies between: DEGRADED_WITHIN_MARGIN.

    Raises:
        InputError: the counts can't be, or a share is out of its range.
    """
    wanted, _ = acceptance_plan(p_good, p_bad, alpha, beta)
    seen = f"{passed} of {n} passed"
    below_good = cp_upper(passed, n, alpha) < p_good
    above_bad = cp_lower(passed, n, beta) > p_bad
    if below_good and above_bad:
        return Ruling("DEGRADED_WITHIN_MARGIN", f"{seen}: below {percent(p_good)}, and yet above {percent(p_bad)}")
    if below_good:
        return Ruling("FAIL", f"{seen}: a pass rate of {percent(p_good)} or more is ruled out ({percent(1 - alpha)})")
    if above_bad:
        return Ruling("PASS", f"{seen}: a pass rate of {percent(p_bad)} or less is ruled out ({percent(1 - beta)})")
    more = wanted - n if wanted > n else None
    hope = f"; {wanted} always tell" if more else ""
    sentence = f"{seen}: too few to tell {percent(p_good)} from {percent(p_bad)}{hope}"
    return Ruling("INCONCLUSIVE", sentence, detectable_below(p_good, n, alpha), more)


def detectable_below(rate: float, n: int, alpha: float = 0.05) -> float | None:
    """The smallest drop below `rate` that `n` samples show with probability 0.8; None where no drop is.

    Shown where the upper Clopper-Pearson bound falls below `rate`.
    """
    failed = next((failed for failed in range(1, n + 1) if cp_upper(n - failed, n, alpha) < rate), None)
    if failed is None:
        return None
    from scipy.special import betaincinv

    drop = rate - (1 - float(betaincinv(failed, n - failed + 1, _POWER)))
    return drop if drop < rate else None


@lru_cache(maxsize=4096)
def _more_for_rate(passed: int, n: int, rate: float, alpha: float) -> int | None:
    """About how many further samples make a bound decide, if they pass as those seen did; None beyond thousands."""
    if not 0 < n < _MOST_SAMPLES or passed == rate * n:
        return None
    import numpy as np
    from scipy.special import betaincinv

    total = np.unique(np.geomspace(n + 1, _MOST_SAMPLES, _STEPS).astype(np.int64))
    good = passed > rate * n
    seen = passed if good else n - passed
    x = seen * total // n  # of what is to be shown: passes of a good case, failures of a bad one
    needed = rate if good else 1 - rate
    bounds = np.where(x > 0, betaincinv(np.maximum(x, 1), total - x + 1, alpha), 0.0)
    decided = np.flatnonzero(bounds >= needed if good else bounds > needed)
    return int(total[decided[0]]) - n if len(decided) else None
