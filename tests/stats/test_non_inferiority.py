"""Not worse by a margin: published intervals and powers, and sizes counted out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.non_inferiority import non_inferiority_cuts, non_inferiority_p
from tests.stats.tables import mass


def score_ends(x1: int, n1: int, x2: int, n2: int, low: float, high: float) -> tuple[float, float]:
    """One-sided p at both ends of an interval for rate 2 less rate 1."""
    return non_inferiority_p(x1, n1, x2, n2, -low), non_inferiority_p(x2, n2, x1, n1, high)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        ((4, 12, 9, 11), 0.0616, 0.7968),
        ((10, 35, 24, 61), -0.0992, 0.2949),
        ((2, 7, 6, 13), -0.31079617, 0.57872320),
    ],
)
def test_non_inferiority_inverts_the_exact_score_interval(
    table: tuple[int, int, int, int], low: float, high: float
) -> None:
    """At both ends of the 95% interval of StatXact and exact2x2 the one-sided p is 0.025."""
    assert score_ends(*table, low, high) == pytest.approx((0.025, 0.025), abs=5e-5)


def test_non_inferiority_has_the_published_power() -> None:
    """R's Exact: 65 runs an arm, both at 0.30, margin 0.2, alpha 0.05 shows non-inferiority with 0.8005."""
    n = 65
    region = (np.arange(n + 1) < non_inferiority_cuts(n, n, 0.2, 0.05)[:, None]).T
    rate = np.array([0.3])
    assert mass(region, rate, rate)[0] == pytest.approx(0.8005405958, abs=1e-8)


@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from([0.05, 0.1, 0.3]))
@settings(max_examples=8, deadline=None)
def test_non_inferiority_never_exceeds_its_size(n1: int, n2: int, margin: float) -> None:
    """A candidate that is worse by the margin or more is let through with at most alpha, by enumeration."""
    shown = (np.arange(n1 + 1) < non_inferiority_cuts(n1, n2, margin, 0.1)[:, None]).T
    for drop in (margin, margin + 0.2):
        base = np.linspace(drop, 1.0, 401)
        assert mass(shown, base, base - drop).max(initial=0.0) <= 0.1


def test_non_inferiority_cuts_hold_exactly_the_tables_that_show_it() -> None:
    """The region used for power is that of the p-value."""
    region = np.arange(9) < non_inferiority_cuts(8, 12, 0.3, 0.1)[:, None]
    p = np.array([[non_inferiority_p(a, 8, b, 12, 0.3) for a in range(9)] for b in range(13)])
    assert region.any()
    assert ((p <= 0.1) == region).all()


def test_equal_arms_show_non_inferiority_only_with_enough_runs() -> None:
    """No difference seen in 5 runs is no proof of "not worse"; in 100 it is."""
    assert non_inferiority_p(5, 5, 5, 5, 0.1) > 0.5
    assert non_inferiority_p(100, 100, 100, 100, 0.1) < 0.001
    assert non_inferiority_p(0, 0, 5, 5, 0.1) == 1.0


def test_impossible_margins_are_refused() -> None:
    """Counts that can't be and margins in percent: errors, not p-values."""
    with pytest.raises(InputError):
        non_inferiority_p(11, 10, 3, 10, 0.1)
    with pytest.raises(InputError, match="margin"):
        non_inferiority_p(5, 5, 5, 5, 10)


@pytest.mark.parametrize("margin", [1e-6, 0.99, 0.999999, -0.99])
def test_margins_at_their_bounds_have_p_values(margin: float) -> None:
    """No division by zero is told of (warnings are errors), and every table has a probability."""
    found = [non_inferiority_p(x1, 10, x2, 7, margin) for x1 in range(11) for x2 in range(8)]
    assert all(0 < p <= 1 for p in found)
