"""Thousands of cases: a few runs of each point at suspects, and fresh runs of these decide.

The runs that made a case a suspect never count against it, which is why the second step needs no correction for the
first (a two-stage design with fresh data; Westfall and Wolfinger 1997 for the step-down over the suspects).
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_counts, check_share
from evalkit.stats.hypergeometric import passes_pmf
from evalkit.stats.multiplicity import Dependence, step_down
from evalkit.stats.two_sample import fisher_p_many, regression_p_many

__all__ = ["both_steps_p", "confirmed_p", "put_aside", "suspects"]


def suspects(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, level: float = 0.3) -> NDArray[np.bool_]:
    """The cases that may be worse: those whose `regression_p` is at most `level`, in the order given.

    The level is no error: it says how many suspects are run again. With five runs an arm 0.3 is one
    failure against a baseline without any.

    Raises:
        InputError: counts can't be, the four differ in shape, or `level` is no share.
    """
    check_share("level", level)
    found: NDArray[np.bool_] = regression_p_many(x1, n1, x2, n2) <= level
    return found


def confirmed_p(
    suspected: ArrayLike,
    x1: ArrayLike,
    n1: ArrayLike,
    x2: ArrayLike,
    n2: ArrayLike,
    *,
    dependence: Dependence = "independent",
) -> NDArray[np.float64]:
    """Adjusted p-values for "worse", family-wise over all cases, from runs made after the screening.

    Args:
        suspected: which cases `suspects` named.
        x1: passes of the baseline in fresh runs, one entry a case; what it is for other cases doesn't matter.
        n1: its fresh runs.
        x2: passes of the candidate in fresh runs.
        n2: its fresh runs.
        dependence: see `multiplicity.step_down`.

    Returns:
        One a case, in order; 1 for those not suspected.

    Raises:
        InputError: counts of a suspect can't be, or the five differ in length.
    """
    chosen = np.asarray(suspected, dtype=bool).reshape(-1)
    columns = [np.asarray(column, dtype=np.int64).reshape(-1) for column in (x1, n1, x2, n2)]
    if {len(column) for column in columns} != {len(chosen)}:
        raise InputError(f"{len(chosen)} cases screened, others counted", cure="give one entry a case")
    passed1, runs1, passed2, runs2 = (column[chosen] for column in columns)
    adjusted = np.ones(len(chosen))
    margins = np.stack([runs1, runs2, passed1 + passed2], axis=1)
    adjusted[chosen] = step_down(fisher_p_many(passed1, runs1, passed2, runs2), margins, dependence=dependence)
    return adjusted


def both_steps_p(screening: float, confirming: float) -> float:
    """One p-value for "worse somewhere" of a test over all cases' first runs, and one over the suspects' fresh runs.

    Fisher's product test (1932): P(U V <= q) = q (1 - ln q) for the product q of two p-values. The second needs no more
    than to hold its error whatever the first step came to, so that this may choose its cases (Bauer and Köhne 1994).

    Args:
        screening: the first p-value; made without any run that the second one sees, the baseline's too.
        confirming: the second one; 1 where there are no suspects.

    Raises:
        InputError: one is not between 0 and 1.
    """
    if not (0 <= screening <= 1 and 0 <= confirming <= 1):
        raise InputError(f"p-values {screening} and {confirming}", cure="give numbers from 0 to 1")
    product = screening * confirming
    return product * (1 - log(product)) if product else 0.0


def put_aside(x: int, n: int, runs: int, drawn: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """Splits a baseline of `x` passes in `n` runs, of which only the counts are known, into two independent ones.

    As if some of the runs had been chosen without regard to what they came to: their passes are hypergeometric, and
    those of the rest are independent of them, whatever the rate. One part may then screen and the other confirm.

    Args:
        runs: how many are put aside.
        drawn: a number from 0 up to 1, drawn uniformly and without regard to the counts.

    Returns:
        Passes and runs of the part put aside, then of the rest.

    Raises:
        InputError: counts can't be, or more are put aside than there are.
    """
    check_counts(x, n)
    check_counts(runs, n)
    least, mass = passes_pmf(n - runs, runs, x)
    at = int(np.searchsorted(np.cumsum(mass), drawn, side="right"))
    passed = least + min(at, len(mass) - 1)
    return (passed, runs), (x - passed, n - runs)
