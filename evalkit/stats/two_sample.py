"""One case, two arms: is the candidate worse?

Arm 1 is the baseline (`x1` passes of `n1` runs), arm 2 the candidate. All tests assume independent runs with one rate
per arm. They condition on nothing (but for `fisher_p`), which is where their power comes from, and are exact: under
the null hypothesis P(p <= alpha) is at most alpha for every pair of sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_share, whole_counts, whole_numbers
from evalkit.stats.distinct import distinct_rows
from evalkit.stats.hypergeometric import worse_tail
from evalkit.stats.lloyd import cuts_of, estimated_p
from evalkit.stats.score import score, score_cuts, widest_by_score
from evalkit.stats.unconditional import largest_probability

__all__ = [
    "fisher_p",
    "fisher_p_many",
    "regression_cuts",
    "regression_p",
    "regression_p_many",
]

Floats = NDArray[np.float64]
Cuts = NDArray[np.int64]

_LARGEST_ORDER = 125_000
"""Tables: 120 runs against a baseline of 1,000. There the order of z needs a third more runs for the same power."""


def regression_p(x1: int, n1: int, x2: int, n2: int) -> float:
    """The exact one-sided p-value for "the candidate's pass rate is lower than the baseline's".

    The exact unconditional E+M test (Lloyd 2008): all tables are ordered by the estimated p-value of the pooled z
    statistic (E); p is the largest probability, over all common rates, of a table at least as extreme (M). Where there
    are more than 125,000 tables the order is that of z itself, which is as exact. An empty arm gives 1.

    Raises:
        InputError: the counts can't be.
    """
    return _regression_p(*whole_counts(x1, n1), *whole_counts(x2, n2))


def regression_p_many(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> Floats:
    """`regression_p` for many cases at once; each distinct table is worked out once.

    Returns:
        One p-value a case, in order.

    Raises:
        InputError: counts can't be, or the four differ in shape.
    """
    return _each_table_once(regression_p, x1, n1, x2, n2)


def regression_cuts(n1: int, n2: int, alpha: float) -> Cuts:
    """All tables that show a regression at `alpha`, as cuts: `regression_p` <= `alpha` where x2 < cuts[x1].

    Raises:
        InputError: a number of runs is negative or `alpha` is no share.
    """
    (_, n1), (_, n2) = whole_counts(0, n1), whole_counts(0, n2)
    check_share("alpha", alpha)
    if n1 == 0 or n2 == 0:
        return np.zeros(n1 + 1, dtype=np.int64)
    return _widest(n1, n2, alpha) if _fits(n1, n2) else widest_by_score(n1, n2, 0.0, alpha)


def fisher_p(x1: int, n1: int, x2: int, n2: int) -> float:
    """Fisher's exact one-sided p-value for "the candidate is worse" (Fisher 1935); an empty arm gives 1.

    Weaker than `regression_p` for one case, but its few attainable values are what `multiplicity.step_down` lives on.

    Raises:
        InputError: the counts can't be.
    """
    (x1, n1), (x2, n2) = whole_counts(x1, n1), whole_counts(x2, n2)
    least, tail = worse_tail(n1, n2, x1 + x2)
    return float(tail[x2 - least])


def fisher_p_many(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> Floats:
    """`fisher_p` for many cases at once.

    Returns:
        One p-value a case, in order.

    Raises:
        InputError: counts can't be, or the four differ in shape.
    """
    return _each_table_once(fisher_p, x1, n1, x2, n2)


@lru_cache(maxsize=1 << 16)
def _regression_p(x1: int, n1: int, x2: int, n2: int) -> float:
    if n1 == 0 or n2 == 0:
        return 1.0
    if _fits(n1, n2):
        order = estimated_p(n1, n2)
        cuts = cuts_of(order, float(order[x1, x2]))
    else:
        cuts = score_cuts(n1, n2, 0.0, score(x1, n1, x2, n2, 0.0).item())
    return largest_probability(cuts, n1, n2)


@lru_cache(maxsize=256)
def _widest(n1: int, n2: int, alpha: float) -> Cuts:
    """The cuts of the widest region in the test's order whose size is at most `alpha`."""
    order = estimated_p(n1, n2)
    steps = np.unique(order)
    inside, outside = -1, len(steps)
    cuts = np.zeros(n1 + 1, dtype=np.int64)
    while outside - inside > 1:
        middle = (inside + outside) // 2
        tried = cuts_of(order, float(steps[middle]))
        if largest_probability(tried, n1, n2) <= alpha:
            inside, cuts = middle, tried
        else:
            outside = middle
    cuts.flags.writeable = False
    return cuts


def _each_table_once(
    function: Callable[[int, int, int, int], float], x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike
) -> Floats:
    columns = [whole_numbers(column) for column in (x1, n1, x2, n2)]
    if len({column.shape for column in columns}) > 1:
        raise InputError(f"counts of different shapes: {[c.shape for c in columns]}", cure="give one entry a case")
    tables, where, _ = distinct_rows(np.stack(columns, axis=-1).reshape(-1, 4))
    values = np.array([function(*table) for table in tables.tolist()], dtype=np.float64)
    return values[where.reshape(columns[0].shape)]


def _fits(n1: int, n2: int) -> bool:
    """Whether all tables are few enough to be ordered by their estimated p-value."""
    return (n1 + 1) * (n2 + 1) <= _LARGEST_ORDER
