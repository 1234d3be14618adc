"""Screening by its plan: few samples name suspects, and only fresh ones, judged together, call a case worse."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.stats.acceptance import acceptance_plan
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Policy, Suite
from evalkit.verdict.family import regressions
from evalkit.verdict.plans import Plans, make_plans
from evalkit.verdict.screened import Screened

FEW, FRESH = 5, 30


def plan_of(case_id: str, passed: int = 60, n: int = 60, cap: int | None = None) -> Screened:
    """The plan of a case under `not_worse`."""
    return Screened(Policy("not_worse", margin=0.2, beta=0.1), 0.05, case_id, (passed, n), cap, whole=40)


def called_worse(rng: np.random.Generator, before: np.ndarray, now: np.ndarray) -> list[bool]:
    """For each case of a suite, whether it is called worse: by its plan, and over the suspects."""
    tables = []
    for at, (rate, new) in enumerate(zip(before, now, strict=True)):
        plan = plan_of(f"case-{at}", int(rng.binomial(60, rate)))
        outcomes = (rng.random(FEW + FRESH) < new).tolist()
        look = plan.next_look(outcomes[:FEW])
        tables.append(plan.table(outcomes[:look]) if look else None)
    found = iter(regressions([table for table in tables if table is not None]))
    return [table is not None and next(found).worse_adjusted <= 0.05 for table in tables]


def test_a_suite_without_a_change_is_seldom_called_worse_anywhere() -> None:
    """300 simulated suites of 40 cases, many of which are suspected: the family-wise error holds."""
    rng = np.random.default_rng(12)
    wrong = 0
    for _ in range(300):
        rates = rng.beta(4, 1, 40)
        wrong += any(called_worse(rng, rates, rates))
    assert wrong <= 26  # 15 expected at most; beyond 26 with a chance of 0.2 %


def test_broken_cases_are_found_among_many() -> None:
    """Drops of half in two cases of forty: most of them are called worse."""
    rng = np.random.default_rng(3)
    before = np.full(40, 0.98)
    now = np.where(np.arange(40) < 2, 0.48, before)
    found = [called_worse(rng, before, now)[:2] for _ in range(40)]
    assert np.mean(found) > 0.8


def test_what_screened_a_case_never_decides_it() -> None:
    """A case that failed all of its first samples passes by its fresh ones, against the rest of the baseline."""
    plan = plan_of("a")
    outcomes = [False] * FEW + [True] * FRESH
    assert plan.next_look(outcomes[:FEW]) == FEW + FRESH
    assert plan.table(outcomes) == (40, 40, FRESH, FRESH)
    assert plan.ruling(outcomes).word == "PASS"
    assert plan.ruling(outcomes[:-1]).word == "INCONCLUSIVE"
    assert plan.steps(outcomes) == ((20, 20, 0, FEW), (40, 40, FRESH, FRESH))
    assert plan.steps([]) == ()


@pytest.mark.parametrize(("failed", "suspect"), [(0, False), (1, True), (2, True)])
def test_one_failure_against_a_baseline_without_any_is_suspicious(failed: int, suspect: bool) -> None:
    """A level of 0.3 is that of one failure in five."""
    plan = plan_of("a")
    few = [False] * failed + [True] * (FEW - failed)
    assert plan.suspect(few) is suspect
    assert plan.next_look(few) == (FEW + FRESH if suspect else None)
    ruling = plan.ruling(few)
    assert (ruling.word, ruling.screened) == ("INCONCLUSIVE", not suspect)
    assert ruling.more_samples == (FRESH if suspect else None)


def test_a_failure_of_a_case_that_failed_before_is_not_suspicious() -> None:
    """Half of the baseline's samples failed: so do some of five."""
    plan = plan_of("a", passed=30)
    assert plan.next_look([True, True, False, True, False]) is None


@pytest.mark.parametrize(("n", "aside"), [(20, 6), (60, 20), (300, 20)])
def test_a_third_of_the_baseline_screens_and_twenty_at_most(n: int, aside: int) -> None:
    """The rest is what decides."""
    first, second = plan_of("a", n, n).steps([False] * (FEW + FRESH))
    assert (first[1], second[1]) == (aside, n - aside)


def test_fewer_fresh_samples_where_the_suite_allows_no_more() -> None:
    """Twenty at most: fifteen of them are fresh."""
    plan = plan_of("a", cap=20)
    assert plan.table([False] * 20) == (40, 40, 0, 15)


def plans(cases: int, samples: int = 60, screening: bool | None = None, state: str = "proposed") -> Plans:
    """The plans of a suite whose cases have baselines of so many samples."""
    refs = [CaseRef("/p", f"c{at}", 1, "digest", state, "title", "SIG", "", ()) for at in range(cases)]
    suite = Suite("s", policy=Policy(p_good=0.99, p_bad=0.8), screening=screening)
    return make_plans(suite, refs, {one.id: (samples, samples) for one in refs})


@pytest.mark.parametrize(
    ("made", "screened"),
    [
        (plans(200), False),
        (plans(201), True),
        (plans(201, screening=False), False),
        (plans(1, screening=True), True),
        (plans(1, 20, True), True),
        (plans(1, 19, True), False),
        (plans(1, screening=True, state="permanent"), False),
    ],
)
def test_who_is_screened(made: Plans, screened: bool) -> None:
    """By itself above 200 cases with a baseline; a baseline of twenty at least; a gate never."""
    assert isinstance(made["c0"], Screened) is screened


def test_a_policy_of_two_rates_tolerates_what_lies_between_them() -> None:
    """0.99 and 0.8 are a margin of 0.19; what the policy would have taken is told as saved."""
    plan = plans(1, screening=True)["c0"]
    assert (plan.policy.kind, plan.policy.margin) == ("not_worse", 0.19)
    assert plan.fixed == acceptance_plan(0.99, 0.8)[0]
