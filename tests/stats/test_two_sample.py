"""One case, two arms: published numbers, and sizes counted out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.interval import midp, wilson
from evalkit.stats.two_sample import (
    fisher_p,
    mover,
    mover_interval,
    non_inferiority_cuts,
    non_inferiority_p,
    regression_cuts,
    regression_p,
    regression_p_many,
)

RUNS = st.integers(1, 25)
FINE = np.sin(np.linspace(0, np.pi / 2, 1501)) ** 2


def all_p(n1: int, n2: int) -> np.ndarray:
    """The regression p-value of every table, row x1, column x2."""
    x1, x2 = np.indices((n1 + 1, n2 + 1))
    return regression_p_many(x1, np.full(x1.shape, n1), x2, np.full(x2.shape, n2))


def mass(region: np.ndarray, rates1: np.ndarray, rates2: np.ndarray) -> np.ndarray:
    """P(region) at each pair of rates."""
    n1, n2 = region.shape[0] - 1, region.shape[1] - 1
    found: np.ndarray = np.einsum("pi,pi->p", binomial_pmf(n1, rates1) @ region.astype(float), binomial_pmf(n2, rates2))
    return found


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((10, 10, 7, 10), 0.04379395),
        ((10, 10, 6, 10), 0.01651818),
        ((20, 20, 17, 20), 0.04306007),
        ((19, 20, 14, 20), 0.02488525),
        ((50, 50, 45, 50), 0.00983497),
        ((3, 3, 0, 3), 1 / 64),
        ((1, 1, 0, 1), 1 / 4),
    ],
)
def test_regression_p_keeps_its_values(table: tuple[int, int, int, int], p: float) -> None:
    """The E+M p-values are those of a separate implementation, plus at most the margin for the search."""
    assert p - 1e-8 <= regression_p(*table) <= p + 2e-6


def test_regression_p_is_the_pooled_z_test_where_both_orders_agree() -> None:
    """R's Exact, Z-pooled, one-sided: two tables whose regions are the same under E+M."""
    assert regression_p(10, 10, 7, 10) == pytest.approx(0.0437939534, abs=2e-6)
    assert regression_p(20, 20, 17, 20) == pytest.approx(0.0430600699, abs=2e-6)


@pytest.mark.parametrize("table", [(10, 10, 10, 10), (0, 10, 0, 7), (3, 10, 10, 10), (0, 0, 0, 5), (5, 5, 0, 0)])
def test_nothing_lost_shows_nothing(table: tuple[int, int, int, int]) -> None:
    """All passed twice, all failed twice, a gain from little, or an empty arm: p is 1 or close to it."""
    assert regression_p(*table) > 0.99


@given(RUNS, RUNS)
@settings(max_examples=25, deadline=None)
def test_regression_test_never_exceeds_its_size(n1: int, n2: int) -> None:
    """Whatever the sizes and the common rate, P(p <= alpha) is at most alpha, by enumeration."""
    p = all_p(n1, n2)
    for alpha in (0.2, 0.05, 0.01):
        assert mass(p <= alpha, FINE, FINE).max(initial=0.0) <= alpha


@given(RUNS, RUNS, st.data())
@settings(max_examples=25, deadline=None)
def test_a_p_value_is_the_size_of_its_own_region(n1: int, n2: int, data: st.DataObject) -> None:
    """The region of all tables with at most this p has that size: the bound is reached, not only kept."""
    p = all_p(n1, n2)
    own = p[data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))]
    assert mass(p <= own + 1e-9, FINE, FINE).max() == pytest.approx(min(own, 1.0), abs=1e-4)


@given(RUNS, RUNS)
@settings(max_examples=25, deadline=None)
def test_more_passes_of_the_candidate_never_look_worse(n1: int, n2: int) -> None:
    """p rises with the candidate's passes and falls with the baseline's."""
    p = all_p(n1, n2)
    assert (np.diff(p, axis=1) >= -1e-6).all()
    assert (np.diff(p, axis=0) <= 1e-6).all()


@given(st.integers(1, 15), st.integers(1, 15), st.sampled_from([0.2, 0.05, 0.01]))
@settings(max_examples=25, deadline=None)
def test_cuts_hold_exactly_the_tables_that_show_a_regression(n1: int, n2: int, alpha: float) -> None:
    """The region used for power is that of the p-value."""
    region = np.arange(n2 + 1) < regression_cuts(n1, n2, alpha)[:, None]
    assert ((all_p(n1, n2) <= alpha) == region).all()


def test_very_many_runs_are_tested_exactly_too() -> None:
    """Where the order is z itself, the region's size is still at most alpha, and p and cuts agree."""
    n1, n2 = 300, 220
    cuts = regression_cuts(n1, n2, 0.05)
    region = np.arange(n2 + 1) < cuts[:, None]
    assert 0.045 < mass(region, FINE, FINE).max() <= 0.05
    assert regression_p(290, n1, int(cuts[290]) - 1, n2) <= 0.05 < regression_p(290, n1, int(cuts[290]), n2)


def test_many_cases_get_the_p_values_of_single_ones() -> None:
    """Repeated tables and mixed sizes come back in their places."""
    tables = [(10, 10, 7, 10), (5, 5, 5, 5), (10, 10, 7, 10), (50, 50, 8, 10)]
    found = regression_p_many(*(list(column) for column in zip(*tables, strict=True)))
    assert found.tolist() == [regression_p(*table) for table in tables]
    assert regression_p_many([], [], [], []).shape == (0,)


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((15, 17, 3, 13), 0.0004651809),
        ((3, 4, 1, 4), 0.2428571429),
        ((10, 10, 7, 10), 0.1052631579),
        ((19, 20, 14, 20), 0.0457380457),
        ((50, 50, 45, 50), 0.0281422472),
        ((0, 0, 2, 3), 1.0),
    ],
)
def test_fisher_gives_the_known_values(table: tuple[int, int, int, int], p: float) -> None:
    """Fisher's twins and tea, and R's Exact for typical cases."""
    assert fisher_p(*table) == pytest.approx(p, abs=6e-11)


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
@settings(max_examples=20, deadline=None)
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
    """Counts that can't be, arms of different lengths, margins in percent: errors, not p-values."""
    for function in (regression_p, fisher_p, mover_interval):
        with pytest.raises(InputError):
            function(11, 10, 3, 10)
    with pytest.raises(InputError, match="shapes"):
        regression_p_many([1, 2], [3, 3], [1], [3])
    with pytest.raises(InputError, match="margin"):
        non_inferiority_p(5, 5, 5, 5, 10)
