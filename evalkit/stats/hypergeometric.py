"""The passes of the candidate when only the total of passes is known: what Fisher's test and its kin condition on."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.binomial import log_ways

__all__ = ["passes_pmf", "worse_tail"]


@lru_cache(maxsize=4096)
def passes_pmf(n1: int, n2: int, total: int) -> tuple[int, NDArray[np.float64]]:
    """The distribution of the candidate's passes under equal rates, given `total` passes in both arms.

    Returns:
        The smallest possible count, and the probabilities from there on, read-only.
    """
    least = max(0, total - n1)
    x2 = np.arange(least, min(n2, total) + 1)
    logs = log_ways(n2, x2) + log_ways(n1, total - x2)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    mass.flags.writeable = False
    return least, mass


@lru_cache(maxsize=4096)
def worse_tail(n1: int, n2: int, total: int) -> tuple[int, NDArray[np.float64]]:
    """P(candidate's passes <= x2) for each possible x2: all attainable values of Fisher's one-sided p, rising.

    Returns:
        The smallest possible count, and the tails from there on, read-only; the last is exactly 1.
    """
    least, mass = passes_pmf(n1, n2, total)
    tail = np.minimum(np.cumsum(mass), 1.0)
    tail[-1] = 1.0
    tail.flags.writeable = False
    return least, tail
