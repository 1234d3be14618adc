"""Screening by its plan: few samples name suspects, and only fresh ones, judged together, call a case worse."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.suite.model import Policy
from evalkit.verdict.family import regressions
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


def test_fewer_fresh_samples_where_the_suite_allows_no_more() -> None:
    """Twenty at most: fifteen of them are fresh."""
    plan = plan_of("a", cap=20)
    assert plan.table([False] * 20) == (40, 40, 0, 15)
