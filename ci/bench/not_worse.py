"""The errors of `not_worse` where it picks its own number of samples, counted out over the baseline's counts as well.

    python ci/bench/not_worse.py [BASELINE_SAMPLES ...]        (default: 20 30 50 100)

How many samples the policy takes hangs on what the baseline came to; each plan holds its errors for a number that is
given. Printed as JSON, for the plan in batches and without looks (`--fixed`): the largest probability, over rates from
0.02 to 1, of a case called worse where nothing changed (over all rates, and over those from 0.7 on), and of one called
not worse where its rate fell by the margin; and at which rate. Nominal are 0.05 and 0.1.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.binomial import binomial_cdf, binomial_pmf
from evalkit.stats.group_sequential import comparison_plan
from evalkit.stats.non_inferiority import non_inferiority_cuts
from evalkit.stats.two_sample import regression_cuts
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Policy, Suite
from evalkit.verdict.against_baseline import AgainstBaseline
from evalkit.verdict.plans import make_plans

MARGINS = (0.1, 0.2, 0.3, 0.4)
RATES = np.linspace(0.02, 1, 99)
ALPHA, BETA = 0.05, 0.1

Floats = NDArray[np.float64]


def without_looks(policy: Policy, measure: tuple[int, int], rates: Floats) -> tuple[Floats, Floats]:
    """By rate, how probable it is that a drop is shown, and that one of the margin is ruled out; all samples taken."""
    (x1, n1), n2 = measure, planned(policy, measure)
    worse = binomial_cdf(n2, rates)[:, regression_cuts(n1, n2, ALPHA)[x1]]
    return worse, binomial_pmf(n2, rates) @ (x1 < non_inferiority_cuts(n1, n2, policy.margin, BETA))


def planned(policy: Policy, measure: tuple[int, int]) -> int:
    """How many samples a case takes without looks."""
    suite = Suite("s", policy=policy, sequential=False)
    return make_plans(suite, [CaseRef("", "c", 1, "", "proposed", "", "", "", ())], {"c": measure})["c"].most


def in_batches(policy: Policy, measure: tuple[int, int], rates: Floats) -> tuple[Floats, Floats]:
    """The same, stopping at the first look that decides."""
    plan, batch = AgainstBaseline(policy, ALPHA, measure), policy.batch
    looks = comparison_plan(policy.margin, plan.most, ALPHA, BETA, batch=batch, baseline_runs=measure[1])
    worse, safe = np.zeros(len(rates)), np.zeros(len(rates))
    open_ = np.ones((len(rates), 1))  # by rate and passes, how probable it is to be undecided there
    before = 0
    for n1, n2 in looks.looks:
        step = binomial_pmf(n2 - before, rates)
        reached = np.zeros((len(rates), n2 + 1))
        for x in range(open_.shape[1]):
            reached[:, x : x + step.shape[1]] += open_[:, [x]] * step
        words = [looks.step(measure[0], n1, x, n2) for x in range(n2 + 1)]
        for told, total in ((("FAIL", "WITHIN_MARGIN"), worse), (("PASS", "WITHIN_MARGIN"), safe)):
            total += reached[:, [one in told for one in words]].sum(axis=1)
        open_ = np.where([one == "RUN_ON" for one in words], reached, 0.0)
        before = n2
    return worse, safe


def errors(n1: int, margin: float) -> dict[str, dict[str, Any]]:
    """Of one size of baseline."""
    policy, mass = Policy("not_worse", margin=margin, alpha=ALPHA, beta=BETA), binomial_pmf(n1, RATES)
    worse = np.clip(RATES - margin, 0, 1)
    found: dict[str, dict[str, Any]] = {}
    for name, way in (("in batches", in_batches), ("fixed", without_looks)):
        failed, passed = np.zeros(len(RATES)), np.zeros(len(RATES))
        for x1 in range(n1 + 1):
            failed += mass[:, x1] * way(policy, (x1, n1), RATES)[0]
            passed += mass[:, x1] * way(policy, (x1, n1), worse)[1]
        possible = margin <= RATES
        found[name] = {
            "worse, though nothing changed": most(failed, RATES),
            "the same at rates from 0.7": most(failed[RATES >= 0.7], RATES[RATES >= 0.7]),
            "not worse, though worse by the margin": most(passed[possible], RATES[possible]),
        }
    return found


def most(probability: Floats, rates: Floats) -> dict[str, float]:
    """The largest, and at which rate of the baseline."""
    at = int(probability.argmax())
    return {"probability": round(float(probability[at]), 4), "rate": round(float(rates[at]), 2)}


if __name__ == "__main__":
    sizes = [int(one) for one in sys.argv[1:]] or [20, 30, 50, 100]
    print(json.dumps({f"{n1} samples": {f"{m:g}": errors(n1, m) for m in MARGINS} for n1 in sizes}, indent=1))
