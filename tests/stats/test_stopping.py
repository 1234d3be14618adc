"""Plans with several looks: published designs, and all sequences of outcomes counted out."""

from __future__ import annotations

from itertools import product
from math import ceil, floor, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.stopping import StoppingPlan, characteristics


@st.composite
def plans(draw: st.DrawFn) -> StoppingPlan:
    """A plan of at most nine runs with any limits."""
    looks = sorted(draw(st.sets(st.integers(1, 9), min_size=1, max_size=4)))
    passes = [draw(st.integers(-1, n)) for n in looks]
    fails = [draw(st.integers(low + 1, n + 1)) for low, n in zip(passes, looks, strict=True)]
    return StoppingPlan(tuple(looks), tuple(passes), tuple(fails))


def counted_out(plan: StoppingPlan, rate: float) -> tuple[float, float, float]:
    """P(passes), P(fails) and the mean runs, by walking through every sequence of outcomes."""
    passed = failed = runs = 0.0
    for outcome in product((0, 1), repeat=plan.looks[-1]):
        share = rate ** sum(outcome) * (1 - rate) ** (len(outcome) - sum(outcome))
        for look in plan.looks:
            step = plan.step(sum(outcome[:look]), look)
            if step != "RUN_ON" or look == plan.looks[-1]:
                passed += share * (step == "PASS")
                failed += share * (step == "FAIL")
                runs += share * look
                break
    return passed, failed, runs


@given(plans(), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_characteristics_are_those_of_all_sequences(plan: StoppingPlan, rate: float) -> None:
    """The recursion gives what walking through every sequence of outcomes gives."""
    found = characteristics(plan, [rate])
    assert (found.passed[0], found.failed[0], found.expected_runs[0]) == pytest.approx(
        counted_out(plan, rate), abs=1e-12
    )


@given(plans())
@settings(max_examples=40, deadline=None)
def test_more_failures_never_help(plan: StoppingPlan) -> None:
    """P(pass) falls and P(fail) rises with the failure rate: errors at two rates hold for all beyond them."""
    found = characteristics(plan, np.linspace(0, 1, 41))
    assert (np.diff(found.passed) <= 1e-12).all()
    assert (np.diff(found.failed) >= -1e-12).all()


@pytest.mark.parametrize(
    ("first", "last", "rates", "runs"),
    [
        ((0, 9), (2, 24), (0.05, 0.25), 14.5),
        ((1, 12), (5, 35), (0.1, 0.3), 19.8),
        ((3, 17), (10, 37), (0.2, 0.4), 26.0),
    ],
)
def test_simons_two_stage_designs(
    first: tuple[int, int], last: tuple[int, int], rates: tuple[float, float], runs: float
) -> None:
    """Simon 1989, optimal, both errors 0.10: the mean runs at the lower rate are as published, and the errors hold."""
    plan = StoppingPlan((first[1], last[1]), (first[0], last[0]), (first[1] + 1, last[0] + 1))
    found = characteristics(plan, rates)
    assert found.expected_runs[0] == pytest.approx(runs, abs=0.051)
    assert found.failed[0] <= 0.10
    assert found.failed[1] >= 0.90


@pytest.mark.parametrize(
    ("rates", "errors", "looks", "runs", "shown"),
    [
        ((0.1, 0.35), (0.08, 0.2), (10, 25), (12.1, 12.5), (0.04, 0.84)),
        ((0.04, 0.1), (0.04, 0.2), (4, 75), (46.4, 52.8), (0.019, 0.516)),
    ],
)
def test_walds_limits_truncated_as_in_gsdesign(
    rates: tuple[float, float],
    errors: tuple[float, float],
    looks: tuple[int, int],
    runs: tuple[float, float],
    shown: tuple[float, float],
) -> None:
    """The vignette of R's gsDesign: mean runs and chances of showing the higher rate, at both rates."""
    more, less = log(rates[1] / rates[0]), log((1 - rates[1]) / (1 - rates[0]))
    high, low = log((1 - errors[1]) / errors[0]), log(errors[1] / (1 - errors[0]))
    each = tuple(range(looks[0], looks[1] + 1))
    fails = tuple(min(ceil((high - n * less) / (more - less)), n + 1) for n in each)
    passes = tuple(max(floor((low - n * less) / (more - less)), -1) for n in each)
    found = characteristics(StoppingPlan(each, passes, fails), rates)
    assert found.expected_runs == pytest.approx(runs, abs=0.051)
    assert found.failed == pytest.approx(shown, abs=5.1e-3 if shown[0] == 0.04 else 5.1e-4)


def test_a_plan_says_what_to_do() -> None:
    """At a look by its limits; between looks it has nothing to say."""
    plan = StoppingPlan((5, 10), (0, 1), (3, 2))
    assert [plan.step(failures, 5) for failures in (0, 1, 2, 3)] == ["PASS", "RUN_ON", "RUN_ON", "FAIL"]
    assert [plan.step(failures, 10) for failures in (1, 2)] == ["PASS", "FAIL"]
    for failures, runs in ((1, 7), (6, 5), (-1, 5)):
        with pytest.raises(InputError, match="no look"):
            plan.step(failures, runs)


@pytest.mark.parametrize(
    ("looks", "passes", "fails"),
    [((5, 5), (0, 0), (2, 2)), ((), (), ()), ((5,), (0, 0), (2,)), ((5,), (2,), (2,)), ((0,), (-1,), (1,))],
)
def test_plans_without_sense_are_refused(
    looks: tuple[int, ...], passes: tuple[int, ...], fails: tuple[int, ...]
) -> None:
    """Looks that don't rise, limits that differ in number or overlap."""
    with pytest.raises(InputError):
        StoppingPlan(looks, passes, fails)


def test_rates_in_percent_are_refused() -> None:
    """A failure rate of 5 is no probability."""
    with pytest.raises(InputError, match="rates"):
        characteristics(StoppingPlan((5,), (0,), (1,)), [5.0])
