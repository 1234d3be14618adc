"""The score statistic of two rates: how many standard errors the seen drop is from the margin.

The standard error is that at the likeliest rates on the edge of the null hypothesis (Farrington and Manning 1990); at a
margin of 0 this is the pooled z statistic. It falls with arm b's passes and rises with arm a's, so the tables beyond a
value are cuts: per x_a the number of x_b, counted from 0.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.stats.unconditional import largest_probability

__all__ = ["SAME_Z", "score", "score_cuts", "widest_by_score"]

Floats = NDArray[np.float64]
Cuts = NDArray[np.int64]

SAME_Z = 1e-10
"""Statistics that differ by less are equal: their tables enter a region together."""

_FAR_Z = 40.0
_HALVINGS = 50


def score(x_a: ArrayLike, n_a: int, x_b: ArrayLike, n_b: int, margin: float) -> Floats:
    """The score statistic for "rate a > rate b - margin"; pooled z at a margin of 0, and 0 where nothing varies."""
    x_a, x_b = np.asarray(x_a), np.asarray(x_b)
    rate_b = (x_a + x_b) / (n_a + n_b) if margin == 0.0 else _constrained_rate(x_a, n_a, x_b, n_b, margin)
    rate_a = np.clip(rate_b - margin, 0.0, 1.0)
    variance = rate_a * (1 - rate_a) / n_a + rate_b * (1 - rate_b) / n_b
    difference = x_a / n_a - x_b / n_b + margin
    z: Floats = np.where(variance > 0, difference / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
    return z


def score_cuts(n_a: int, n_b: int, margin: float, z: float) -> Cuts:
    """Per x_a the number of x_b whose score statistic is at least `z`; the statistic falls with x_b."""
    x_a = np.arange(n_a + 1)
    inside, outside = np.full(n_a + 1, -1), np.full(n_a + 1, n_b + 1)
    while (open_rows := outside - inside > 1).any():
        middle = np.where(open_rows, (inside + outside) // 2, 0)
        reached = score(x_a, n_a, middle, n_b, margin) >= z - SAME_Z
        inside = np.where(open_rows & reached, middle, inside)
        outside = np.where(open_rows & ~reached, middle, outside)
    cuts: Cuts = np.maximum.accumulate(inside + 1)
    return cuts


@lru_cache(maxsize=256)
def widest_by_score(n_a: int, n_b: int, margin: float, alpha: float) -> Cuts:
    """The cuts of the widest region in the order of the statistic whose size is at most `alpha`, read-only."""
    low, high = -_FAR_Z, _FAR_Z
    cuts = np.zeros(n_a + 1, dtype=np.int64)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = score_cuts(n_a, n_b, margin, middle)
        if largest_probability(tried, n_a, n_b, margin) <= alpha:
            high, cuts = middle, tried
        else:
            low = middle
    cuts.flags.writeable = False
    return cuts


def _constrained_rate(x_a: NDArray[np.int64], n_a: int, x_b: NDArray[np.int64], n_b: int, margin: float) -> Floats:
    """The likeliest rate b under rate a = rate b - `margin`: the root of the falling score, by bisection."""
    low = np.full(np.broadcast(x_a, x_b).shape, max(0.0, margin))
    high = np.full(low.shape, min(1.0, 1.0 + margin))
    for _ in range(_HALVINGS):
        rate_b = (low + high) / 2
        rate_a = rate_b - margin
        with np.errstate(divide="ignore", invalid="ignore"):  # at the end of the line, where that end is the root
            slope = x_a / rate_a - (n_a - x_a) / (1 - rate_a) + x_b / rate_b - (n_b - x_b) / (1 - rate_b)
        low, high = np.where(slope > 0, rate_b, low), np.where(slope > 0, high, rate_b)
    middle: Floats = (low + high) / 2
    return middle
