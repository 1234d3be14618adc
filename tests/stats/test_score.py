"""The parts that the exact tests are made of, put together as other well-known tests: their published values."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.special import ndtri

from evalkit.stats.lloyd import cuts_of, estimated_p
from evalkit.stats.orders import levels, monotone
from evalkit.stats.score import score, widest_by_score
from evalkit.stats.two_sample import fisher_p, regression_p_many
from evalkit.stats.unconditional import largest_probability
from tests.stats.tables import FINE, mass

Table = tuple[int, int, int, int]


def boschloo(table: Table) -> float:
    """Boschloo's one-sided p-value: all tables in the order of Fisher's p."""
    x1, n1, x2, n2 = table
    order = np.array([[fisher_p(a, n1, b, n2) for b in range(n2 + 1)] for a in range(n1 + 1)])
    return largest_probability(cuts_of(order, order[x1, x2]), n1, n2)


def z_pooled(table: Table) -> float:
    """The exact unconditional one-sided p-value in the order of the pooled z statistic."""
    x1, n1, x2, n2 = table
    a, b = np.indices((n1 + 1, n2 + 1))
    order = np.exp(-score(a, n1, b, n2, 0.0))
    return largest_probability(cuts_of(order, float(order[x1, x2])), n1, n2)


def score_interval(table: Table, factor: float) -> tuple[float, float]:
    """The asymptotic score interval of rate 2 less rate 1, by halving; `factor` widens the variance."""
    x1, n1, x2, n2 = table
    z = float(ndtri(0.975)) * sqrt(factor)

    def margin_with(wanted: float) -> float:
        low, high = -1 + 1e-9, 1 - 1e-9
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if score(x1, n1, x2, n2, middle).item() < wanted else (low, middle)
        return (low + high) / 2

    return margin_with(-z), margin_with(z)


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((7, 9, 2, 10), 0.009886142),
        ((16, 41, 5, 25), 0.05827348),
        ((24, 61, 10, 35), 0.1512882),
        ((12, 15, 7, 15), 0.03410916),
        ((10, 10, 7, 10), 0.0578880310),
        ((10, 10, 6, 10), 0.0210952759),
        ((20, 20, 17, 20), 0.0769305469),
        ((19, 20, 14, 20), 0.0232165608),
        ((50, 50, 45, 50), 0.0176049698),
    ],
)
def test_boschloos_test(table: Table, p: float) -> None:
    """R's Exact, and SciPy's tests: Fisher's p as the order, and the largest probability of its region."""
    assert boschloo(table) == pytest.approx(p, abs=1.1e-6)


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((10, 10, 7, 10), 0.0437939534),
        ((10, 10, 6, 10), 0.0210952759),
        ((20, 20, 17, 20), 0.0430600699),
        ((19, 20, 14, 20), 0.0243791102),
        ((50, 50, 45, 50), 0.0118328333),
    ],
)
def test_the_pooled_z_test(table: Table, p: float) -> None:
    """R's Exact, Z-pooled, one-sided."""
    assert z_pooled(table) == pytest.approx(p, abs=1.1e-6)


@pytest.mark.parametrize(
    ("table", "p"),
    [((43, 53, 40, 79), 0.000362832367), ((2, 10, 7, 9), 0.019210815430), ((5, 25, 15, 35), 0.066363501421)],
)
def test_barnards_test(table: Table, p: float) -> None:
    """R's Barnard, two-sided: all tables whose pooled z is as far from 0, at the worst common rate."""
    x1, n1, x2, n2 = table
    a, b = np.indices((n1 + 1, n2 + 1))
    z = np.abs(score(a, n1, b, n2, 0.0))
    assert mass(z >= z[x1, x2] - 1e-10, FINE, FINE).max() == pytest.approx(p, abs=2e-6)


def test_miettinen_nurminen_and_mee() -> None:
    """56 of 70 against 48 of 80: the published score intervals, with and without the variance's N / (N - 1)."""
    table = (48, 80, 56, 70)
    assert score_interval(table, 150 / 149) == pytest.approx((0.0528, 0.3382), abs=5.1e-5)
    assert score_interval(table, 1.0) == pytest.approx((0.0533, 0.3377), abs=5.1e-5)


def test_published_powers() -> None:
    """R's Exact: Z-pooled with 10 runs an arm, Boschloo and Fisher with 20, at 0.95 against 0.70."""
    rates = np.array([0.95]), np.array([0.7])
    cuts = widest_by_score(10, 10, 0.0, 0.05)
    assert mass(np.arange(11) < cuts[:, None], *rates)[0] == pytest.approx(0.420456094, abs=1e-8)
    fisher = np.array([[fisher_p(a, 20, b, 20) for b in range(21)] for a in range(21)])
    assert mass(fisher <= 0.05, *rates)[0] == pytest.approx(0.5439479937, abs=1e-9)
    assert mass(levels(fisher) <= 0.05, *rates)[0] == pytest.approx(0.6285386291, abs=1e-9)


def test_published_two_sided_power() -> None:
    """R's Exact: two-sided Z-pooled, 15 and 30 runs, at 0.15 against 0.60."""
    a, b = np.indices((16, 31))
    order = -np.abs(score(a, 15, b, 30, 0.0))
    power = mass(levels(order) <= 0.05, np.array([0.15]), np.array([0.6]))[0]
    assert power == pytest.approx(0.8512212064, abs=1e-9)


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_levels_are_the_sizes_of_regions(margin: float) -> None:
    """For each table the largest probability of all up to it, on a coarse grid: never above the exact one."""
    a, b = np.indices((9, 13))
    order = monotone(-score(a, 8, b, 12, margin))
    found = levels(order, margin)
    exact = np.array([[largest_probability(cuts_of_value(order, v), 8, 12, margin) for v in row] for row in order])
    assert found == pytest.approx(exact, abs=2e-3)
    assert (found <= exact + 1e-12).all()


def cuts_of_value(order: np.ndarray, value: float) -> np.ndarray:
    """The tables up to a value of an order, as cuts."""
    cuts: np.ndarray = np.count_nonzero(order <= value + 1e-10, axis=1)
    return cuts


def test_an_order_is_made_monotone() -> None:
    """More passes of arm a or fewer of arm b never come later; what is in order already stays."""
    mended = monotone(np.array([[5.0, 4.0], [6.0, 7.0]]))
    assert (np.diff(mended, axis=1) >= 0).all()
    assert (np.diff(mended, axis=0) <= 0).all()
    order = np.array([[3.0, 4.0], [1.0, 2.0]])
    assert monotone(order).tolist() == order.tolist()


def test_levels_are_p_values_on_a_coarse_grid() -> None:
    """In Lloyd's order they are the regression p-values but for the grid."""
    x1, x2 = np.indices((11, 11))
    p = regression_p_many(x1, np.full(x1.shape, 10), x2, np.full(x2.shape, 10))
    assert levels(estimated_p(10, 10)) == pytest.approx(p, abs=2e-3)
