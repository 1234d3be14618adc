"""One case, two arms: is it shown that the candidate is not worse by a margin?

Arm 1 is the baseline (`x1` passes of `n1` runs), arm 2 the candidate. "No regression shown" is not this: few runs show
neither a regression nor its absence.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_share, whole_counts
from evalkit.stats.score import score, score_cuts, widest_by_score
from evalkit.stats.unconditional import largest_probability

__all__ = ["check_margin", "non_inferiority_cuts", "non_inferiority_p"]

Cuts = NDArray[np.int64]


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
    counts = *whole_counts(x1, n1), *whole_counts(x2, n2)
    check_margin(margin)
    return _non_inferiority_p(*counts, float(margin))


def non_inferiority_cuts(n1: int, n2: int, margin: float, alpha: float) -> Cuts:
    """All tables that show non-inferiority at `alpha`, as cuts: `non_inferiority_p` <= `alpha` where x1 < cuts[x2].

    Raises:
        InputError: a number of runs is negative, `margin` is not between -1 and 1, or `alpha` is no share.
    """
    (_, n1), (_, n2) = whole_counts(0, n1), whole_counts(0, n2)
    check_margin(margin)
    check_share("alpha", alpha)
    if n1 == 0 or n2 == 0:
        return np.zeros(n2 + 1, dtype=np.int64)
    return widest_by_score(n2, n1, float(margin), alpha)


def check_margin(margin: float) -> None:
    if not -1.0 < margin < 1.0:
        raise InputError(f"margin is {margin}, wanted a drop of a rate", cure="give -1 < margin < 1")


@lru_cache(maxsize=1 << 14)
def _non_inferiority_p(x1: int, n1: int, x2: int, n2: int, margin: float) -> float:
    if n1 == 0 or n2 == 0:
        return 1.0
    cuts = score_cuts(n2, n1, margin, score(x2, n2, x1, n1, margin).item())
    return largest_probability(cuts, n2, n1, margin)
