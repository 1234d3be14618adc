"""The size of a rejection region over a whole null hypothesis: what makes a test of two rates exact and unconditional.

A region of tables (x_a, x_b) is given by cuts: in row x_a it holds all x_b < cuts[x_a]. When the cuts grow with x_a,
as they do for every sensible order of the tables, its probability under "rate a is at most rate b less a margin" is
largest on the line where rate a is rate b less that margin (Berger and Sidik 2003), so that line is all that is
searched.

The search takes an arcsine grid, on which binomials have equal spread everywhere, and refines the best cell by nine
points and a parabola. What it may still miss is below 2e-7 (measured against grids 8 to 32 times finer, up to 100 and
20 runs); `SLACK` is added for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.binomial import binomial_cdf, binomial_pmf

__all__ = ["SLACK", "largest_along", "largest_probability", "rates_on_line"]

SLACK = 1e-6
"""Added to the largest probability found, so that it is never below the true one."""

_LEAST_POINTS = 256
_BLOCK = 1 << 17
_REFINED = 9

Floats = NDArray[np.float64]
Block = tuple[Floats, Floats]


def largest_probability(cuts: NDArray[np.int64], n_a: int, n_b: int, margin: float = 0.0) -> float:
    """The largest P(X_b < cuts[X_a]) over all rates with rate a = rate b - `margin`, plus `SLACK`; at most 1.

    Args:
        cuts: per x_a from 0 to n_a the number of x_b, counted from 0, that are in the region; never falling.
        n_a: runs of arm a.
        n_b: runs of arm b.
        margin: rate b less rate a on the edge of the null hypothesis, between -1 and 1.
    """
    points = max(_LEAST_POINTS, ceil(16 * sqrt(n_a + n_b)))
    rows = max(1, _BLOCK // (n_a + n_b + 3))
    sizes = np.concatenate(
        [
            _region(cuts, _grid_block(n_a, n_b, margin, points, start, min(start + rows, points)))
            for start in range(0, points, rows)
        ]
    )
    best = int(sizes.argmax())
    return _bounded(float(sizes[best]), _region(cuts, _near_block(n_a, n_b, margin, points, best)))


def largest_along(theta: Floats, values: Floats, evaluate: Callable[[Floats], Floats]) -> float:
    """The largest value of a smooth probability along the line, plus `SLACK`; at most 1.

    Args:
        theta: the points of the grid, rising.
        values: the probability at each of them.
        evaluate: gives it at other points.
    """
    best = int(values.argmax())
    return _bounded(float(values[best]), evaluate(_near(theta, best)))


def rates_on_line(theta: Floats, margin: float) -> tuple[Floats, Floats]:
    """Rate a and rate b at points of the line rate a = rate b - `margin`, from one end (0) to the other (pi / 2)."""
    low, high = max(0.0, margin), min(1.0, 1.0 + margin)
    rate_b = low + (high - low) * np.sin(theta) ** 2
    return np.clip(rate_b - margin, 0.0, 1.0), rate_b


def _region(cuts: NDArray[np.int64], block: Block) -> Floats:
    """The region's probability at each point of the block."""
    mass_a, below_b = block
    first = int(np.searchsorted(cuts, 1))  # rows before it hold nothing
    total: Floats = np.einsum("ij,ij->j", mass_a[first:], below_b[cuts[first:]])
    return total


@lru_cache(maxsize=64)
def _grid_block(n_a: int, n_b: int, margin: float, points: int, start: int, stop: int) -> Block:
    return _block(n_a, n_b, margin, np.linspace(0.0, np.pi / 2, points)[start:stop])


@lru_cache(maxsize=512)
def _near_block(n_a: int, n_b: int, margin: float, points: int, best: int) -> Block:
    return _block(n_a, n_b, margin, _near(np.linspace(0.0, np.pi / 2, points), best))


def _block(n_a: int, n_b: int, margin: float, theta: Floats) -> Block:
    """Both arms' probabilities along the line, a row a count: the pmf of arm a, the cdf of arm b."""
    rate_a, rate_b = rates_on_line(theta, margin)
    return binomial_pmf(n_a, rate_a).T.copy(), binomial_cdf(n_b, rate_b).T.copy()


def _near(theta: Floats, best: int) -> Floats:
    """Points of the two cells around a point of the grid."""
    return np.linspace(theta[max(best - 1, 0)], theta[min(best + 1, len(theta) - 1)], _REFINED)


def _bounded(on_grid: float, refined: Floats) -> float:
    return min(1.0, max(on_grid, _peak(refined)) + SLACK)


def _peak(values: Floats) -> float:
    """The largest value, or the top of the parabola through it and its neighbours."""
    at = int(values.argmax())
    if at in (0, len(values) - 1):
        return float(values[at])
    left, top, right = values[at - 1 : at + 2].tolist()
    bend = left - 2 * top + right
    return float(top if bend >= 0 else top - (left - right) ** 2 / (8 * bend))
