"""Repeated runs of one case: unbiased estimates and honest labels."""

from __future__ import annotations

from math import comb, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.interval import midp
from evalkit.stats.repeats import pass_at_k, pass_hat_k, pass_hat_k_interval, stability


def test_pass_k_gives_the_known_values() -> None:
    """The values of the HumanEval paper's formula and of tau-bench's."""
    assert pass_at_k(10, 200, 10) == pytest.approx(0.40854786608, abs=1e-11)
    assert pass_at_k(3, 10, 5) == pytest.approx(0.9166667, abs=5e-8)
    assert pass_hat_k(6, 8, 4) == pytest.approx(15 / 70)


@given(st.integers(1, 9), st.integers(1, 9), st.floats(0, 1))
def test_pass_k_is_unbiased(n: int, k: int, rate: float) -> None:
    """Averaged over all outcomes of n runs, pass^k is rate^k and pass@k is 1 - (1 - rate)^k."""
    if n < k:
        assert isnan(pass_hat_k(n, n, k))
        assert isnan(pass_at_k(n, n, k))
        return
    mass = [comb(n, c) * rate**c * (1 - rate) ** (n - c) for c in range(n + 1)]
    assert sum(m * pass_hat_k(c, n, k) for c, m in enumerate(mass)) == pytest.approx(rate**k, abs=1e-9)
    assert sum(m * pass_at_k(c, n, k) for c, m in enumerate(mass)) == pytest.approx(1 - (1 - rate) ** k, abs=1e-9)


def test_pass_k_intervals_are_those_of_the_rate() -> None:
    """10 of 10 leave a rate of 0.7411 open, so that of 8 passes in a row may be as low as 0.091."""
    assert pass_hat_k_interval(10, 10, 8) == pytest.approx((0.7411344**8, 1.0), abs=1e-6)
    assert pass_hat_k_interval(7, 8, 1) == midp(7, 8)
    with pytest.raises(InputError):
        pass_hat_k_interval(7, 8, 0)


@pytest.mark.parametrize(
    ("x", "n", "label"),
    [
        (27, 27, "STABLE_PASS"),
        (26, 26, "UNKNOWN"),
        (10, 10, "UNKNOWN"),
        (0, 27, "STABLE_FAIL"),
        (0, 26, "UNKNOWN"),
        (5, 10, "FLAKY"),
        (90, 100, "FLAKY"),
        (1, 6, "UNKNOWN"),
        (1, 5, "FLAKY"),
        (60, 61, "UNKNOWN"),
        (61, 62, "STABLE_PASS"),
        (0, 0, "UNKNOWN"),
        (1, 1, "UNKNOWN"),
    ],
)
def test_labels_need_enough_runs(x: int, n: int, label: str) -> None:
    """27 runs without a failure are stable, 26 are not; half and half is flaky; no runs are unknown."""
    assert stability(x, n) == label


@given(st.integers(0, 80), st.integers(0, 80))
def test_labels_are_mirror_images(passed: int, failed: int) -> None:
    """Swapping passes and failures swaps STABLE_PASS and STABLE_FAIL and leaves the rest."""
    swapped = {"STABLE_PASS": "STABLE_FAIL", "STABLE_FAIL": "STABLE_PASS"}
    label = stability(passed, passed + failed)
    assert stability(failed, passed + failed) == swapped.get(label, label)


@pytest.mark.parametrize(("c", "n", "k"), [(-1, 3, 1), (4, 3, 1), (1, 3, 0), (1.5, 3, 1), (1, 3, 1.5)])
def test_impossible_counts_are_refused(c: int, n: int, k: int) -> None:
    """More passes than runs, k below 1, or a part of a run is an error."""
    for function in (pass_hat_k, pass_at_k):
        with pytest.raises(InputError):
            function(c, n, k)
