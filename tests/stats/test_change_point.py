"""A series of nights: where its rate changed, and whether it did."""

from __future__ import annotations

from itertools import product
from math import comb, log

import numpy as np
import pytest

from evalkit.errors import InputError
from evalkit.stats.change_point import change_p_many, change_point, change_points
from evalkit.stats.two_sample import fisher_p


def rng() -> np.random.Generator:
    """The same draws every time."""
    return np.random.default_rng(4)


def test_a_drop_is_found_where_it_was() -> None:
    """Ten nights at 19 of 20, then six at 14: the eleventh is named."""
    found = change_point([19] * 10 + [14] * 6, [20] * 16, rng())
    assert found is not None
    assert (found.at, found.before, found.after) == (10, 0.95, 0.7)
    assert found.p == 1 / 1000


def test_a_steady_series_shows_no_change() -> None:
    """Nights that differ as chance has it; and a series in which nothing ever fails."""
    source, seldom = rng(), 0
    for _ in range(200):
        found = change_point(source.binomial(20, 0.9, 12), [20] * 12, source, draws=99)
        assert found is not None
        seldom += found.p <= 0.05
    assert seldom <= 20  # ten expected at most
    perfect = change_point([20] * 12, [20] * 12, rng())
    assert perfect is not None
    assert perfect.p == 1.0


def test_two_nights_are_fishers_test() -> None:
    """With two entries there is one place, and the p-value nears the two-sided exact one."""
    found = change_point([10, 4], [10, 10], rng(), draws=20_000)
    assert found is not None
    assert found.p == pytest.approx(2 * fisher_p(10, 10, 4, 10), abs=2e-3)


def test_the_p_value_is_that_of_all_series() -> None:
    """Three nights of three runs: over all outcomes with the same total, those with a gain at least as large."""
    seen = (3, 3, 1)
    gains = {}
    for series in product(range(4), repeat=3):
        if sum(series) == 7:
            ways = np.prod([comb(3, x) for x in series])
            gains[series] = (best_gain(series), ways)
    total = sum(ways for _, ways in gains.values())
    exact = sum(ways for gain, ways in gains.values() if gain >= gains[seen][0] - 1e-9) / total
    found = change_point(seen, [3] * 3, rng(), draws=20_000)
    assert found is not None
    assert found.p == pytest.approx(exact, abs=0.01)


def best_gain(series: tuple[int, ...]) -> float:
    """The largest gain of log-likelihood over the places, by its definition."""

    def fit(x: int, n: int) -> float:
        return sum(count * log(count / n) for count in (x, n - x) if count)

    x, n = sum(series), 3 * len(series)
    parts = [fit(sum(series[:at]), 3 * at) + fit(sum(series[at:]), n - 3 * at) for at in range(1, len(series))]
    return max(parts) - fit(x, n)


def test_nights_without_runs_are_passed_over() -> None:
    """They hold no change; a series with a single night has none."""
    found = change_point([0, 20, 0, 20, 5, 0], [0, 20, 0, 20, 20, 0], rng())
    assert found is not None
    assert found.at == 4
    assert change_point([5, 0], [5, 0], rng()) is None
    assert change_point([], [], rng()) is None


def test_counts_that_cannot_be_are_refused() -> None:
    """More passes than runs, lists of different length."""
    for passed, runs in (([6, 5], [5, 5]), ([5], [5, 5]), ([0.5, 1], [5, 5]), ([5, 5], [5, float("nan")])):
        with pytest.raises(InputError):
            change_point(passed, runs, rng())


def test_several_changes_are_found_in_order() -> None:
    """Down at the eighth, up again at the sixteenth; rates are those between the changes."""
    found = change_points([20] * 8 + [8] * 8 + [20] * 8, [20] * 24, rng())
    assert [(one.at, one.before, one.after) for one in found] == [(8, 1.0, 0.4), (16, 0.4, 1.0)]
    assert change_points([19, 20, 20, 19, 20, 20], [20] * 6, rng()) == []


def test_a_change_is_one_up_to_the_error_that_is_asked_for() -> None:
    """Right at its p-value it is told, below it is not."""
    series = [19, 18, 20, 19, 20, 15, 17, 16, 18, 15], [20] * 10
    seen = change_point(*series, rng())
    assert seen is not None
    assert 0.001 < seen.p < 0.05
    assert change_points(*series, rng(), alpha=seen.p)[0].p == seen.p
    assert change_points(*series, rng(), alpha=seen.p - 1e-4) == []


def test_many_series_are_bounded_exactly() -> None:
    """Never below the p-value of all series, and equal to it where there is one place."""
    seen = [(3, 3, 1), (1, 3, 3), (3, 2, 2)]
    found = change_p_many(seen, [[3] * 3] * 3)
    for one, p in zip(seen, found, strict=True):
        total = exact = 0.0
        for series in product(range(4), repeat=3):
            if sum(series) == 7:
                ways = float(np.prod([comb(3, x) for x in series]))
                total += ways
                exact += ways * (best_gain(series) >= best_gain(one) - 1e-9)
        assert exact / total <= p + 1e-12
    two = change_p_many([[10, 4]], [[10, 10]])[0]
    assert two == pytest.approx(2 * fisher_p(10, 10, 4, 10))
    assert change_p_many([[10, 0, 4]], [[10, 0, 10]])[0] == two  # a night without runs is no further place


def test_a_broken_case_among_thousands_is_seen() -> None:
    """Its p-value survives a correction over all of them; steady series seldom have small ones."""
    source = rng()
    runs = np.full((2000, 20), 20)
    passed = source.binomial(20, 0.98, runs.shape)
    passed[7, 10:] = 13
    p = change_p_many(passed, runs)
    assert p[7] * len(p) < 1e-6
    assert np.delete(p, 7).min() * len(p) > 0.05
    assert (np.delete(p, 7) <= 0.05).mean() <= 0.05


def test_series_that_can_show_nothing_have_p_one() -> None:
    """All passed, none did, or one night only; other shapes and impossible counts are refused."""
    found = change_p_many([[5, 5], [0, 0], [3, 0], [0, 3]], [[5, 5], [5, 5], [5, 0], [0, 5]])
    assert found.tolist() == [1.0] * 4
    assert change_p_many(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0,)
    for passed, runs in (([[6]], [[5]]), ([[1, 2]], [[3]]), ([1], [2])):
        with pytest.raises(InputError):
            change_p_many(passed, runs)


def test_entries_without_runs_are_no_place_of_a_change() -> None:
    """Whatever stands around them: nothing changes where nothing was measured, and nothing is divided by it."""
    for passed, runs in (([0, 0, 0], [0, 10, 240]), ([0, 5, 5, 0], [0, 5, 5, 0]), ([0, 0, 9, 9], [0, 9, 9, 9])):
        found = change_point(passed, runs, np.random.default_rng(1))
        assert found is not None
        assert sum(runs[: found.at]) > 0 < sum(runs[found.at :])
