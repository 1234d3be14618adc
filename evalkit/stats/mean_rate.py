"""The mean of many cases' pass rates, with its interval: the rate of a suite.

NumPy alone: every run's report shows such a rate, and SciPy takes longer to load than the rest of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_share, whole_numbers
from evalkit.stats.interval import wilson

__all__ = ["NONE_ESTIMATED", "Estimated", "counts_of_arms", "effective_runs", "rates_of", "suite_rate"]

Counts = NDArray[np.int64]
Estimated: TypeAlias = Mapping[int, tuple[float, float | None]]
"""By a case's place, its rate and the variance of that, where that share of its runs is biased; see `stopped`."""
NONE_ESTIMATED: Estimated = {}


def suite_rate(
    x: ArrayLike, n: ArrayLike, level: float = 0.95, *, estimated: Estimated = NONE_ESTIMATED
) -> tuple[float, float, float]:
    """The mean of the cases' pass rates in one arm, with Wilson's interval at its effective number of runs.

    The cases are fixed and each weighs the same, however many runs it had.

    Args:
        estimated: see `Estimated`.

    Raises:
        InputError: counts can't be, there are no cases, or a case has no runs.
    """
    check_share("level", level)
    ((passed, runs), _) = counts_of_arms(x, n, x, n)
    mean, effective = _effective(passed, runs, estimated)
    return mean, *wilson(mean * effective, effective, level)


def effective_runs(
    x1: ArrayLike,
    n1: ArrayLike,
    x2: ArrayLike,
    n2: ArrayLike,
    *,
    estimated: tuple[Estimated, Estimated] = (NONE_ESTIMATED, NONE_ESTIMATED),
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Per arm the mean of the cases' rates, and the number of runs of one case that would vary as much as that mean.

    Raises:
        InputError: counts can't be, there are no cases, or a case has no runs in one arm.
    """
    first, second = counts_of_arms(x1, n1, x2, n2)
    return _effective(*first, estimated[0]), _effective(*second, estimated[1])


def counts_of_arms(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> list[tuple[Counts, Counts]]:
    """Passes and runs of each arm, one entry a case.

    Raises:
        InputError: counts can't be, there are no cases, or a case has no runs in one arm.
    """
    columns = [whole_numbers(column).reshape(-1) for column in (x1, n1, x2, n2)]
    if len({len(column) for column in columns}) > 1 or not len(columns[0]):
        raise InputError(f"counts of {[len(column) for column in columns]} cases", cure="give one entry a case")
    arms = [(columns[0], columns[1]), (columns[2], columns[3])]
    for passed, runs in arms:
        if (passed < 0).any() or (passed > runs).any() or (runs < 1).any():
            raise InputError("counts that can't be, or a case without runs", cure="compare cases that ran in both arms")
    return arms


def rates_of(passed: Counts, runs: Counts, estimated: Estimated = NONE_ESTIMATED) -> NDArray[np.float64]:
    """The rate of each case."""
    rates: NDArray[np.float64] = passed / runs
    for at, (rate, _) in estimated.items():
        rates[at] = rate
    return rates


def _effective(passed: Counts, runs: Counts, estimated: Estimated) -> tuple[float, float]:
    """An arm's mean rate, and the number of binomial runs that would vary as much as it does."""
    rates = rates_of(passed, runs, estimated)
    mean, cases = min(max(float(rates.mean()), 0.0), 1.0), len(runs)
    pooled = mean * (1 - mean)
    # one run tells nothing about its own case's spread: it counts as if all cases had the mean rate
    spread = np.where(runs > 1, rates * (1 - rates) / np.maximum(runs - 1, 1), pooled)
    for at, (_, variance) in estimated.items():
        spread[at] = pooled if variance is None else variance
    # where no case had both outcomes, as if one single run had gone the other way
    variance = max(float(spread.sum()), 1 / float(runs.max()) ** 2) / cases**2
    # of as many runs each as chance decided, bad cases may have the fewest: what is sure is the least of them
    least = cases * float(runs.min()) if estimated else cases**2 / float((1 / runs).sum())
    return mean, max(pooled / variance, least)
