"""Sequential plans against two rates: exact errors, and fewer runs than any fixed number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.acceptance import acceptance_plan
from evalkit.stats.sprt import sprt_plan, wald_bound
from evalkit.stats.stopping import StoppingPlan, characteristics


@pytest.mark.parametrize(
    ("p_good", "p_bad", "good", "bad"),
    [
        (0.99, 0.9, 42.4, 23.7),
        (0.95, 0.8, 32.0, 23.4),
        (0.9, 0.7, 27.1, 20.0),
        (0.999, 0.97, 106.4, 41.0),
        (0.99, 0.95, 111.9, 71.4),
    ],
)
def test_plans_need_few_runs(p_good: float, p_bad: float, good: float, bad: float) -> None:
    """Mean runs at both rates: as few as another search found, never below Wald's bound, and far below fixed plans."""
    found = characteristics(sprt_plan(p_good, p_bad), [1 - p_good, 1 - p_bad]).expected_runs
    assert found[0] <= good + 0.05
    assert found[1] <= bad + 0.05
    assert (found > wald_bound(p_good, p_bad)).all()
    assert (found < 0.75 * acceptance_plan(p_good, p_bad)[0]).all()


def test_walds_bound() -> None:
    """The relative entropy of the errors over that of the rates, for 0.99 against 0.90."""
    assert wald_bound(0.99, 0.9) == pytest.approx((37.2, 18.3), abs=0.05)


@given(
    st.floats(0.6, 0.995),
    st.floats(0.3, 0.8),
    st.sampled_from([0.01, 0.05, 0.1]),
    st.sampled_from([0.02, 0.05, 0.2]),
    st.sampled_from([1, 4, 5, 10]),
)
@settings(max_examples=15, deadline=None)
def test_both_errors_hold_exactly(p_good: float, ratio: float, alpha: float, beta: float, batch: int) -> None:
    """At every rate from good on at most alpha fail, at every rate up to bad at most beta pass; and it always ends."""
    p_bad = p_good * ratio
    plan = sprt_plan(p_good, p_bad, alpha, beta, batch=batch)
    better = characteristics(plan, np.linspace(0, 1 - p_good, 21))
    worse = characteristics(plan, np.linspace(1 - p_bad, 1, 21))
    assert better.failed.max() <= alpha + 1e-12
    assert worse.passed.max() <= beta + 1e-12
    assert better.passed + better.failed == pytest.approx(1.0)
    assert set(np.diff((0, *plan.looks))) == {batch}


def test_a_plan_ends_when_the_rest_cannot_matter() -> None:
    """More failures than the last look allows fail at once; so few that the rest could all fail pass at once."""
    plan = sprt_plan(0.9, 0.7)
    last = plan.passes[-1]
    assert max(plan.fails) == plan.fails[-1] == last + 1
    for runs, passes in zip(plan.looks, plan.passes, strict=True):
        assert passes >= last - (plan.looks[-1] - runs)


def test_a_perfect_case_passes_early() -> None:
    """0.99 against 0.90: 35 passes without a failure are enough, where a fixed plan takes 61."""
    plan = sprt_plan(0.99, 0.9)
    assert plan.looks[plan.passes.index(0)] == 35
    assert acceptance_plan(0.99, 0.9)[0] == 61


def test_many_gates_cost_little() -> None:
    """With alpha shared over fifty gates a good case takes 46.3 runs on average, not 42.4; fixed plans take 103."""
    shared = sprt_plan(0.99, 0.9, 0.05 / 50)
    assert characteristics(shared, [0.01]).expected_runs[0] <= 46.35
    assert characteristics(shared, [0.01]).failed[0] <= 0.001
    assert acceptance_plan(0.99, 0.9, 0.05 / 50)[0] == 103


def test_a_shorter_plan_is_found_or_refused() -> None:
    """A cap is kept; below what any plan needs there is none."""
    plan = sprt_plan(0.95, 0.8, runs_max=54)
    assert plan.looks[-1] == 50
    assert isinstance(plan, StoppingPlan)
    with pytest.raises(InputError, match="at most 20 runs"):
        sprt_plan(0.95, 0.8, runs_max=20)
    with pytest.raises(InputError, match="less than a batch"):
        sprt_plan(0.95, 0.8, runs_max=3)


def test_rates_that_cannot_be_told_apart_are_refused() -> None:
    """Equal, nearly equal or reversed rates, and batches of nothing."""
    for p_good, p_bad in ((0.9, 0.9), (0.8, 0.9)):
        with pytest.raises(InputError, match="p_bad"):
            sprt_plan(p_good, p_bad)
    with pytest.raises(InputError, match="further apart"):
        sprt_plan(0.9, 0.89)
    with pytest.raises(InputError, match="batch"):
        sprt_plan(0.9, 0.5, batch=0)


@pytest.mark.parametrize(("p_good", "p_bad"), [(0.95, 0.0095), (0.99, 0.9), (0.9, 0.7)])
def test_no_more_runs_than_at_once_are_enough(p_good: float, p_bad: float) -> None:
    """Truncated at the fixed plan's number of runs there is a plan, even of a single run whose error is alpha."""
    runs, _ = acceptance_plan(p_good, p_bad, 0.05, 0.3)
    plan = sprt_plan(p_good, p_bad, 0.05, 0.3, batch=1, runs_max=runs)
    assert plan.looks[-1] == runs
    assert (characteristics(plan, [1 - p_good, 1 - p_bad]).expected_runs <= runs).all()
