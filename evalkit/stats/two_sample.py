"""One case, two arms: is the candidate worse, by how much, or shown not to be worse?

Arm 1 is the baseline (`x1` passes of `n1` runs), arm 2 the candidate. All tests assume independent runs with one rate
per arm. They condition on nothing (but for `fisher_p`), which is where their power comes from, and are exact: under
the null hypothesis P(p <= alpha) is at most alpha for every pair of sizes.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_counts, check_share
from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.hypergeometric import worse_tail
from evalkit.stats.interval import midp
from evalkit.stats.unconditional import largest_probability

__all__ = [
    "fisher_p",
    "mover",
    "mover_interval",
    "non_inferiority_cuts",
    "non_inferiority_p",
    "regression_cuts",
    "regression_p",
    "regression_p_many",
]

Floats = NDArray[np.float64]
Cuts = NDArray[np.int64]
Interval = tuple[float, float]

_LARGEST_ORDER = 40_000
_SAME_Z = 1e-10
_SAME_E = 1e-10
_FAR_Z = 40.0
_HALVINGS = 50


def regression_p(x1: int, n1: int, x2: int, n2: int) -> float:
    """The exact one-sided p-value for "the candidate's pass rate is lower than the baseline's".

    The exact unconditional E+M test (Lloyd 2008): all tables are ordered by the estimated p-value of the pooled z
    statistic (E); p is the largest probability, over all common rates, of a table at least as extreme (M). Where there
    are more than 40,000 tables the order is that of z itself, which is as exact. An empty arm gives 1.

    Raises:
        InputError: the counts can't be.
    """
    check_counts(x1, n1)
    check_counts(x2, n2)
    return _regression_p(int(x1), int(n1), int(x2), int(n2))


def regression_p_many(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> Floats:
    """`regression_p` for many cases at once; each distinct table is worked out once.

    Returns:
        One p-value a case, in order.

    Raises:
        InputError: counts can't be, or the four differ in shape.
    """
    columns = [np.asarray(column, dtype=np.int64) for column in (x1, n1, x2, n2)]
    if len({column.shape for column in columns}) > 1:
        raise InputError(f"counts of different shapes: {[c.shape for c in columns]}", cure="give one entry a case")
    tables, where = np.unique(np.stack(columns, axis=-1).reshape(-1, 4), axis=0, return_inverse=True)
    values = np.array([regression_p(*table) for table in tables.tolist()], dtype=np.float64)
    return values[where.reshape(columns[0].shape)]


def regression_cuts(n1: int, n2: int, alpha: float) -> Cuts:
    """All tables that show a regression at `alpha`, as cuts: `regression_p` <= `alpha` where x2 < cuts[x1].

    Raises:
        InputError: a number of runs is negative or `alpha` is no share.
    """
    check_counts(0, n1)
    check_counts(0, n2)
    check_share("alpha", alpha)
    if n1 == 0 or n2 == 0:
        return np.zeros(n1 + 1, dtype=np.int64)
    return _widest(n1, n2, alpha) if _fits(n1, n2) else _widest_by_score(n1, n2, 0.0, alpha)


def fisher_p(x1: int, n1: int, x2: int, n2: int) -> float:
    """Fisher's exact one-sided p-value for "the candidate is worse" (Fisher 1935); an empty arm gives 1.

    Weaker than `regression_p` for one case, but its few attainable values are what `multiplicity.step_down` lives on.

    Raises:
        InputError: the counts can't be.
    """
    check_counts(x1, n1)
    check_counts(x2, n2)
    least, tail = worse_tail(n1, n2, x1 + x2)
    return float(tail[x2 - least])


def mover(p1: float, limits1: Interval, p2: float, limits2: Interval) -> Interval:
    """An interval for `p2` - `p1` from an interval for each: the method of variance estimates recovery.

    Source: Newcombe 1998 (there with Wilson's limits); Zou and Donner 2008.
    """
    (low1, high1), (low2, high2) = limits1, limits2
    low = p2 - p1 - sqrt((p2 - low2) ** 2 + (high1 - p1) ** 2)
    high = p2 - p1 + sqrt((high2 - p2) ** 2 + (p1 - low1) ** 2)
    return max(low, -1.0), min(high, 1.0)


def mover_interval(x1: int, n1: int, x2: int, n2: int, level: float = 0.95) -> Interval:
    """An interval for the candidate's rate less the baseline's, by `mover` from the two mid-P intervals.

    It approximates `level` (at 0.95: 0.926 at worst, 0.96 on average, counted out for drops of up to 0.5 from rates
    above 0.7) and may differ from the exact tests right at a margin: the tests decide. With an empty arm it is all
    that the other arm's interval leaves open.

    Raises:
        InputError: the counts or `level` can't be.
    """
    limits1, limits2 = midp(x1, n1, level), midp(x2, n2, level)
    if n1 == 0 or n2 == 0:
        return limits2[0] - limits1[1], limits2[1] - limits1[0]
    return mover(x1 / n1, limits1, x2 / n2, limits2)


def non_inferiority_p(x1: int, n1: int, x2: int, n2: int, margin: float) -> float:
    """The exact one-sided p-value for "the candidate is worse by less than `margin`".

    The exact unconditional test of the score statistic (Farrington and Manning 1990: the variance at the constrained
    maximum likelihood), its p the largest over all rates with candidate = baseline - `margin` (Roehmel and Mansmann
    1999). An empty arm gives 1.

    Args:
        margin: the tolerated drop of the rate, such as 0.1. A negative one asks for a gain.

    Raises:
        InputError: the counts can't be, or `margin` is not between -1 and 1.
    """
    check_counts(x1, n1)
    check_counts(x2, n2)
    _check_margin(margin)
    return _non_inferiority_p(int(x1), int(n1), int(x2), int(n2), float(margin))


def non_inferiority_cuts(n1: int, n2: int, margin: float, alpha: float) -> Cuts:
    """All tables that show non-inferiority at `alpha`, as cuts: `non_inferiority_p` <= `alpha` where x1 < cuts[x2].

    Raises:
        InputError: a number of runs is negative, `margin` is not between -1 and 1, or `alpha` is no share.
    """
    check_counts(0, n1)
    check_counts(0, n2)
    _check_margin(margin)
    check_share("alpha", alpha)
    if n1 == 0 or n2 == 0:
        return np.zeros(n2 + 1, dtype=np.int64)
    return _widest_by_score(n2, n1, float(margin), alpha)


def _check_margin(margin: float) -> None:
    if not -1.0 < margin < 1.0:
        raise InputError(f"margin is {margin}, wanted a drop of a rate", cure="give -1 < margin < 1")


@lru_cache(maxsize=1 << 16)
def _regression_p(x1: int, n1: int, x2: int, n2: int) -> float:
    if n1 == 0 or n2 == 0:
        return 1.0
    if _fits(n1, n2):
        order = _estimated_p(n1, n2)
        cuts = _cuts_of(order, float(order[x1, x2]))
    else:
        cuts = _score_cuts(n1, n2, 0.0, _score(x1, n1, x2, n2, 0.0).item())
    return largest_probability(cuts, n1, n2)


@lru_cache(maxsize=1 << 14)
def _non_inferiority_p(x1: int, n1: int, x2: int, n2: int, margin: float) -> float:
    if n1 == 0 or n2 == 0:
        return 1.0
    cuts = _score_cuts(n2, n1, margin, _score(x2, n2, x1, n1, margin).item())
    return largest_probability(cuts, n2, n1, margin)


@lru_cache(maxsize=256)
def _widest(n1: int, n2: int, alpha: float) -> Cuts:
    """The cuts of the widest region in the test's order whose size is at most `alpha`."""
    order = _estimated_p(n1, n2)
    steps = np.unique(order)
    inside, outside = -1, len(steps)
    cuts = np.zeros(n1 + 1, dtype=np.int64)
    while outside - inside > 1:
        middle = (inside + outside) // 2
        tried = _cuts_of(order, float(steps[middle]))
        if largest_probability(tried, n1, n2) <= alpha:
            inside, cuts = middle, tried
        else:
            outside = middle
    cuts.flags.writeable = False
    return cuts


@lru_cache(maxsize=256)
def _widest_by_score(n_a: int, n_b: int, margin: float, alpha: float) -> Cuts:
    """The same in the order of the score statistic."""
    low, high = -_FAR_Z, _FAR_Z
    cuts = np.zeros(n_a + 1, dtype=np.int64)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = _score_cuts(n_a, n_b, margin, middle)
        if largest_probability(tried, n_a, n_b, margin) <= alpha:
            high, cuts = middle, tried
        else:
            low = middle
    cuts.flags.writeable = False
    return cuts


def _fits(n1: int, n2: int) -> bool:
    """Whether all tables are few enough to be ordered by their estimated p-value."""
    return (n1 + 1) * (n2 + 1) <= _LARGEST_ORDER


@lru_cache(maxsize=32)
def _estimated_p(n1: int, n2: int) -> Floats:
    """Lloyd's E: for each table P(z at least as large), at the table's own pooled rate; shape (n1 + 1, n2 + 1).

    A table that is more extreme in both counts never gets a larger value: where the estimate would break that rule
    (no pair of sizes is known where it does) the larger value is kept for both.
    """
    x1, x2 = np.indices((n1 + 1, n2 + 1))
    z = _score(x1, n1, x2, n2, 0.0).ravel()
    falling = np.argsort(-z, kind="stable")
    last = np.searchsorted(-z[falling], -(z - _SAME_Z), side="right") - 1
    total = (x1 + x2).ravel()
    rows1, rows2 = x1.ravel()[falling], x2.ravel()[falling]
    rates = np.arange(n1 + n2 + 1) / (n1 + n2)
    mass1, mass2 = binomial_pmf(n1, rates), binomial_pmf(n2, rates)
    estimate = np.empty(z.shape)
    for passes in range(n1 + n2 + 1):
        own = np.flatnonzero(total == passes)
        tail = np.cumsum(mass1[passes, rows1] * mass2[passes, rows2])
        estimate[own] = tail[last[own]]
    rising = np.maximum.accumulate(estimate.reshape(n1 + 1, n2 + 1), axis=1)
    order: Floats = np.maximum.accumulate(rising[::-1], axis=0)[::-1]
    order.flags.writeable = False
    return order


def _cuts_of(order: Floats, value: float) -> Cuts:
    cuts: Cuts = np.count_nonzero(order <= value * (1 + _SAME_E), axis=1)
    return cuts


def _score_cuts(n_a: int, n_b: int, margin: float, z: float) -> Cuts:
    """Per x_a the number of x_b whose score statistic is at least `z`; the statistic falls with x_b."""
    x_a = np.arange(n_a + 1)
    inside, outside = np.full(n_a + 1, -1), np.full(n_a + 1, n_b + 1)
    while (open_rows := outside - inside > 1).any():
        middle = np.where(open_rows, (inside + outside) // 2, 0)
        reached = _score(x_a, n_a, middle, n_b, margin) >= z - _SAME_Z
        inside = np.where(open_rows & reached, middle, inside)
        outside = np.where(open_rows & ~reached, middle, outside)
    cuts: Cuts = np.maximum.accumulate(inside + 1)
    return cuts


def _score(x_a: ArrayLike, n_a: int, x_b: ArrayLike, n_b: int, margin: float) -> Floats:
    """The score statistic for "rate a > rate b - margin"; pooled z at a margin of 0, and 0 where nothing varies."""
    x_a, x_b = np.asarray(x_a), np.asarray(x_b)
    rate_b = (x_a + x_b) / (n_a + n_b) if margin == 0.0 else _constrained_rate(x_a, n_a, x_b, n_b, margin)
    rate_a = np.clip(rate_b - margin, 0.0, 1.0)
    variance = rate_a * (1 - rate_a) / n_a + rate_b * (1 - rate_b) / n_b
    difference = x_a / n_a - x_b / n_b + margin
    z: Floats = np.where(variance > 0, difference / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
    return z


def _constrained_rate(x_a: NDArray[np.int64], n_a: int, x_b: NDArray[np.int64], n_b: int, margin: float) -> Floats:
    """The likeliest rate b under rate a = rate b - `margin`: the root of the falling score, by bisection."""
    low = np.full(np.broadcast(x_a, x_b).shape, max(0.0, margin))
    high = np.full(low.shape, min(1.0, 1.0 + margin))
    for _ in range(_HALVINGS):
        rate_b = (low + high) / 2
        rate_a = rate_b - margin
        slope = x_a / rate_a - (n_a - x_a) / (1 - rate_a) + x_b / rate_b - (n_b - x_b) / (1 - rate_b)
        low, high = np.where(slope > 0, rate_b, low), np.where(slope > 0, high, rate_b)
    middle: Floats = (low + high) / 2
    return middle
