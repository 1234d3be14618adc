"""Power by the normal formula: for a look ahead where tables are too many to enumerate.

Near a rate of 1 it is off by a half; `power` is exact.
"""

from __future__ import annotations

from math import inf, sqrt
from statistics import NormalDist

from evalkit.errors import InputError
from evalkit.stats.arguments import check_drop, check_rate, check_share

__all__ = ["normal_n_for_drop", "normal_power"]


def normal_power(p1: float, p2: float, n: float, alpha: float = 0.05) -> float:
    """The power of the one-sided two-sample z test with `n` runs an arm (Fleiss 1981), for "`p2` is below `p1`".

    It is R's ``power.prop.test`` with ``alternative = "one.sided"``.

    Raises:
        InputError: a rate is no probability, there are no runs, or `alpha` is no share.
    """
    own, pooled = _spreads(p1, p2)
    check_share("alpha", alpha)
    if not 0 < n < inf:
        raise InputError(f"{n} runs an arm", cure="give a positive number")
    excess = sqrt(n) * (p1 - p2) - NormalDist().inv_cdf(1 - alpha) * pooled
    return NormalDist().cdf(excess / own if own else inf * (1 if excess > 0 else -1))


def normal_n_for_drop(p: float, drop: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """The runs an arm, not rounded, at which `normal_power` is `power`.

    Raises:
        InputError: an argument is outside of its range.
    """
    check_drop(p, drop)
    check_share("alpha", alpha)
    check_share("power", power)
    own, pooled = _spreads(p, p - drop)
    return ((NormalDist().inv_cdf(1 - alpha) * pooled + NormalDist().inv_cdf(power) * own) / drop) ** 2


def _spreads(p1: float, p2: float) -> tuple[float, float]:
    """The standard deviation of a difference of two single runs, at their own rates and at the mean of both."""
    check_rate(p1)
    check_rate(p2)
    mean = (p1 + p2) / 2
    return sqrt(p1 * (1 - p1) + p2 * (1 - p2)), sqrt(2 * mean * (1 - mean))
