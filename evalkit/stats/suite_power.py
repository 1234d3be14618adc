"""What difference over a whole suite could so many runs have shown? To be said where none was.

The suite's arms are taken as two arms of one case that has all their runs, and a rate at which these vary as much as
the cases do: of cases that always pass and cases that always fail that is 1, though half of all runs pass. That is an
approximation: simulated power at the difference named was 0.74 to 0.89 for 0.8 wanted where all cases fell alike, and
0.8 to 1 where few of them did.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.stats.arguments import check_share
from evalkit.stats.binomial import binomial_cdf, binomial_pmf
from evalkit.stats.hypergeometric import worse_tail
from evalkit.stats.mean_rate import counts_of_arms
from evalkit.stats.normal_power import normal_power

__all__ = ["detectable_in_this_suite"]

_ENUMERATED = 200
_HALVINGS = 30


def detectable_in_this_suite(
    x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The mean difference of the cases' rates that `suite.cmh_p` shows two-sided with probability `power`, about.

    From the rate at which a case varies as much as the cases do on average, towards 1/2, which is the harder direction.
    Up to 200 runs an arm the power is that of Fisher's test, by enumeration; beyond, that of the normal formula.

    Returns:
        None where not even the largest difference would be shown that often.

    Raises:
        InputError: counts can't be, there are no cases, a case has no runs in one arm, or a share is out of its range.
    """
    check_share("alpha", alpha)
    check_share("power", power)
    arms = counts_of_arms(x1, n1, x2, n2)
    cases = len(arms[0][0])
    runs1, runs2 = (cases**2 / float((1 / runs).sum()) for _, runs in arms)
    weights = runs1 / (runs1 + runs2), runs2 / (runs1 + runs2)
    middle = sum(w * float((passed / runs).mean()) for w, (passed, runs) in zip(weights, arms, strict=True))
    spread = sum(w * _spread(*arm, middle) for w, arm in zip(weights, arms, strict=True))
    rate = (1 + sqrt(max(1 - 4 * spread, 0.0))) / 2
    small = max(runs1, runs2) <= _ENUMERATED
    chance = _by_fisher(floor(runs1), floor(runs2), alpha / 2) if small else _by_normal(runs1, runs2, alpha / 2)
    if chance(rate, 0.0) < power:
        return None
    low, high = 0.0, rate
    for _ in range(_HALVINGS):
        tried = (low + high) / 2
        if chance(rate, rate - tried) >= power:
            high = tried
        else:
            low = tried
    return high


def _spread(passed: NDArray[np.int64], runs: NDArray[np.int64], mean: float) -> float:
    """The mean over cases of rate x (1 - rate), without bias; of a case with one run as if it had the mean rate."""
    rates = passed / runs
    return float(np.where(runs > 1, rates * (1 - rates) * runs / np.maximum(runs - 1, 1), mean * (1 - mean)).mean())


def _by_fisher(n1: int, n2: int, alpha: float) -> Callable[[float, float], float]:
    """The power of Fisher's one-sided test for two rates."""
    cuts = _fisher_cuts(n1, n2, alpha)

    def chance(p1: float, p2: float) -> float:
        below = binomial_cdf(n2, np.array([p2]))[0]
        return float(binomial_pmf(n1, np.array([p1]))[0] @ below[cuts])

    return chance


def _by_normal(runs1: float, runs2: float, alpha: float) -> Callable[[float, float], float]:
    runs = 2 / (1 / runs1 + 1 / runs2)
    return lambda p1, p2: normal_power(p1, p2, runs, alpha)


def _fisher_cuts(n1: int, n2: int, alpha: float) -> NDArray[np.int64]:
    """Per x1 how many of the smallest x2 show a difference."""
    cuts = np.zeros(n1 + 1, dtype=np.int64)
    for total in range(n1 + n2 + 1):
        least, tail = worse_tail(n1, n2, total)
        shown = int(np.searchsorted(tail, alpha, side="right"))  # the first so many x2, from `least` on
        x2 = np.arange(least, least + shown)
        np.maximum.at(cuts, total - x2, x2 + 1)
    return cuts
