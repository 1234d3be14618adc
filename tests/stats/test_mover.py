"""Intervals for a difference: published numbers, and coverage counted out."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.errors import InputError
from evalkit.stats.interval import midp, wilson
from evalkit.stats.mover import mover, mover_interval
from tests.stats.tables import mass


def test_mover_gives_newcombes_hybrid_score_interval() -> None:
    """From Wilson's limits of 56/70 and 48/80 it is the published (0.0524, 0.3339)."""
    found = mover(48 / 80, wilson(48, 80), 56 / 70, wilson(56, 70))
    assert found == pytest.approx((0.0524, 0.3339), abs=5.1e-5)


def test_mover_interval_is_mover_of_the_midp_limits() -> None:
    """All passed against 7 of 10, from the mid-P limits (0.741134, 1) and (0.380081, 0.917400)."""
    low, high = mover_interval(10, 10, 7, 10)
    assert low == pytest.approx(-0.3 - (0.7 - 0.380081), abs=1e-5)
    assert high == pytest.approx(-0.3 + ((0.917400 - 0.7) ** 2 + (1 - 0.741134) ** 2) ** 0.5, abs=1e-5)
    assert mover_interval(7, 10, 10, 10) == pytest.approx((-high, -low), abs=1e-12)


def test_mover_interval_covers_nearly_its_level() -> None:
    """For drops of up to 0.5 from 0.7 and above, 20 runs an arm, coverage is above 0.935, by enumeration."""
    n, each = 20, range(21)
    ends = np.array([[mover_interval(a, n, b, n) for b in each] for a in each])
    for base in (0.7, 0.8, 0.9, 0.95, 0.99, 1.0):
        for drop in (0.0, 0.1, 0.2, 0.35, 0.5):
            inside = (ends[..., 0] <= -drop + 1e-12) & (ends[..., 1] >= -drop - 1e-12)
            assert mass(inside, np.array([base]), np.array([base - drop]))[0] > 0.935


def test_mover_interval_without_a_baseline_is_everything() -> None:
    """An empty arm leaves the difference open between what the other one allows."""
    assert mover_interval(0, 0, 0, 0) == (-1.0, 1.0)
    low, high = midp(8, 10)
    assert mover_interval(0, 0, 8, 10) == (low - 1.0, high)


def test_impossible_counts_are_refused() -> None:
    """More passes than runs give no interval."""
    with pytest.raises(InputError):
        mover_interval(11, 10, 3, 10)
