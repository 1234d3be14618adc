"""Binomial coefficients, and probabilities as whole rows, so that sums over tables are products of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlog1py, xlogy

__all__ = ["binomial_cdf", "binomial_pmf", "log_ways"]


def log_ways(n: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
    """The logarithm of the number of ways to choose `x` of `n`."""
    of, chosen = np.asarray(n), np.asarray(x)
    ways: NDArray[np.float64] = gammaln(of + 1) - gammaln(chosen + 1) - gammaln(of - chosen + 1)
    return ways


def binomial_pmf(n: int, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(X = x) for each rate and each x from 0 to n; shape (rates, n + 1)."""
    x = np.arange(n + 1)
    column = rates[:, None]
    mass: NDArray[np.float64] = np.exp(log_ways(n, x) + xlogy(x, column) + xlog1py(n - x, -column))
    return mass


def binomial_cdf(n: int, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(X < k) for each rate and each k from 0 to n + 1; shape (rates, n + 2)."""
    below = np.zeros((len(rates), n + 2))
    np.cumsum(binomial_pmf(n, rates), axis=1, out=below[:, 1:])
    return below
