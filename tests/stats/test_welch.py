"""Two arms that vary differently, within fixed cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp, ttest_ind

from evalkit.errors import InputError
from evalkit.stats.paired import paired_change
from evalkit.stats.welch import stratified_welch

AUSTRALIAN = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
OTHER = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 25.7]


@pytest.mark.parametrize(("n_a", "n_b"), [(15, 15), (15, 6), (2, 9)])
def test_one_case_is_welchs_test(n_a: int, n_b: int) -> None:
    """As SciPy has it, interval included."""
    a, b = np.array(AUSTRALIAN[:n_a]), np.array(OTHER[:n_b])
    theirs = ttest_ind(b, a, equal_var=False)
    between = theirs.confidence_interval(0.9)
    assert stratified_welch([(a, b)], 0.9) == pytest.approx((theirs.pvalue, between.low, between.high))


def test_cases_add_up() -> None:
    """The same case ten times: a tenth of the variance, ten times the degrees of freedom."""
    a, b = np.array(AUSTRALIAN), np.array(OTHER)
    p, low, high = stratified_welch([(a, b)])
    p_ten, low_ten, high_ten = stratified_welch([(a, b)] * 10)
    assert p_ten < p
    assert (low_ten + high_ten) / 2 == pytest.approx((low + high) / 2)
    assert (high_ten - low_ten) * 10**0.5 == pytest.approx(high - low, rel=0.05)


def test_an_arm_that_does_not_vary_is_a_number() -> None:
    """Welch's test against it is Student's of the other arm; where nothing varies the difference is known."""
    a, b = np.full(4, 20.0), np.array(OTHER)
    assert stratified_welch([(a, b)])[0] == pytest.approx(ttest_1samp(b, 20.0).pvalue)
    assert stratified_welch([(a, a + 1)]) == (0.0, 1.0, 1.0)
    assert stratified_welch([(a, a)]) == (1.0, 0.0, 0.0)


def test_an_arm_of_single_runs_has_no_variance() -> None:
    """So it is refused, as no cases are, and a level that is none."""
    one, two = np.ones(1), np.ones(2)
    for cases in ([], [(one, two)], [(two, one), (two, one)]):
        with pytest.raises(InputError):
            stratified_welch(cases)
    with pytest.raises(InputError, match="level"):
        stratified_welch([(two, two)], 0.0)


def test_a_single_run_is_given_the_variance_of_its_arm() -> None:
    """The mean of the arm's other cases: as if it varied so, and no more is known of it."""
    a, b = np.array([1.0, 2.0]), np.array([3.0, 7.0])
    _, low, high = stratified_welch([(a, b), (a, np.array([5.0]))])
    variances, freedoms = [0.25, 0.25, 8 / 2 + 8 / 1], [1, 1, 1]  # of the means; that of the single run is b's
    freedom = sum(variances) ** 2 / sum(one**2 / n for one, n in zip(variances, freedoms, strict=True))
    assert (low + high) / 2 == pytest.approx(3.5)
    assert (high - low) / 2 == pytest.approx(t.ppf(0.975, freedom) * sum(variances) ** 0.5 / 2)


SOME_FEW = [(20, 7)] * 4
A_SINGLE_RUN = [*SOME_FEW, (20, 1)]
HALF_SINGLE = [(5, 1), (5, 2)] * 2
ALL_SINGLE = [(20, 1)] * 8


@pytest.mark.parametrize(
    ("runs", "wide"),
    [(SOME_FEW, 0.2), (SOME_FEW, 0.8), (A_SINGLE_RUN, 0.8), (HALF_SINGLE, 0.8), (ALL_SINGLE, 0.8), ([(20, 1)], 0.8)],
)
def test_an_arm_of_few_runs_that_vary_more_is_not_called_changed(runs: list[tuple[int, int]], wide: float) -> None:
    """Nothing changed; dealing alone calls a fifth to three fifths of 60 changed where the few runs vary more."""
    source, wrong, missed = np.random.default_rng(8), 0, 0
    for _ in range(60):
        a = [np.exp(source.normal(0, 0.2, n)) for n, _ in runs]
        b = [np.exp(source.normal(0, wide, n)) for _, n in runs]
        found = paired_change(a, b, source)
        wrong += found.p <= 0.05
        missed += not found.low <= 0 <= found.high
    assert wrong <= 8
    assert missed <= 8


def test_one_single_run_takes_no_change_away() -> None:
    """Half as much again is still found in nearly all of 30 comparisons, with one case that lost all runs but one."""
    source = np.random.default_rng(8)
    shown = 0
    for _ in range(30):
        a = [np.exp(source.normal(0, 0.4, n)) for n, _ in A_SINGLE_RUN]
        b = [np.exp(source.normal(0.4, 0.4, n)) for _, n in A_SINGLE_RUN]
        shown += paired_change(a, b, source).p <= 0.05
    assert shown >= 25


def test_single_runs_against_many_are_judged_by_how_cases_differ() -> None:
    """By Student's test over the cases' differences, interval and all, where that is less sure than dealing."""
    source = np.random.default_rng(2)
    a, b = source.normal(0, 0.1, (5, 30)), source.normal(0.5, 0.4, 5)
    found = paired_change(list(np.exp(a)), [[value] for value in np.exp(b)], source)
    theirs = ttest_1samp(b - a.mean(axis=1), 0.0)
    between = theirs.confidence_interval()
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(np.expm1([between.low, between.high])))
    assert found.least_p < 0.001


def test_a_single_run_against_many_can_show_nothing() -> None:
    """How it varies is not seen, not even between cases: that is said, however far it is from the others."""
    found = paired_change([np.linspace(1, 2, 40)], [[1e6]], np.random.default_rng(1))
    assert (found.p, found.least_p, found.low, found.high) == (1.0, 1.0, -1.0, np.inf)


def test_cases_in_another_order_and_arms_the_other_way_round_are_the_same_test() -> None:
    """To the last digit: a p-value that another order of files moves over a limit would be another verdict."""
    source = np.random.default_rng(4)
    cases = [(source.normal(0, 1, 3 + at % 4), source.normal(0, 1, 2 + at % 5)) for at in range(12)]
    p, low, high = stratified_welch(cases)
    for _ in range(20):
        source.shuffle(cases)
        assert stratified_welch(cases) == (p, low, high)
        assert stratified_welch([(b, a) for a, b in cases]) == (p, -high, -low)
