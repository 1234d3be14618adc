"""Before running: how many runs does a question need, and what can these runs answer?

Power is exact, by enumeration of all tables, for the regression test of `two_sample`; of more than 1,000 runs there are
too many. Rates are pass rates; a drop is the baseline's rate less the candidate's.
"""

from __future__ import annotations

from math import asin, inf, sqrt

import numpy as np

from evalkit.stats.arguments import check_drop, check_rate, check_share, whole_counts
from evalkit.stats.binomial import binomial_cdf, binomial_pmf
from evalkit.stats.normal_power import normal_power
from evalkit.stats.two_sample import regression_cuts

__all__ = ["detectable_drop", "n_for_drop", "regression_power"]

_ENUMERATED = 1000
_STEADY = 3
_HALVINGS = 40
_ARCSINE_SHARE = 0.85
_FEW = 3
_LEAST_BASELINE = 10


def regression_power(p1: float, n1: int, p2: float, n2: int, alpha: float = 0.05) -> float:
    """The probability that `two_sample.regression_p` is at most `alpha` when the two rates are `p1` and `p2`.

    Raises:
        InputError: a number of runs is negative, a rate is no probability, or `alpha` is no share.
    """
    check_rate(p1)
    check_rate(p2)
    (_, n1), (_, n2) = whole_counts(0, n1), whole_counts(0, n2)
    cuts = regression_cuts(n1, n2, alpha)
    below = binomial_cdf(n2, np.array([p2]))[0]
    return float(binomial_pmf(n1, np.array([p1]))[0] @ below[cuts])


def n_for_drop(
    p: float, drop: float, alpha: float = 0.05, power: float = 0.8, n1: int | None = None, *, n_max: int = 200
) -> int | None:
    """The smallest number of candidate runs that shows a drop from rate `p` with probability `power`.

    Power is a sawtooth in the number of runs: the next two numbers must hold the power too.

    Args:
        p: the baseline's rate.
        drop: the drop that must not be missed, at most `p`.
        alpha: the error allowed when nothing changed.
        power: the probability of showing the drop.
        n1: runs of a baseline that exists already; more than 1,000 count as 1,000. Without it both arms get the same
            number.
        n_max: where to stop.

    Returns:
        None where more than `n_max` runs would be needed.

    Raises:
        InputError: an argument is outside of its range.
    """
    check_drop(p, drop)
    check_share("alpha", alpha)
    check_share("power", power)
    n1 = None if n1 is None else min(whole_counts(0, n1)[1], _ENUMERATED)
    if n1 == 0 or (start := _start(p, drop, alpha, power, n1)) > n_max:
        return None
    holds = 0
    for n in range(max(1, int(start)), n_max + _STEADY):
        enough = regression_power(p, n if n1 is None else n1, p - drop, n, alpha) >= power
        holds = holds + 1 if enough else 0
        if holds == _STEADY:
            return n - _STEADY + 1
    return None


def detectable_drop(p: float, n1: int, n2: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest drop from rate `p` that `n1` and `n2` runs show with probability `power`.

    Of one arm more than 1,000 runs count as 1,000; where both have more, it is that of the normal formula.

    Returns:
        None where not even a drop to 0 would be shown that often.

    Raises:
        InputError: an argument is outside of its range.
    """
    check_drop(p, p)
    check_share("power", power)
    (_, n1), (_, n2) = whole_counts(0, n1), whole_counts(0, n2)

    def chance(rate: float) -> float:
        if min(n1, n2) > _ENUMERATED:
            return normal_power(p, rate, 2 / (1 / n1 + 1 / n2), alpha)
        return regression_power(p, min(n1, _ENUMERATED), rate, min(n2, _ENUMERATED), alpha)

    if chance(0.0) < power:
        return None
    low, high = 0.0, p
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if chance(p - middle) >= power:
            high = middle
        else:
            low = middle
    return high


def _start(p: float, drop: float, alpha: float, power: float, n1: int | None) -> float:
    """A number of runs that is not too large, to count up from; infinite where no number is enough.

    The exact test needs about as many runs as the arcsine formula asks for, or more (measured for `alpha` up to 0.2,
    `power` from 0.5 and 4 runs of either arm on; beyond that, and below 10 of a baseline, the count starts at 1). 0.85
    of it less three runs is on the safe side.
    """
    if alpha > 0.2 or power < 0.5 or (n1 is not None and n1 < _LEAST_BASELINE):
        return 1.0
    from scipy.special import ndtri

    effect = 2 * (asin(sqrt(p)) - asin(sqrt(p - drop)))
    variance = (effect / (ndtri(1 - alpha) + ndtri(power))) ** 2 / _ARCSINE_SHARE
    if n1 is None:
        return float(2 / variance) - _FEW
    return float(1 / (variance - 1 / n1)) - _FEW if variance * n1 > 1 else inf
