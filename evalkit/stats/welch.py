"""Welch's test over strata: two arms whose runs vary differently, within fixed cases."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_share

__all__ = ["stratified_welch"]

Floats = NDArray[np.float64]


def stratified_welch(cases: Sequence[tuple[Floats, Floats]], level: float = 0.95) -> tuple[float, float, float]:
    """Two-sided p-value and interval of arm b's mean less arm a's, averaged over the cases.

    Every arm of every case has a variance of its own; degrees of freedom as by Satterthwaite (1946), Welch (1947). It
    assumes means that are nearly normal, and needs two runs or more in each arm.

    Args:
        cases: per case the values of its runs in arm a and in arm b.
        level: of the interval.

    Returns:
        p, low, high.

    Raises:
        InputError: no cases, an arm with fewer than two runs, or `level` is no share.
    """
    check_share("level", level)
    arms = [arm for both in cases for arm in both]
    if not arms or min(map(len, arms)) < 2:
        raise InputError("an arm with fewer than two runs has no variance", cure="leave such cases out")
    from scipy.special import stdtr, stdtrit

    difference = float(np.mean([b.mean() - a.mean() for a, b in cases]))
    variances = np.array([arm.var(ddof=1) / len(arm) for arm in arms])
    total = float(variances.sum())
    if not total:
        return (0.0 if difference else 1.0), difference, difference
    freedom = total**2 / float((variances**2 / (np.array([len(arm) for arm in arms]) - 1)).sum())
    error = sqrt(total) / len(cases)
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return 2 * float(stdtr(freedom, -abs(difference) / error)), difference - reach, difference + reach
