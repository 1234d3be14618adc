"""The sign-flip test: Fisher's own data, and all flips counted out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from evalkit.errors import InputError
from evalkit.stats.sign_flip import Alternative, sign_flip_p, sign_flip_p_whole

MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def flipped_sums(differences: list[int]) -> np.ndarray:
    """The sums under all choices of signs."""
    return np.array([np.dot(signs, np.abs(differences)) for signs in product((-1, 1), repeat=len(differences))])


def test_darwins_maize() -> None:
    """Fisher 1935: 1726 of the 32768 choices of signs are as extreme as the data, 863 on their side."""
    assert sign_flip_p_whole(MAIZE, "two-sided") == pytest.approx(1726 / 32768, abs=1e-12)
    assert sign_flip_p_whole([-d for d in MAIZE]) == pytest.approx(863 / 32768, abs=1e-12)
    assert sign_flip_p(MAIZE, np.random.default_rng(7)) == pytest.approx(1726 / 32768, abs=0.01)


def test_on_ranks_it_is_wilcoxons_test() -> None:
    """Hollander and Wolfe's depression scores, as in R's wilcox.test: V = 40, p = 0.01953125."""
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    change = np.array(after) - np.array(before)
    ranks = np.sign(change) * (np.abs(change).argsort().argsort() + 1)
    assert -ranks[ranks < 0].sum() == 40
    assert sign_flip_p_whole(ranks) == pytest.approx(0.01953125, abs=1e-12)


def test_on_single_runs_it_is_mcnemars_test() -> None:
    """Agresti's approval ratings, [[794, 150], [86, 570]]: the exact p; McNemar's chi-squared gives 4.115e-05."""
    found = sign_flip_p_whole([1] * 86 + [-1] * 150 + [0] * (794 + 570), "two-sided")
    assert found == pytest.approx(3.716e-05, abs=5e-9)
    assert found == pytest.approx(4.115e-05, rel=0.1)


@given(st.lists(st.integers(-9, 9), max_size=9))
@settings(max_examples=60, deadline=None)
def test_whole_numbers_are_counted_exactly(differences: list[int]) -> None:
    """The transform gives the share of all flips that is as extreme."""
    sums, seen = flipped_sums(differences), sum(differences)
    assert sign_flip_p_whole(differences) == pytest.approx((sums <= seen).mean(), abs=1e-12)
    assert sign_flip_p_whole(differences, "two-sided") == pytest.approx((np.abs(sums) >= abs(seen)).mean(), abs=1e-12)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=8), st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_random_flips_come_close(differences: list[int], seed: int) -> None:
    """9,999 random flips are within five standard errors of all flips, for both questions."""
    values = [difference / 7 for difference in differences]
    sums, seen = flipped_sums(differences), sum(differences)
    shares: dict[Alternative, float] = {
        "less": float((sums <= seen).mean()),
        "two-sided": float((np.abs(sums) >= abs(seen)).mean()),
    }
    for alternative, share in shares.items():
        found = sign_flip_p(values, np.random.default_rng(seed), alternative)
        assert found == pytest.approx(share, abs=5 * (share * (1 - share) / 9999) ** 0.5 + 2e-4)


def test_large_suites_need_no_enumeration() -> None:
    """A thousand cases, each one pass worse: the floor; as many better as worse: a half."""
    assert sign_flip_p_whole([-1] * 1000) == 1e-12
    assert 0.5 < sign_flip_p_whole([-3, 3] * 500) < 0.53
    assert sign_flip_p_whole([1] * 1000) == pytest.approx(1.0)


def test_random_flips_never_give_zero() -> None:
    """Where no flip is as extreme as the data, the data themselves are counted."""
    assert sign_flip_p([1.0] * 60, np.random.default_rng(3)) == 1 / 10_000
    assert sign_flip_p([-1.0] * 60, np.random.default_rng(3), "less", flips=99) == 1 / 100


def test_nothing_to_flip_shows_nothing() -> None:
    """Without differences p is 1."""
    assert sign_flip_p_whole([]) == pytest.approx(1.0)
    assert sign_flip_p_whole([0, 0]) == pytest.approx(1.0)
    assert sign_flip_p([0.0, 0.0], np.random.default_rng(1)) == 1.0


def test_other_numbers_are_refused() -> None:
    """Fractions are not counts; NaN is no difference."""
    for values in ([0.5], [float("nan")]):
        with pytest.raises(InputError, match="whole"):
            sign_flip_p_whole(values)
    with pytest.raises(InputError, match="too large"):
        sign_flip_p_whole([10**12, 3])
    with pytest.raises(InputError, match="finite"):
        sign_flip_p([float("inf")], np.random.default_rng(1))


@given(st.lists(st.floats(-9, 9, allow_subnormal=False), min_size=2, max_size=9))
@settings(max_examples=40, deadline=None)
def test_few_measured_values_are_counted_exactly(differences: list[float]) -> None:
    """All choices of signs, as SciPy's permutation test has them: the same whatever the draw."""
    found = sign_flip_p(differences, np.random.default_rng(1))
    expected = permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    ).pvalue
    assert found == pytest.approx(float(expected), abs=1e-12)


def test_four_cases_that_all_point_one_way() -> None:
    """2 of 16: it was 0.1284."""
    assert sign_flip_p([0.1, 0.2, 0.3, 0.4], np.random.default_rng(20_251)) == 0.125
