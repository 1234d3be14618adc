"""One case, two arms: published numbers, and sizes counted out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.two_sample import fisher_p, fisher_p_many, regression_cuts, regression_p, regression_p_many
from tests.stats.tables import FINE, mass

RUNS = st.integers(1, 25)


def all_p(n1: int, n2: int) -> np.ndarray:
    """The regression p-value of every table, row x1, column x2."""
    x1, x2 = np.indices((n1 + 1, n2 + 1))
    return regression_p_many(x1, np.full(x1.shape, n1), x2, np.full(x2.shape, n2))


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
@settings(max_examples=12, deadline=None)
def test_regression_test_never_exceeds_its_size(n1: int, n2: int) -> None:
    """Whatever the sizes and the common rate, P(p <= alpha) is at most alpha, by enumeration."""
    p = all_p(n1, n2)
    for alpha in (0.2, 0.05, 0.01):
        assert mass(p <= alpha, FINE, FINE).max(initial=0.0) <= alpha


@given(RUNS, RUNS, st.data())
@settings(max_examples=12, deadline=None)
def test_a_p_value_is_the_size_of_its_own_region(n1: int, n2: int, data: st.DataObject) -> None:
    """The region of all tables with at most this p has that size: the bound is reached, not only kept."""
    p = all_p(n1, n2)
    own = p[data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))]
    assert mass(p <= own + 1e-9, FINE, FINE).max() == pytest.approx(min(own, 1.0), abs=1e-4)


@given(RUNS, RUNS)
@settings(max_examples=12, deadline=None)
def test_more_passes_of_the_candidate_never_look_worse(n1: int, n2: int) -> None:
    """p rises with the candidate's passes and falls with the baseline's."""
    p = all_p(n1, n2)
    assert (np.diff(p, axis=1) >= -1e-6).all()
    assert (np.diff(p, axis=0) <= 1e-6).all()


@given(st.integers(1, 15), st.integers(1, 15), st.sampled_from([0.2, 0.05, 0.01]))
@settings(max_examples=12, deadline=None)
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
    fisher = fisher_p_many(*(list(column) for column in zip(*tables, strict=True)))
    assert fisher.tolist() == [fisher_p(*table) for table in tables]
    assert regression_p_many([], [], [], []).shape == (0,)


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((15, 17, 3, 13), 0.0004651809),
        ((3, 4, 1, 4), 0.2428571429),
        ((10, 10, 7, 10), 0.1052631579),
        ((10, 10, 6, 10), 0.0433436533),
        ((20, 20, 17, 20), 0.1153846154),
        ((19, 20, 14, 20), 0.0457380457),
        ((50, 50, 45, 50), 0.0281422472),
        ((0, 0, 2, 3), 1.0),
    ],
)
def test_fisher_gives_the_known_values(table: tuple[int, int, int, int], p: float) -> None:
    """Fisher's twins and tea, and R's Exact for typical cases."""
    assert fisher_p(*table) == pytest.approx(p, abs=6e-11)


def test_impossible_counts_are_refused() -> None:
    """Counts that can't be, arms of different lengths: errors, not p-values."""
    for function in (regression_p, fisher_p):
        for wrong in (11, 2.5, float("nan"), float("inf")):
            with pytest.raises(InputError):
                function(wrong, 10, 3, 10)  # type: ignore[arg-type]  # some are wrong on purpose
    with pytest.raises(InputError, match="shapes"):
        regression_p_many([1, 2], [3, 3], [1], [3])
    for part in (0.5, float("nan"), float("inf")):
        with pytest.raises(InputError, match="whole"):
            regression_p_many([part, 2], [3, 3], [1, 1], [3, 3])


def test_small_kinds_of_numbers_do_not_overflow() -> None:
    """200 and 200 runs, as NumPy's bytes have them, are 400 and not 144."""
    few: Any = np.uint8(200)
    assert fisher_p(few, few, few - 10, few) == fisher_p(200, 200, 190, 200)
    assert regression_p(few, few, few - 10, few) == regression_p(200, 200, 190, 200)
