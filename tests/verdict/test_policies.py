"""Policies as functions of counts: words, errors counted out, and what is said of samples that are too few."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.percent import points
from evalkit.stats.binomial import binomial_pmf
from evalkit.verdict.absolute import acceptance, detectable_below, min_rate, zero_failures
from evalkit.verdict.comparative import not_worse
from evalkit.verdict.foresight import foresee_acceptance, foresee_min_rate, foresee_not_worse


def chance(words: Sequence[str], wanted: set[str], rate: float) -> float:
    """The probability of a word, over all counts of passes."""
    mass = binomial_pmf(len(words) - 1, np.array([rate]))[0]
    return float(mass[[word in wanted for word in words]].sum())


def test_no_failure_or_none_at_all() -> None:
    """One failure fails, none passes with the bound, no sample says nothing."""
    assert zero_failures(19, 20).word == "FAIL"
    assert zero_failures(59, 59).reason == "none of 59 samples failed; the failure rate is below 5% (95%)"
    assert zero_failures(0, 0).word == "INCONCLUSIVE"


@given(st.integers(1, 60), st.sampled_from([0.5, 0.8, 0.9, 0.95]), st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=25)
def test_a_minimum_rate_errs_with_at_most_alpha(n: int, rate: float, alpha: float) -> None:
    """Just below the rate at most alpha pass, just above at most alpha fail, by enumeration."""
    words = [min_rate(x, n, rate, alpha, alpha).word for x in range(n + 1)]
    assert chance(words, {"PASS"}, rate - 1e-9) <= alpha + 1e-9
    assert chance(words, {"FAIL"}, rate) <= alpha + 1e-9


@pytest.mark.parametrize(("passed", "n", "word"), [(19, 20, "PASS"), (16, 20, "FAIL")])
def test_the_further_samples_for_a_minimum_rate_are_enough(passed: int, n: int, word: str) -> None:
    """With as many more as are named, passing as often, the word is clear; with far fewer it is not."""
    found = min_rate(passed, n, 0.9)
    assert found.word == "INCONCLUSIVE"
    assert found.more_samples is not None
    total = n + found.more_samples
    failed = (n - passed) * total // n
    assert min_rate(passed * total // n if word == "PASS" else total - failed, total, 0.9).word == word
    assert min_rate(passed * (total // 2) // n, total // 2, 0.9).word == "INCONCLUSIVE"
    assert f"about {found.more_samples} more would" in found.reason


@pytest.mark.parametrize(("passed", "word"), [(19, "PASS"), (17, "FAIL")])
def test_the_further_samples_are_those_of_the_error_in_question(passed: int, word: str) -> None:
    """A case that looks good is to be shown so with beta, one that looks bad with alpha."""
    errors = {"alpha": 0.2, "beta": 0.001} if word == "PASS" else {"alpha": 0.001, "beta": 0.2}
    more = min_rate(passed, 20, 0.9, **errors).more_samples
    assert more is not None
    total = 20 + more
    likely = passed * total // 20 if word == "PASS" else total - (20 - passed) * total // 20
    assert min_rate(likely, total, 0.9, **errors).word == word
    assert more > 2 * (min_rate(passed, 20, 0.9, 0.2, 0.2).more_samples or 0)


def test_a_rate_right_at_the_minimum_names_no_number() -> None:
    """No number of samples tells a rate that is the minimum itself."""
    assert min_rate(18, 20, 0.9).more_samples is None
    assert min_rate(0, 0, 0.9).more_samples is None


@given(st.integers(1, 120), st.sampled_from([(0.99, 0.9), (0.95, 0.8), (0.9, 0.7)]))
@settings(max_examples=25)
def test_acceptance_errs_with_at_most_alpha_and_beta(n: int, rates: tuple[float, float]) -> None:
    """Whatever the number of samples: the good rate fails with at most alpha, the bad one passes with at most beta."""
    for alpha, beta in ((0.05, 0.05), (0.01, 0.3), (0.3, 0.01)):
        words = [acceptance(x, n, p_good=rates[0], p_bad=rates[1], alpha=alpha, beta=beta).word for x in range(n + 1)]
        assert chance(words, {"FAIL", "DEGRADED_WITHIN_MARGIN"}, rates[0]) <= alpha + 1e-9
        assert chance(words, {"PASS", "DEGRADED_WITHIN_MARGIN"}, rates[1]) <= beta + 1e-9


def test_acceptance_of_the_planned_number_always_tells() -> None:
    """61 samples tell 0.99 from 0.90 whatever comes out; 20 say how many more do; 500 can say "between"."""
    assert {acceptance(x, 61).word for x in range(62)} == {"PASS", "FAIL"}
    found = acceptance(20, 20)
    assert (found.word, found.more_samples) == ("INCONCLUSIVE", 41)
    assert acceptance(480, 500).word == "DEGRADED_WITHIN_MARGIN"


def test_not_worse_knows_four_words() -> None:
    """No loss over many samples passes, a large one fails, a small sure one is within the margin, few say nothing."""
    assert not_worse(100, 100, 99, 100, 0.1).word == "PASS"
    assert not_worse(20, 20, 10, 20, 0.1).word == "FAIL"
    assert not_worse(100, 100, 95, 100, 0.1).word == "DEGRADED_WITHIN_MARGIN"
    assert not_worse(5, 5, 5, 5, 0.1).word == "INCONCLUSIVE"


def test_an_inconclusive_comparison_says_what_it_could_have_seen() -> None:
    """10 against a baseline of 100 see drops from 31 points on, and 12 more would do for the margin of 25."""
    found = not_worse(95, 100, 9, 10, 0.25)
    assert found.word == "INCONCLUSIVE"
    assert found.detectable_drop == pytest.approx(0.313, abs=0.001)
    assert found.more_samples == 12
    assert "12 more samples would likely tell" in found.reason
    small = not_worse(20, 20, 18, 20, 0.1)
    assert small.more_samples is None
    assert "the baseline is too small" in small.reason
    assert "even the largest drop 4 times of 5" in not_worse(2, 2, 2, 2, 0.1).reason


@pytest.mark.parametrize(("n", "rate"), [(20, 0.99), (61, 0.95), (200, 0.9)])
def test_the_drop_that_could_have_been_seen_is_seen_four_times_of_five(n: int, rate: float) -> None:
    """By enumeration: at the rate that it names the bound falls below the rate wanted with probability 0.8."""
    drop = detectable_below(rate, n)
    assert drop is not None
    shown = [min_rate(x, n, rate).word for x in range(n + 1)]
    assert chance(shown, {"FAIL"}, rate - drop) == pytest.approx(0.8, abs=1e-6)
    assert detectable_below(0.9, 1) is None


def test_an_adjusted_p_value_decides_failing() -> None:
    """What is significant alone is not among many: the adjusted value is the one that counts."""
    assert not_worse(20, 20, 14, 20, 0.1).word == "FAIL"
    assert not_worse(20, 20, 14, 20, 0.1, p_adjusted=0.4).word == "INCONCLUSIVE"


@given(st.integers(1, 14))
@settings(max_examples=8)
def test_what_is_foreseen_comes_true(n: int) -> None:
    """UNDERPOWERED is said exactly where no outcome passes, or none fails."""
    for rate in (0.2, 0.5, 0.9):
        reached = {min_rate(x, n, rate).word for x in range(n + 1)}
        assert (foresee_min_rate(n, rate) == "") is ({"PASS", "FAIL"} <= reached)
    told = {acceptance(x, n, p_good=0.95, p_bad=0.8).word for x in range(n + 1)}
    assert (foresee_acceptance(n, p_good=0.95, p_bad=0.8) == "") is ({"PASS", "FAIL"} <= told)
    for alpha, beta in ((0.05, 0.1), (1e-4, 0.3)):
        compared = {not_worse(30, 30, x, n, 0.3, alpha=alpha, beta=beta).word for x in range(n + 1)}
        assert (foresee_not_worse(30, 30, n, 0.3, alpha=alpha, beta=beta) == "") is ({"PASS", "FAIL"} <= compared)


def test_too_few_samples_are_named_beforehand() -> None:
    """10 samples can't show 90 %, 29 can; 10 can't tell 0.99 from 0.90."""
    assert foresee_min_rate(10, 0.9) == "10 samples that all pass do not show a rate of 90%; 29 are needed"
    assert foresee_min_rate(29, 0.9) == ""
    assert foresee_min_rate(5, 0.3) == "5 samples that all fail do not show a rate below 30%; 9 are needed"
    assert foresee_acceptance(10) == "10 samples can't tell a pass rate of 99% from 90%; 61 are needed"
    assert foresee_not_worse(2, 2, 2, 0.1) == "with 2 samples against 2 of 2, no drop can be shown"
    small = "with 20 samples against 50 of 50, a drop of 10 points can't be ruled out; 65 are needed"
    assert foresee_not_worse(50, 50, 20, 0.1) == small


def test_policies_without_sense_are_refused() -> None:
    """Rates in percent or of one, more passes than samples."""
    calls: list[Callable[[], object]] = [
        lambda: min_rate(5, 5, 1.0),
        lambda: min_rate(6, 5, 0.9),
        lambda: acceptance(5, 5, p_good=99),
        lambda: acceptance(1, 1, p_bad=0.995),
        lambda: not_worse(5, 5, 5, 5, 10),
    ]
    for call in calls:
        with pytest.raises(InputError):
            call()


def test_points_are_read_as_people_say_them() -> None:
    """One point, several, and halves."""
    assert [points(share) for share in (0.01, 0.1, 0.125)] == ["1 point", "10 points", "12.5 points"]
