"""Before running: published plans and powers, and promises checked by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.acceptance import acceptance_plan
from evalkit.stats.binomial import binomial_cdf
from evalkit.stats.power import detectable_drop, n_for_drop, regression_power


def accepted(n: int, c: int, rate: float) -> float:
    """P(at most c failures in n runs)."""
    return float(binomial_cdf(n, np.array([1 - rate]))[0][c + 1])


def test_power_gives_r_exact() -> None:
    """0.95 against 0.70 with 10 runs an arm: R's Exact, whose Z-pooled region is the same there."""
    assert regression_power(0.95, 10, 0.7, 10) == pytest.approx(0.420456094, abs=1e-8)


@pytest.mark.parametrize(
    ("p", "drop", "equal", "cached"),
    [
        (1, 0.5, 8, 3),
        (1, 0.3, 14, 5),
        (1, 0.1, 42, 29),
        (0.99, 0.1, 60, 40),
        (0.95, 0.25, 28, 14),
        (0.9, 0.2, 49, 31),
        (0.9, 0.5, 12, 6),
    ],
)
def test_runs_needed_for_a_drop(p: float, drop: float, equal: int, cached: int) -> None:
    """Runs an arm at power 0.8, and candidate runs against a baseline of 100."""
    assert n_for_drop(p, drop) == equal
    assert n_for_drop(p, drop, n1=100) == cached


@given(
    st.sampled_from([1.0, 0.99, 0.9, 0.7]),
    st.sampled_from([0.3, 0.5, 0.7]),
    st.sampled_from([0.01, 0.05, 0.2, 0.4]),
    st.sampled_from([0.3, 0.5, 0.8, 0.95]),
    st.sampled_from([None, 15, 60]),
)
@settings(max_examples=12, deadline=None)
def test_runs_needed_are_the_fewest(p: float, drop: float, alpha: float, power: float, n1: int | None) -> None:
    """Counting from one run on finds the same number: the first of three that all hold the power."""
    holds = [regression_power(p, n if n1 is None else n1, p - drop, n, alpha) >= power for n in range(1, 43)]
    first = next((n for n in range(1, 41) if all(holds[n - 1 : n + 2])), None)
    assert n_for_drop(p, drop, alpha, power, n1, n_max=40) == first


def test_a_drop_too_small_to_show_needs_no_search() -> None:
    """A drop of one point is out of reach of 200 runs, and of any number against a baseline of 100."""
    assert n_for_drop(0.9, 0.01) is None
    assert n_for_drop(0.9, 0.01, n1=100, n_max=10**9) is None
    assert n_for_drop(0.9, 0.5, n1=0) is None


@pytest.mark.parametrize(
    ("runs", "drops"),
    [(5, (0.67, 0.75, 0.79)), (10, (0.38, 0.46, 0.50)), (20, (0.20, 0.31, 0.34)), (50, (0.08, 0.16, 0.20))],
)
def test_detectable_drops(runs: int, drops: tuple[float, float, float]) -> None:
    """The smallest drops from 1, 0.95 and 0.9 that are shown with probability 0.8."""
    for base, drop in zip((1.0, 0.95, 0.9), drops, strict=True):
        found = detectable_drop(base, runs, runs)
        assert found == pytest.approx(drop, abs=6e-3)
        assert found is not None
        assert regression_power(base, runs, base - found, runs) >= 0.8
        assert regression_power(base, runs, base - found + 0.01, runs) < 0.8


def test_too_few_runs_detect_nothing() -> None:
    """Two runs an arm can't show any drop at 0.05: there is no number to give."""
    assert detectable_drop(0.9, 2, 2) is None


@pytest.mark.parametrize(
    ("p_good", "p_bad", "plan"),
    [
        (0.999, 0.9, (29, 0)),
        (0.99, 0.9, (61, 2)),
        (0.99, 0.8, (22, 1)),
        (0.99, 0.95, (181, 4)),
        (0.95, 0.8, (50, 5)),
        (0.95, 0.7, (24, 3)),
        (0.9, 0.7, (41, 7)),
    ],
)
def test_acceptance_plans(p_good: float, p_bad: float, plan: tuple[int, int]) -> None:
    """The smallest plans with both errors at 0.05."""
    assert acceptance_plan(p_good, p_bad) == plan


@given(st.floats(0.3, 0.99), st.floats(0.2, 0.8), st.sampled_from([0.01, 0.05, 0.2]), st.sampled_from([0.01, 0.1, 0.3]))
@settings(max_examples=40, deadline=None)
def test_acceptance_plans_keep_both_errors(good: float, ratio: float, alpha: float, beta: float) -> None:
    """Good is refused with at most alpha, bad accepted with at most beta, and one run fewer keeps neither plan."""
    bad = good * ratio
    n, c = acceptance_plan(good, bad, alpha, beta)
    assert accepted(n, c, good) >= 1 - alpha - 1e-12
    assert accepted(n, c, bad) <= beta + 1e-12
    ok, wrong = binomial_cdf(n - 1, np.array([1 - good, 1 - bad]))[:, 1:n]  # with 0 to n - 2 failures
    assert not np.any((ok >= 1 - alpha + 1e-12) & (wrong <= beta - 1e-12))


def test_questions_without_sense_are_refused() -> None:
    """Drops above the rate, rates in percent and equal rates are errors."""
    with pytest.raises(InputError, match="drop"):
        n_for_drop(0.5, 0.6)
    with pytest.raises(InputError, match="p_bad"):
        acceptance_plan(0.9, 0.9)
    with pytest.raises(InputError, match="pass rate"):
        regression_power(95, 10, 70, 10)
    with pytest.raises(InputError, match="power"):
        detectable_drop(0.9, 10, 10, power=80)


def test_more_runs_against_a_large_baseline_show_more() -> None:
    """Of a baseline of 1,000: 39 and more runs, too, are judged by the sharper order of the tables."""
    power = [regression_power(0.95, 1000, 0.8, n) for n in (38, 39, 60)]
    assert power == sorted(power)
    assert regression_power(0.95, 1000, 0.85, 60) > 0.8


@pytest.mark.parametrize(("p_good", "p_bad"), [(0.9, 0.899), (0.9999, 0.9998)])
def test_rates_that_are_too_close_are_refused_at_once(p_good: float, p_bad: float) -> None:
    """Instead of counting for minutes."""
    with pytest.raises(InputError, match="too many to plan"):
        acceptance_plan(p_good, p_bad)


@pytest.mark.parametrize(("p", "power", "n1"), [(0.95, 0.95, 1), (0.5, 0.5, 1), (1.0, 0.8, 2), (0.9, 0.9, 3)])
def test_a_baseline_of_a_few_runs_is_enough_for_some_drops(p: float, power: float, n1: int) -> None:
    """Formulas for many runs say that none are enough: counted from one run on, as every smaller number is."""
    enough = [regression_power(p, n1, 0.0, n) >= power for n in range(1, 33)]
    fewest = next((at + 1 for at in range(30) if all(enough[at : at + 3])), None)
    assert fewest is not None
    assert n_for_drop(p, p, 0.05, power, n1, n_max=30) == fewest


def test_very_many_runs_are_not_enumerated() -> None:
    """More than 1,000 of one arm are as good as 1,000; of both the normal formula is near enough, and near the rest."""
    assert n_for_drop(0.9, 0.2, n1=10**9) == n_for_drop(0.9, 0.2, n1=1000)
    assert detectable_drop(0.9, 10**9, 20) == detectable_drop(0.9, 1000, 20)
    drops = [detectable_drop(0.9, runs, runs) for runs in (999, 1001, 10**6)]
    assert drops == pytest.approx([0.036, 0.036, 0.00106], rel=0.02)
