"""When two arms that grow in batches first enter a region of tables, exactly and for all rates at once.

Given the counts at a look, every way to have got there is equally likely, whatever the rates: earlier counts are
hypergeometric. So the share of ways that enter a region for the first time is worked out once, and weighted with
binomials afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.binomial import binomial_pmf, log_ways

__all__ = ["Sizes", "first_entries", "probability"]

Floats = NDArray[np.float64]

Sizes = Sequence[tuple[int, int]]
"""Runs of both arms at each look, never falling."""


def first_entries(sizes: Sizes, regions: Sequence[NDArray[np.bool_]]) -> list[Floats]:
    """Per look and table (x1, x2): the share of ways to it that enter a region there for the first time.

    Args:
        sizes: runs of both arms at each look.
        regions: the tables in question at each look, each of shape (n1 + 1, n2 + 1).
    """
    entries = []
    outside = np.ones((sizes[0][0] + 1, sizes[0][1] + 1))
    before = sizes[0]
    for runs, region in zip(sizes, regions, strict=True):
        reached = outside
        if before[0] != runs[0]:  # a baseline that exists doesn't grow
            reached = _earlier(before[0], runs[0]) @ reached
        if before[1] != runs[1]:
            reached = reached @ _earlier(before[1], runs[1]).T
        entries.append(np.where(region, reached, 0.0))
        outside, before = np.where(region, 0.0, reached), runs
    return entries


def probability(sizes: Sizes, shares: Sequence[Floats], rates1: Floats, rates2: Floats) -> Floats:
    """The probability of what makes up these shares of the ways to each table, over all looks, per pair of rates."""
    total = np.zeros(len(rates1))
    for (n1, n2), share in zip(sizes, shares, strict=True):
        total += np.einsum("pi,pi->p", _mass(n1, rates1.tobytes()) @ share, _mass(n2, rates2.tobytes()))
    return total


@lru_cache(maxsize=128)
def _mass(n: int, rates: bytes) -> Floats:
    """`binomial_pmf`, once for the many regions that are tried at the same rates."""
    return binomial_pmf(n, np.frombuffer(rates))


@lru_cache(maxsize=256)
def _earlier(before: int, now: int) -> Floats:
    """P(j passes in the first `before` runs, given x in all `now`); row x, column j."""
    x, j = np.arange(now + 1)[:, None], np.arange(before + 1)
    possible = (j <= x) & (x - j <= now - before)
    later = np.where(possible, x - j, 0)
    logs = log_ways(before, j) + log_ways(now - before, later) - log_ways(now, x)
    share: Floats = np.where(possible, np.exp(logs), 0.0)
    return share
