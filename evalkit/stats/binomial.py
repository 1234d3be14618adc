"""Binomial probabilities as whole rows, so that sums over tables are products of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

__all__ = ["binomial_cdf", "binomial_pmf"]


def binomial_pmf(n: int, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(X = x) for each rate and each x from 0 to n; shape (rates, n + 1)."""
    x = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    column = rates[:, None]
    mass: NDArray[np.float64] = np.exp(ways + xlogy(x, column) + xlog1py(n - x, -column))
    return mass


def binomial_cdf(n: int, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(X < k) for each rate and each k from 0 to n + 1; shape (rates, n + 2)."""
    below = np.zeros((len(rates), n + 2))
    np.cumsum(binomial_pmf(n, rates), axis=1, out=below[:, 1:])
    return below
