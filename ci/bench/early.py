"""What a suite's effect and pass rate are worth where runs stop early, or go on with suspects alone.

    python ci/bench/early.py [SUITES] [CASES]        (default: 120 250)

Printed as JSON. `suites`: over simulated suites (80 % of the cases pass nearly always, 15 % mostly, 5 % at any rate),
each measured by the plans of `evalkit run` against a baseline of 50 runs a case: the mean error of the effect in points
with its standard error, by the shares of passed samples and as `evalkit` tells it; how often the 95 % interval "in this
suite" holds the true effect; how often the exact test's p is 0.05 or less, over all samples, over each case's first
look, and as `evalkit` tells it. `cases`: the mean error of one case's share in points, and of its estimate, at some
rates, exactly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np

from evalkit.stats.stopped import unbiased_rate
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Policy, Suite
from evalkit.verdict.effect import suite_effect
from evalkit.verdict.estimate import estimate_of
from evalkit.verdict.model import BaselineRow, CaseVerdict
from evalkit.verdict.plans import CasePlan, make_plans
from evalkit.verdict.screened import Screened

BASELINE = 50
RATES = (0.99, 0.95, 0.9, 0.8, 0.7)
CHANGES = {"nothing changed": (0, 0), "one case in twenty fell by 0.3": (0.05, 0.3), "all fell by 0.01": (1, 0.01)}
PLANS = {
    "screened": Suite("s", policy=Policy("not_worse", margin=0.1), screening=True),
    "acceptance": Suite("s", policy=Policy(p_good=0.99, p_bad=0.9), screening=False),
    "not_worse": Suite("s", policy=Policy("not_worse", margin=0.2), screening=False),
}


def main() -> None:
    """Prints the numbers."""
    given = [int(text) for text in sys.argv[1:3]]
    suites, cases = (given + [120, 250][len(given) :])[:2]
    told: dict[str, Any] = {"suites": {}, "cases": {}}
    for name, suite in PLANS.items():
        told["suites"][name] = {what: simulated(suite, *fell, suites, cases) for what, fell in CHANGES.items()}
        told["cases"][name] = {str(rate): of_one_case(suite, rate) for rate in RATES}
    print(json.dumps(told, indent=2))


def simulated(suite: Suite, share: float, drop: float, suites: int, cases: int) -> dict[str, float]:
    """Suites of one kind."""
    source = np.random.default_rng(20_261)
    known: dict[tuple[int, int], CasePlan] = {}
    plain, told = np.zeros(suites), np.zeros(suites)
    inside = whole = first = shown = taken = 0
    for at in range(suites):
        kind, mostly, any_rate = source.random(cases), source.beta(18, 2, cases), source.beta(2, 2, cases)
        before = np.where(kind < 0.8, 0.995, np.where(kind < 0.95, mostly, any_rate))
        after = np.where(source.random(cases) < share, np.maximum(before - drop, 0.0), before)
        truth = float((after - before).mean())
        passed = source.binomial(BASELINE, before).tolist()
        verdicts = []
        for number, (x, rate) in enumerate(zip(passed, after.tolist(), strict=True)):
            plan = known.setdefault((x, number), plan_of(suite, x, number))
            verdicts.append(verdict_of(plan, x, sampled(plan, source, rate)))
        shares = [replace(one, estimate=None, steps=()) for one in verdicts]
        looks = [replace(one, steps=()) for one in verdicts]
        effect, by_shares, by_looks = suite_effect(verdicts), suite_effect(shares), suite_effect(looks)
        assert effect is not None
        assert by_shares is not None
        assert by_looks is not None
        plain[at], told[at] = by_shares.difference - truth, effect.difference - truth
        inside += effect.this_suite[0] <= truth <= effect.this_suite[1]
        whole += by_shares.p_worse <= 0.05
        first += by_looks.p_worse <= 0.05
        shown += effect.p_worse <= 0.05
        taken += sum(one.n for one in verdicts)
    return {
        "bias_of_shares": in_points(plain.mean()),
        "bias": in_points(told.mean()),
        "standard_error": in_points(told.std() / np.sqrt(suites)),
        "spread_of_shares": in_points(plain.std()),
        "spread": in_points(told.std()),
        "coverage": round(inside / suites, 3),
        "shown_worse_over_all_samples": round(whole / suites, 3),
        "shown_worse_over_first_looks": round(first / suites, 3),
        "shown_worse": round(shown / suites, 3),
        "samples_a_case": round(taken / suites / cases, 1),
    }


def of_one_case(suite: Suite, rate: float) -> dict[str, float]:
    """Exactly, over all ends of the plan of a case whose baseline is what its rate lets expect."""
    ends = list(ends_of(plan_of(suite, round(BASELINE * rate), 0), rate))
    assert abs(sum(chance for chance, *_ in ends) - 1) < 1e-9
    return {
        "bias_of_share": in_points(sum(chance * x / n for chance, x, n, _ in ends) - rate),
        "bias": in_points(sum(chance * told for chance, *_, told in ends) - rate),
        "samples": round(sum(chance * n for chance, _, n, _ in ends), 1),
    }


def in_points(share: Any) -> float:
    return round(100 * float(share), 3) + 0.0


def plan_of(suite: Suite, passed: int, number: int) -> CasePlan:
    """Of a proposed case with such a baseline; the number draws the part of the baseline that is put aside."""
    case = CaseRef("", f"case-{number}", 1, "", "proposed", "", "", "", ())
    return make_plans(suite, [case], {case.id: (passed, BASELINE)})[case.id]


def sampled(plan: CasePlan, source: np.random.Generator, rate: float) -> tuple[bool, ...]:
    """One run of a case."""
    outcomes: tuple[bool, ...] = ()
    while (look := plan.next_look(outcomes)) is not None:
        outcomes += tuple((source.random(look - len(outcomes)) < rate).tolist())
    return outcomes


def verdict_of(plan: CasePlan, before: int, outcomes: tuple[bool, ...]) -> CaseVerdict:
    """As far as the suite's effect goes by it."""
    x, n = sum(outcomes), len(outcomes)
    counts = x, n - x, 0, 0, 0.0, 1.0
    row = BaselineRow(before, BASELINE, 0.0, 1.0)
    estimate = estimate_of(plan, (), outcomes, twice=False)
    steps = plan.steps(outcomes) if isinstance(plan, Screened) else ()
    return CaseVerdict(
        "c", 1, "", "", False, *counts, "PASS", "no change shown", "", row, estimate=estimate, steps=steps
    )


def ends_of(plan: CasePlan, rate: float) -> Iterator[tuple[float, int, int, float]]:
    """Each end of a plan: its chance, passes, samples, and the estimate."""
    at: dict[int, dict[int, tuple[tuple[bool, ...], float]]] = {0: {0: ((), 1.0)}}
    while at:
        look = min(at)
        for x, (outcomes, chance) in at.pop(look).items():
            following = plan.next_look(outcomes)
            if following is None:
                yield chance, x, look, unbiased_rate(outcomes, plan.next_look)[0]
                continue
            more = following - look
            for passes in range(more + 1):
                here = at.setdefault(following, {})
                order = (*outcomes, *(True,) * passes, *(False,) * (more - passes))
                known = here.get(x + passes, (order, 0.0))
                weight = comb(more, passes) * rate**passes * (1 - rate) ** (more - passes)
                here[x + passes] = known[0], known[1] + chance * weight


if __name__ == "__main__":
    main()
