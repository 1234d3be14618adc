"""Welch's test over strata: two arms whose runs vary differently, within fixed cases."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_share

__all__ = ["stratified_welch"]

Floats = NDArray[np.float64]


def stratified_welch(cases: Sequence[tuple[Floats, Floats]], level: float = 0.95) -> tuple[float, float, float]:
    """Two-sided p-value and interval of arm b's mean less arm a's, averaged over the cases.

    Every arm of every case has a variance of its own; degrees of freedom as by Satterthwaite (1946), Welch (1947). It
    assumes means that are nearly normal. A single run has no variance: it is given the mean of those of its arm.

    Args:
        cases: per case the values of its runs in arm a and in arm b.
        level: of the interval.

    Returns:
        p, low, high.

    Raises:
        InputError: no cases, an arm that has two runs or more in no case, or `level` is no share.
    """
    check_share("level", level)
    parts = [part for arm in zip(*cases, strict=True) for part in _of_arm(arm)]
    if not parts:
        raise InputError("no cases", cure="give one or more")
    from scipy.special import stdtr, stdtrit

    difference = fsum(float(b.mean() - a.mean()) for a, b in cases) / len(cases)  # the same in any order of the cases
    variances, freedoms = np.array(parts).T
    total = fsum(variances)
    if not total:
        return (0.0 if difference else 1.0), difference, difference
    freedom = 1 / fsum((variances / total) ** 2 / freedoms)
    error = sqrt(total) / len(cases)
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return 2 * float(stdtr(freedom, -abs(difference) / error)), difference - reach, difference + reach


def _of_arm(arm: Sequence[Floats]) -> list[tuple[float, int]]:
    """The variances of means that make up that of their sum, those of single runs shared out; degrees of freedom."""
    several = [runs for runs in arm if len(runs) > 1]
    if not several:
        raise InputError("an arm with fewer than two runs in each case has no variance", cure="leave it out")
    borrowed = (len(arm) - len(several)) / len(several)
    return [(float(runs.var(ddof=1)) * (1 / len(runs) + borrowed), len(runs) - 1) for runs in several]
