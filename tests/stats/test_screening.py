"""Screening with few runs, deciding by fresh ones: two independent parts of a baseline, and two independent tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import combine_pvalues

from evalkit.errors import InputError
from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.screening import both_steps_p, put_aside
from evalkit.stats.suite import cmh_p
from evalkit.stats.two_sample import regression_p_many


@pytest.mark.parametrize(("n", "aside", "rate"), [(20, 6, 0.9), (100, 20, 0.97)])
def test_the_parts_of_a_split_baseline_are_independent(n: int, aside: int, rate: float) -> None:
    """Counted out over all totals and draws: each part is binomial, whatever the other came to."""
    joint = np.zeros((aside + 1, n - aside + 1))
    draws = (np.arange(4000) + 0.5) / 4000
    for x, weight in enumerate(binomial_pmf(n, np.array([rate]))[0]):
        if weight < 1e-9:
            continue
        for drawn in draws:
            (passed, runs), (rest, left) = put_aside(x, n, aside, float(drawn))
            assert (passed + rest, runs + left) == (x, n)
            joint[passed, rest] += weight / len(draws)
    expected = np.outer(binomial_pmf(aside, np.array([rate]))[0], binomial_pmf(n - aside, np.array([rate]))[0])
    assert np.abs(joint - expected).max() < 1e-3


def test_more_than_there_is_can_not_be_put_aside() -> None:
    """Nor can more pass than ran."""
    for arguments in ((5, 4, 2, 0.5), (3, 4, 5, 0.5)):
        with pytest.raises(InputError):
            put_aside(*arguments)


@given(st.floats(1e-9, 1), st.floats(1e-9, 1))
def test_two_independent_steps_are_joined_by_fishers_product(screening: float, confirming: float) -> None:
    """As SciPy has it, by the chi-square of four degrees of freedom."""
    wanted = combine_pvalues([screening, confirming], method="fisher").pvalue
    assert both_steps_p(screening, confirming) == pytest.approx(wanted)


def test_a_suite_in_which_nothing_changed_is_seldom_called_worse() -> None:
    """400 simulated suites of 40 cases: the tests of the screening and of the fresh runs hold 5 % together."""
    source, worse = np.random.default_rng(7), 0
    five, thirty, put, rest = (np.full(40, runs) for runs in (5, 30, 16, 34))
    for _ in range(400):
        rates = source.beta(4, 1, 40)
        aside, few = source.binomial(put, rates), source.binomial(five, rates)
        chosen = regression_p_many(aside, put, few, five) <= 0.3
        first = cmh_p(aside, put, few, five)
        fresh = source.binomial(rest, rates), rest, source.binomial(thirty, rates), thirty
        second = cmh_p(*(column[chosen] for column in fresh)) if chosen.any() else 1.0
        worse += both_steps_p(first, second) <= 0.05
    assert 2 <= worse <= 32  # 5 % of 400 and 2.8 standard errors; the tests are discrete, so it is less


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(wrong: float) -> None:
    """On either side."""
    for both in ((wrong, 0.5), (0.5, wrong)):
        with pytest.raises(InputError):
            both_steps_p(*both)
