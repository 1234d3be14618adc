"""All tables of two arms from the most to the least extreme, and the largest probability of each with all before it.

An order is an array over tables (x_a, x_b) that is smaller for more extreme ones, which are those with more passes in
arm a and fewer in arm b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.unconditional import rates_on_line

__all__ = ["levels", "monotone"]

Floats = NDArray[np.float64]

_POINTS = 97
_SAME = 1e-10


def monotone(order: Floats) -> Floats:
    """The order with a larger value for every table that would come before a more extreme one; read-only."""
    rising = np.maximum.accumulate(order, axis=1)
    kept: Floats = np.maximum.accumulate(rising[::-1], axis=0)[::-1]
    kept.flags.writeable = False
    return kept


def levels(order: Floats, margin: float = 0.0) -> Floats:
    """For each table the largest probability, over rate a = rate b - `margin`, of all tables up to it in the order.

    On a coarse grid of rates: near enough to say how far a region may reach, not to be shown as a p-value.
    """
    rows, columns = order.shape
    rates_a, rates_b = rates_on_line(np.linspace(0.0, np.pi / 2, _POINTS), margin)
    rising = np.argsort(order, axis=None, kind="stable")
    at_a, at_b = np.divmod(rising, columns)
    mass = binomial_pmf(rows - 1, rates_a)[:, at_a]
    mass *= binomial_pmf(columns - 1, rates_b)[:, at_b]
    largest = np.cumsum(mass, axis=1, out=mass).max(axis=0)
    ranked = order.ravel()[rising]
    last = np.searchsorted(ranked, order.ravel() + _SAME, side="right") - 1
    level: Floats = largest[last].reshape(order.shape)
    return level
