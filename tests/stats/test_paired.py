"""Cost, time, steps in two arms: the same cases, compared on the logarithm."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.errors import InputError
from evalkit.stats.paired import paired_change


def rng() -> np.random.Generator:
    """The same flips every time."""
    return np.random.default_rng(11)


def test_a_constant_factor_is_found_whatever_the_cases_cost() -> None:
    """8 % more in every case is 8 %, though cases differ by factors of a thousand."""
    a = [[10.0**k, 2 * 10.0**k] for k in range(8)]
    found = paired_change(a, [[1.08 * value for value in runs] for runs in a], rng())
    assert found.change == pytest.approx(0.08)
    assert found.ratio_of_means == pytest.approx(1.08)
    assert found.p_like == pytest.approx(2 / 2**8, abs=4e-3)
    assert found.p > 0.5  # each case's runs differ by a factor of two: these runs alone show nothing of 8 %
    assert found.cases == 8


def test_what_all_cases_share_tells_nothing_of_others() -> None:
    """Without a spread there is no interval for cases like these, however rounding differs; with one there is."""
    a = [[3.0, 3.0], [0.7, 0.7], [11.0, 11.0]]
    for factor in (1.0, 1.5):
        found = paired_change(a, [[factor * value for value in runs] for runs in a], rng())
        assert (found.low_like, found.high_like) == (-1.0, np.inf)
    found = paired_change(a, [[4.0, 4.0], [0.7, 0.7], [11.0, 11.0]], rng())
    assert -1 < found.low_like < 0 < found.high_like < np.inf


def test_rounding_is_no_change() -> None:
    """The same values in another order have means that differ in their last digits, and show nothing."""
    a = [rng().uniform(0.1, 3, 7 + at) for at in range(12)]
    b = [values[::-1] for values in a]
    means = [np.log(left).mean() - np.log(right).mean() for left, right in zip(a, b, strict=True)]
    assert any(means)
    found = paired_change(a, b, rng())
    assert (found.change, found.p) == (0.0, 1.0)


def test_one_slow_run_does_not_decide() -> None:
    """A single run of a hundredfold cost moves the ratio of means, but shows no change."""
    a = [[1.0, 1.1, 0.9]] * 20
    b = [[1.0, 1.1, 0.9]] * 19 + [[1.0, 1.1, 90.0]]
    found = paired_change(a, b, rng())
    assert found.ratio_of_means > 2
    assert found.low <= 0 <= found.high
    assert found.low_like <= 0 <= found.high_like
    assert found.p > 0.3
    assert found.p_like > 0.5


def test_swapping_the_arms_inverts_the_change() -> None:
    """From b to a it is the inverse factor, with the same p."""
    source = rng()
    a, b = source.lognormal(0, 1, (12, 3)).tolist(), source.lognormal(0.5, 1, (12, 4)).tolist()
    there, back = paired_change(a, b, rng()), paired_change(b, a, rng())
    assert 1 + back.change == pytest.approx(1 / (1 + there.change))
    assert (1 + back.low, 1 + back.high) == pytest.approx((1 / (1 + there.high), 1 / (1 + there.low)))
    assert (1 + back.low_like, 1 + back.high_like) == pytest.approx(
        (1 / (1 + there.high_like), 1 / (1 + there.low_like))
    )
    assert (back.p, back.p_like) == (there.p, there.p_like)
    assert back.share_lower == pytest.approx(1 - there.share_lower)


def test_few_cases_with_many_runs_show_what_changed_in_them() -> None:
    """Four cases: of cases like these their signs can't tell, of themselves their runs do."""
    source = rng()
    a = source.lognormal(0, 0.3, (4, 10))
    found = paired_change(list(a), list(3 * source.lognormal(0, 0.3, (4, 10))), rng())
    assert (found.p, found.p_like) == (0.0001, 0.125)
    assert 1.5 < found.low < 2.0 < found.high < 3.0


def test_unchanged_arms_are_rarely_called_changed() -> None:
    """Under no change, 300 simulated comparisons give p <= 0.05 and an interval off 0 in about one of twenty."""
    source, wrong, missed = np.random.default_rng(5), np.zeros(2), np.zeros(2)
    for _ in range(300):
        base = source.normal(0, 1, (25, 1))
        a, b = (np.exp(base + source.normal(0, 0.4, (25, 3))) for _ in range(2))
        found = paired_change(list(a), list(b), source)
        wrong += found.p <= 0.05, found.p_like <= 0.05
        missed += not found.low <= 0 <= found.high, not found.low_like <= 0 <= found.high_like
    assert (wrong >= 3).all()
    assert (wrong <= 30).all()
    assert (missed >= 3).all()
    assert (missed <= 30).all()


def test_shares_count_ties_half() -> None:
    """Per case the share of pairs in which b is below a; averaged over the cases."""
    found = paired_change([[1, 2], [5, 5]], [[2, 0.5], [5, 5]], rng())
    assert found.share_lower == pytest.approx(((0.5 + 2) / 4 + 0.5) / 2)


def test_numbers_that_can_be_zero_need_a_shift() -> None:
    """Zero has no logarithm: refused without a shift; with one, the ratio of means is still of the plain numbers."""
    with pytest.raises(InputError, match="logarithm"):
        paired_change([[0, 2]], [[1, 3]], rng())
    found = paired_change([[0, 2], [1, 1]], [[1, 3], [2, 2]], rng(), shift=1.0)
    assert found.ratio_of_means == pytest.approx(2.0)


def test_one_case_leaves_everything_open() -> None:
    """A single case: a change, but no limits, and no evidence."""
    found = paired_change([[1.0]], [[2.0]], rng())
    assert found.change == pytest.approx(1.0)
    assert (found.low, found.high, found.p) == (-1.0, np.inf, 1.0)
    assert (found.low_like, found.high_like, found.p_like) == (-1.0, np.inf, 1.0)


def test_arms_with_other_cases_are_refused() -> None:
    """No cases, missing cases, cases without runs, NaN: errors."""
    for a, b in (([], []), ([[1.0]], [[1.0], [2.0]]), ([[]], [[1.0]]), ([[float("nan")]], [[1.0]])):
        with pytest.raises(InputError):
            paired_change(a, b, rng())
