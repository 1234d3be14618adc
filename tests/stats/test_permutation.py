"""Two arms within cases, by dealing each case's runs anew."""

from __future__ import annotations

from itertools import combinations
from math import inf, isfinite
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import fisher_exact, norm

from evalkit.errors import InputError
from evalkit.stats.permutation import stratified_permutation

Runs: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

ARM = st.lists(st.integers(-8, 8), min_size=1, max_size=4).map(lambda values: np.array(values, dtype=np.float64))
CASES = st.lists(st.tuples(ARM, ARM), min_size=1, max_size=3)


def rng() -> np.random.Generator:
    """The same deals every time."""
    return np.random.default_rng(3)


def drawn(seed: int, cases: int, n_a: int, n_b: int) -> list[Runs]:
    """Cases whose runs vary alike in both arms."""
    source = np.random.default_rng(seed)
    return [(source.normal(0, 1, n_a), source.normal(0.3, 1, n_b)) for _ in range(cases)]


def test_darwins_plants() -> None:
    """Fisher 1935, chapter 3: of 32,768 ways to sign the 15 differences of Darwin's maize 1,726 add up to as much."""
    differences = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    cases = [(np.zeros(1), np.full(1, value / 8)) for value in differences]
    found = stratified_permutation(cases, rng(), deals=40_000)
    assert found.p == 1726 / 32768
    assert found.least_p == 2 / 32768


def counted_by_hand(cases: list[Runs]) -> float:
    """The p-value by walking through all deals, one case inside of the other."""
    means = [0.0]
    for a, b in cases:
        runs = np.concatenate([a, b])
        one = []
        for chosen in combinations(range(len(runs)), len(b)):
            rest = [at for at in range(len(runs)) if at not in chosen]
            one.append(runs[list(chosen)].mean() - runs[rest].mean())
        means = [mean + more for mean in means for more in one]
    seen = sum(b.mean() - a.mean() for a, b in cases)
    return [abs(mean) >= abs(seen) - 1e-9 for mean in means].count(True) / len(means)


@settings(max_examples=60, deadline=None)
@given(CASES)
def test_all_deals_are_counted(cases: list[Runs]) -> None:
    """As walking through them does, ties included."""
    found = stratified_permutation(cases, rng(), deals=400_000)
    assert found.p == pytest.approx(counted_by_hand(cases))
    assert found.least_p <= found.p


@settings(max_examples=60, deadline=None)
@given(CASES)
def test_the_interval_is_what_the_test_does_not_refuse(cases: list[Runs]) -> None:
    """Just inside of each end the test of that shift is above 5 %, just outside it is not; open ends aren't refused."""
    found = stratified_permutation(cases, rng(), deals=400_000)
    for end, towards in ((found.low, -1), (found.high, 1)):
        tries = [(found.difference + 1e6 * towards, True)]
        if isfinite(end):
            tries = [(end - 1e-4 * towards, True), (end + 1e-4 * towards, False)]
        for shift, stays in tries:
            moved = [(a, b - shift) for a, b in cases]
            assert (counted_by_hand(moved) > 0.05) == stays


def test_too_many_runs_to_deal_are_as_if_they_were() -> None:
    """3,000 skewed runs in cases of 20 against 10: p and interval as from 4,000 deals by NumPy alone."""
    source = rng()
    cases = [(source.lognormal(0, 1, 20), source.lognormal(0.1, 1, 10)) for _ in range(100)]
    found = stratified_permutation(cases, rng())
    runs = np.array([np.concatenate(one) for one in cases])
    spread = np.std([_mean_of(source.permuted(runs, axis=1)) for _ in range(4000)])
    assert found.difference == pytest.approx(_mean_of(runs))
    assert found.p == pytest.approx(2 * norm.sf(abs(found.difference) / spread), rel=0.1)
    assert found.high - found.low == pytest.approx(2 * 1.96 * spread, rel=0.05)


@pytest.mark.parametrize("others", [0, 1, 3])
def test_few_runs_that_took_longer_are_not_many_runs(others: int) -> None:
    """Of 2,400 runs all but four or more are alike: p is Fisher's exact one, not 0.046 instead of 0.125."""
    a, b = np.ones(1200), np.ones(1200)
    a[:others], b[: 4 + 3 * others] = 2.0, 2.0
    exact = fisher_exact([[others, 4 + 3 * others], [1200 - others, 1196 - 3 * others]]).pvalue
    found = stratified_permutation([(a, b)], rng())
    assert found.p == pytest.approx(exact, abs=4 * (exact / 8_000) ** 0.5)


def test_few_cases_of_single_runs_are_not_many_runs() -> None:
    """Five cases of one run against one, all of them higher, beside a large one that did not change: about 2 of 32."""
    source = rng()
    large = source.normal(0, 0.01, 1200), source.normal(0, 0.01, 1200)
    found = stratified_permutation([(np.zeros(1), np.ones(1))] * 5 + [large], rng())
    assert found.p > 0.025


def test_large_numbers_tie_as_small_ones_do() -> None:
    """What rounding leaves of a million tells no two equal differences apart."""
    a, b = np.array([0.0, 1, 1, 0]), np.array([1.0, 2, 0, 2, 1])
    assert (
        stratified_permutation([(a + 1e6 + 0.1, b + 1e6 + 0.1)], rng()).p == stratified_permutation([(a, b)], rng()).p
    )


def _mean_of(runs: NDArray[np.float64]) -> float:
    return float((runs[:, 20:].mean(axis=1) - runs[:, :20].mean(axis=1)).mean())


@pytest.mark.parametrize(("cases", "n_a", "n_b"), [(1, 10, 10), (4, 5, 5), (3, 4, 9), (30, 2, 2)])
def test_what_does_not_matter_is_rarely_shown(cases: int, n_a: int, n_b: int) -> None:
    """400 unchanged suites: p is at most 0.05 in one of twenty, at most 0.2 in one of five."""
    source = np.random.default_rng(cases)
    found = [
        stratified_permutation(
            [(source.exponential(1, n_a), source.exponential(1, n_b)) for _ in range(cases)], source, deals=499
        ).p
        for _ in range(400)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.08
    assert np.mean(np.array(found) <= 0.2) <= 0.25
    assert np.mean(np.array(found) <= 0.5) >= 0.4


def test_swapped_arms_are_mirrored() -> None:
    """Random deals included."""
    cases = drawn(7, 3, 12, 10)
    there, back = (stratified_permutation(several, rng()) for several in (cases, [(b, a) for a, b in cases]))
    assert (there.p, there.low, there.high) == (back.p, -back.high, -back.low)


def test_equal_runs_show_nothing() -> None:
    """Nothing varies: no deal differs, and the smallest shift is refused."""
    found = stratified_permutation([(np.ones(6), np.ones(6))], rng())
    assert (found.p, found.low, found.high) == (1.0, 0.0, 0.0)
    many = stratified_permutation([(np.ones(2000), np.ones(2000))], rng())
    assert (many.p, many.low, many.high) == (1.0, 0.0, 0.0)


def test_so_few_runs_leave_everything_open() -> None:
    """Three against three have 20 deals, of which two are as extreme as can be."""
    found = stratified_permutation([(np.zeros(3), np.full(3, 9.0))], rng())
    assert (found.p, found.least_p, found.low, found.high) == (0.1, 0.1, -inf, inf)


def test_what_can_not_be_is_refused() -> None:
    """No cases, an empty arm, a value that is none, no level."""
    one = np.ones(2)
    for cases in ([], [(one, np.zeros(0))], [(one, np.array([np.nan]))], [(one, np.array([inf]))]):
        with pytest.raises(InputError):
            stratified_permutation(cases, rng())
    with pytest.raises(InputError, match="level"):
        stratified_permutation([(one, one)], rng(), 1.0)
    with pytest.raises(InputError):
        stratified_permutation([(one, one)], rng(), deals=0)
