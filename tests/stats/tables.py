"""Probabilities of regions of tables by plain enumeration: what the exact tests are checked against."""

from __future__ import annotations

import numpy as np

from evalkit.stats.binomial import binomial_pmf

FINE = np.sin(np.linspace(0, np.pi / 2, 1501)) ** 2
"""Many rates from 0 to 1, close together where binomials are narrow."""


def mass(region: np.ndarray, rates1: np.ndarray, rates2: np.ndarray) -> np.ndarray:
    """P(region) at each pair of rates."""
    n1, n2 = region.shape[0] - 1, region.shape[1] - 1
    found: np.ndarray = np.einsum("pi,pi->p", binomial_pmf(n1, rates1) @ region.astype(float), binomial_pmf(n2, rates2))
    return found
