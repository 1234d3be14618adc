"""What a suite could have shown: against simulation, and against the exact power of one case."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.errors import InputError
from evalkit.stats.power import detectable_drop
from evalkit.stats.suite import cmh_p
from evalkit.stats.suite_power import detectable_in_this_suite


@pytest.mark.parametrize(
    ("rates", "runs"),
    [
        (np.full(20, 0.95), 10),
        (np.full(50, 1.0), 10),
        (np.tile([0.99, 0.9, 0.6, 0.99], 5), 5),
        (np.full(50, 0.8), 2),
        (np.repeat([1.0, 0.0], 10), 10),
        (np.repeat([1.0, 1.0, 1.0, 0.5], 5), 10),
    ],
    ids=["all alike", "never failing", "cases differ", "two runs", "always or never", "some of them"],
)
def test_the_difference_named_is_shown_about_as_often_as_said(rates: np.ndarray, runs: int) -> None:
    """Simulated suites in which each case falls by it: the CMH test shows it about 4 times of 5."""
    rng = np.random.default_rng(3)
    n = np.full(len(rates), runs)
    seen = [detectable_in_this_suite(rng.binomial(n, rates), n, rng.binomial(n, rates), n) for _ in range(25)]
    drop = float(np.median([one for one in seen if one is not None]))
    lower = rates - np.where(rates > 0, drop * len(rates) / np.count_nonzero(rates), 0.0)
    shown = [
        cmh_p(rng.binomial(n, rates), n, rng.binomial(n, lower), n, alternative="two-sided") <= 0.05 for _ in range(400)
    ]
    assert 0.7 <= np.mean(shown) <= 0.93


def test_one_case_is_near_the_exact_answer() -> None:
    """For one case it is Fisher's power, a little worse than that of the exact unconditional test."""
    found = detectable_in_this_suite([18], [20], [18], [20])
    exact = detectable_drop(0.9, 20, 20, alpha=0.025)
    assert found is not None
    assert exact is not None
    assert exact <= found <= exact + 0.1


def test_more_runs_see_more_by_either_way_of_counting() -> None:
    """Smaller and smaller differences, across the border where enumeration ends."""
    found = [detectable_in_this_suite([9 * n], [10 * n], [9 * n], [10 * n]) for n in (2, 5, 10, 20, 21, 50, 200)]
    seen = [one for one in found if one is not None]
    assert len(seen) == len(found)
    assert seen == sorted(seen, reverse=True)


def test_too_few_runs_see_nothing() -> None:
    """Two runs an arm can't show anything at 5 %."""
    assert detectable_in_this_suite([2], [2], [2], [2]) is None


def test_a_failing_suite_is_asked_for_a_rise() -> None:
    """Rates near 0 are as telling as rates near 1."""
    low = detectable_in_this_suite([0] * 30, [5] * 30, [0] * 30, [5] * 30)
    assert low == detectable_in_this_suite([5] * 30, [5] * 30, [5] * 30, [5] * 30)


@pytest.mark.parametrize("bad", [{"alpha": 0.0}, {"power": 1.0}])
def test_shares_out_of_range_are_refused(bad: dict[str, float]) -> None:
    """As everywhere in this room."""
    with pytest.raises(InputError):
        detectable_in_this_suite([1], [2], [1], [2], **bad)
