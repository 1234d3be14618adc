"""A candidate against a baseline, look by look: errors checked by another recursion, runs against known numbers."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

from evalkit.errors import InputError
from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.group_sequential import ComparisonPlan, characteristics, comparison_plan


def walked(plan: ComparisonPlan, p1: float, p2: float, stops: set[str]) -> dict[str, float]:
    """The probability of each first step in `stops`, batch by batch, one pair of counts at a time."""
    found = dict.fromkeys(["PASS", "FAIL", "WITHIN_MARGIN"], 0.0)
    first = plan.looks[0]
    fixed = len({n1 for n1, _ in plan.looks}) == 1
    before = (first[0], 0) if fixed else (0, 0)
    state = {(0, 0): 1.0}
    if fixed:
        state = {(x1, 0): share for x1, share in enumerate(binomial_pmf(first[0], np.array([p1]))[0])}
    for n1, n2 in plan.looks:
        mass1, mass2 = (
            binomial_pmf(now - then, np.array([rate]))[0]
            for now, then, rate in ((n1, before[0], p1), (n2, before[1], p2))
        )
        reached: dict[tuple[int, int], float] = {}
        for (x1, x2), share in state.items():
            for more1, more2 in product(range(len(mass1)), range(len(mass2))):
                at = (x1 + more1, x2 + more2)
                reached[at] = reached.get(at, 0.0) + share * mass1[more1] * mass2[more2]
        state, before = {}, (n1, n2)
        for (x1, x2), share in reached.items():
            step = plan.step(x1, n1, x2, n2)
            if step in stops:
                found[step] += share
            else:
                state[x1, x2] = share
    return found


@pytest.mark.parametrize(
    ("margin", "runs", "batch", "baseline"), [(0.4, 12, 4, None), (0.5, 12, 3, 20), (0.5, 11, 4, 20), (0.8, 3, 5, 20)]
)
def test_both_errors_hold_at_every_rate(margin: float, runs: int, batch: int, baseline: int | None) -> None:
    """An unchanged candidate ever fails with at most alpha, one worse by the margin ever passes with at most beta.

    Whatever is done about the other answer: here it stops nothing.
    """
    plan = comparison_plan(margin, runs, 0.05, 0.1, batch=batch, baseline_runs=baseline)
    rates = np.sin(np.linspace(0, np.pi / 2, 34)) ** 2
    wrong = [sum(walked(plan, p, p, {"FAIL", "WITHIN_MARGIN"}).values()) for p in rates]
    missed = [
        sum(walked(plan, p, p - margin, {"PASS", "WITHIN_MARGIN"}).values()) for p in margin + (1 - margin) * rates
    ]
    assert 0.02 < max(wrong) <= 0.05
    assert 0.04 < max(missed) <= 0.1


def test_characteristics_are_those_of_another_recursion() -> None:
    """Each answer's probability at some pairs of rates, and the mean runs between none and all."""
    plan = comparison_plan(0.3, 20, 0.2, 0.2, batch=5)
    pairs = [(0.9, 0.9), (0.9, 0.6), (0.5, 0.4), (1.0, 0.85)]
    found = characteristics(plan, *zip(*pairs, strict=True))
    for at, (p1, p2) in enumerate(pairs):
        known = walked(plan, p1, p2, {"PASS", "FAIL", "WITHIN_MARGIN"})
        seen = {"PASS": found.passed[at], "FAIL": found.failed[at], "WITHIN_MARGIN": found.within_margin[at]}
        assert seen == pytest.approx(known, abs=1e-12)
    assert ((found.expected_runs >= 5) & (found.expected_runs <= 20)).all()


@pytest.mark.parametrize(
    ("base", "margin", "runs", "baseline", "unchanged", "regressed", "twice"),
    [
        (0.95, 0.25, 45, None, 16.9, 23.9, 13.2),
        (0.99, 0.20, 40, None, 20.4, 26.4, 14.9),
        (0.95, 0.25, 35, 50, 14.6, 15.2, 7.3),
        (0.95, 0.25, 25, 100, 13.2, 12.8, 7.0),
    ],
)
def test_comparing_in_batches_needs_few_runs(
    base: float, margin: float, runs: int, baseline: int | None, unchanged: float, regressed: float, twice: float
) -> None:
    """Mean runs when nothing changed, at the margin and at twice the margin are near those of another search."""
    plan = comparison_plan(margin, runs, baseline_runs=baseline)
    found = characteristics(plan, [base] * 3, [base, base - margin, base - 2 * margin])
    assert found.expected_runs == pytest.approx((unchanged, regressed, twice), abs=1.0)
    assert found.passed[0] >= 0.95
    assert found.failed[1] >= 0.87
    assert found.failed[2] >= 0.99


def test_the_last_look_takes_all_runs() -> None:
    """What is less than a batch is looked at, too: at the end, or as the only look."""
    assert comparison_plan(0.5, 12, baseline_runs=20).looks == ((20, 5), (20, 10), (20, 12))
    assert comparison_plan(0.5, 3, baseline_runs=20).looks == ((20, 3),)


def test_a_plan_says_what_to_do() -> None:
    """Nothing lost over many runs passes, much lost fails, little known runs on; elsewhere it has nothing to say."""
    plan = comparison_plan(0.25, 45)
    assert plan.looks == tuple((n, n) for n in range(5, 50, 5))
    assert plan.step(5, 5, 4, 5) == "RUN_ON"
    assert plan.step(10, 10, 0, 10) == "FAIL"
    assert plan.step(20, 20, 20, 20) == "PASS"
    assert {plan.step(x1, 45, x2, 45) for x1 in range(46) for x2 in range(46)} >= {"WITHIN_MARGIN", "PASS", "FAIL"}
    with pytest.raises(InputError, match="no look"):
        plan.step(5, 7, 5, 7)
    with pytest.raises(InputError, match="no look"):
        plan.step(6, 5, 5, 5)


def test_plans_travel_between_processes() -> None:
    """A plan is a value: equal after pickling."""
    plan = comparison_plan(0.4, 10)
    assert pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.parametrize(
    "arguments",
    [{"margin": 25}, {"runs_max": 0}, {"runs_max": 500}, {"alpha": 5}, {"batch": 0}, {"baseline_runs": 1001}],
)
def test_plans_without_sense_are_refused(arguments: dict[str, int]) -> None:
    """Percent, no runs, more than can be worked out."""
    wanted: dict[str, float] = {"margin": 0.3, "runs_max": 20, **arguments}
    with pytest.raises(InputError):
        comparison_plan(**wanted)  # type: ignore[arg-type]  # wrong on purpose


def test_rates_outside_of_zero_to_one_are_refused() -> None:
    """Percent, or two arms that differ in number."""
    plan = comparison_plan(0.4, 10)
    for rates in (([95.0], [70.0]), ([0.9, 0.8], [0.9])):
        with pytest.raises(InputError, match="rates"):
            characteristics(plan, *rates)


@pytest.mark.parametrize("baseline", [None, 100])
def test_a_plan_of_practical_size_keeps_its_errors(baseline: int | None) -> None:
    """On 301 rates: FAIL and PASS where they are wrong, at the margin and beyond it."""
    plan = comparison_plan(0.2, 40, baseline_runs=baseline)
    rates = np.sin(np.linspace(0, np.pi / 2, 301)) ** 2
    same = characteristics(plan, rates, rates)
    assert (same.failed + same.within_margin).max() <= 0.05
    for drop in (0.2, 0.3):
        base = drop + (1 - drop) * rates
        worse = characteristics(plan, base, base - drop)
        assert (worse.passed + worse.within_margin).max() <= 0.1
