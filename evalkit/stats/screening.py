"""Thousands of cases: a few runs of each point at suspects, and fresh runs of these decide.

The runs that made a case a suspect never count against it, nor does what they were compared with, which is why the
second step needs no correction for the first: a two-stage design with fresh data.
"""

from __future__ import annotations

from math import log

import numpy as np

from evalkit.errors import InputError
from evalkit.stats.arguments import whole_counts
from evalkit.stats.hypergeometric import passes_pmf

__all__ = ["both_steps_p", "put_aside"]


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
    (x, n), (runs, _) = whole_counts(x, n), whole_counts(runs, n)
    if not 0 <= drawn <= 1:
        raise InputError(f"{drawn} drawn from 0 to 1", cure="give a number from 0 to 1")
    least, mass = passes_pmf(n - runs, runs, x)
    at = int(np.searchsorted(np.cumsum(mass), drawn, side="right"))
    passed = least + min(at, len(mass) - 1)
    return (passed, runs), (x - passed, n - runs)
