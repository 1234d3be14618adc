"""Lloyd's E: tables of two arms in the order of their estimated p-values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.orders import monotone
from evalkit.stats.score import SAME_Z, score

__all__ = ["cuts_of", "estimated_p"]

Floats = NDArray[np.float64]

_SAME_E = 1e-10


@lru_cache(maxsize=32)
def estimated_p(n1: int, n2: int) -> Floats:
    """Lloyd's E: for each table P(z at least as large), at the table's own pooled rate; shape (n1 + 1, n2 + 1).

    Tables in which the candidate is no worse come last, in the order of z: nobody asks how extreme they are, and any
    order gives an exact test. A table that is more extreme in both counts never gets a larger value: where the estimate
    would break that rule (no pair of sizes is known where it does) the larger value is kept for both.
    """
    x1, x2 = np.indices((n1 + 1, n2 + 1))
    z = score(x1, n1, x2, n2, 0.0).ravel()
    worse = np.flatnonzero(z > SAME_Z)
    falling = worse[np.argsort(-z[worse], kind="stable")]
    last = np.searchsorted(-z[falling], -(z - SAME_Z), side="right") - 1
    total = np.where(z > SAME_Z, (x1 + x2).ravel(), -1)
    rows1, rows2 = x1.ravel()[falling], x2.ravel()[falling]
    rates = np.arange(n1 + n2 + 1) / (n1 + n2)
    mass1, mass2 = binomial_pmf(n1, rates), binomial_pmf(n2, rates)
    estimate = 1.0 - z
    for passes in range(n1 + n2 + 1):
        own = np.flatnonzero(total == passes)
        tail = np.cumsum(mass1[passes, rows1] * mass2[passes, rows2])
        estimate[own] = tail[last[own]]
    return monotone(estimate.reshape(n1 + 1, n2 + 1))


def cuts_of(order: Floats, value: float) -> NDArray[np.int64]:
    """The tables that come no later than `value` in a rising order, as cuts: in row x1 all x2 below cuts[x1]."""
    cuts: NDArray[np.int64] = np.count_nonzero(order <= value * (1 + _SAME_E), axis=1)
    return cuts
