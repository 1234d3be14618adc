"""The errors of `not_worse` where it picks its own number of samples, counted out over the baseline's counts as well.

    python ci/bench/not_worse.py [BASELINE_SAMPLES ...]        (default: 20 30 50 100)

How many samples the policy takes hangs on what the baseline came to; a test holds its errors for a number that is
given. Printed as JSON, by alpha (as of one gate, of four, of ten), baseline and margin, for the plan in batches and
without looks (`--fixed`): the largest probability, over rates from 0.02 to 1, of a case called worse where nothing
changed (over all rates, and over those from 0.7 on), and of one called not worse where its rate fell by the margin,
each as a share of what it may be; and the mean number of samples at most, where the rate is 0.95. Ends with 1 where a
share is above one. Takes five minutes.
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
from evalkit.verdict.plans import CasePlan, make_plans

MARGINS = (0.1, 0.2, 0.3, 0.4)
RATES = np.linspace(0.02, 1, 99)
ALPHAS, BETA = (0.05, 0.0125, 0.005), 0.1
USUAL_RATE = 0.95

Floats = NDArray[np.float64]


def planned(policy: Policy, measure: tuple[int, int], *, sequential: bool) -> CasePlan:
    """The plan of a case with such a baseline."""
    suite = Suite("s", policy=policy, sequential=sequential)
    return make_plans(suite, [CaseRef("", "c", 1, "", "proposed", "", "", "", ())], {"c": measure})["c"]


def without_looks(plan: CasePlan, measure: tuple[int, int], rates: Floats) -> tuple[Floats, Floats]:
    """By rate, how probable it is that a drop is shown, and that one of the margin is ruled out; all samples taken."""
    (x1, n1), n2, policy = measure, plan.most, plan.policy
    worse = binomial_cdf(n2, rates)[:, regression_cuts(n1, n2, plan.alpha)[x1]]
    return worse, binomial_pmf(n2, rates) @ (x1 < non_inferiority_cuts(n1, n2, policy.margin, policy.beta))


def in_batches(plan: CasePlan, measure: tuple[int, int], rates: Floats) -> tuple[Floats, Floats]:
    """The same, stopping at the first look that decides."""
    policy = plan.policy
    looks = comparison_plan(
        policy.margin, plan.most, plan.alpha, policy.beta, batch=policy.batch, baseline_runs=measure[1]
    )
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


def errors(n1: int, margin: float, alpha: float) -> dict[str, dict[str, Any]]:
    """Of one size of baseline."""
    policy, mass = Policy("not_worse", margin=margin, alpha=alpha, beta=BETA), binomial_pmf(n1, RATES)
    dropped = np.clip(RATES - margin, 0, 1)
    found: dict[str, dict[str, Any]] = {}
    for name, way in (("in batches", in_batches), ("fixed", without_looks)):
        failed, passed, samples = np.zeros(len(RATES)), np.zeros(len(RATES)), 0.0
        usual = binomial_pmf(n1, np.array([USUAL_RATE]))[0]
        for x1 in range(n1 + 1):
            plan = planned(policy, (x1, n1), sequential=way is in_batches)
            failed += mass[:, x1] * way(plan, (x1, n1), RATES)[0]
            passed += mass[:, x1] * way(plan, (x1, n1), dropped)[1]
            samples += usual[x1] * plan.most
        possible, high = margin <= RATES, RATES >= 0.7
        found[name] = {
            "worse, though nothing changed": most(failed / alpha, RATES),
            "the same at rates from 0.7": most(failed[high] / alpha, RATES[high]),
            "not worse, though worse by the margin": most(passed[possible] / BETA, RATES[possible]),
            "samples at most": round(float(samples), 1),
        }
    return found


def most(shares: Floats, rates: Floats) -> dict[str, float]:
    """The largest, and at which rate of the baseline."""
    at = int(shares.argmax())
    return {"of its level": round(float(shares[at]), 3), "rate": round(float(rates[at]), 2)}


def main() -> None:
    """Prints the figures as JSON."""
    sizes = [int(one) for one in sys.argv[1:]] or [20, 30, 50, 100]
    found = {
        f"alpha {alpha:g}": {f"{n1} samples": {f"{m:g}": errors(n1, m, alpha) for m in MARGINS} for n1 in sizes}
        for alpha in ALPHAS
    }
    print(json.dumps(found, indent=1))
    figures = [
        (figure["of its level"], alpha, n1, margin, way, what)
        for alpha, by_size in found.items()
        for n1, by_margin in by_size.items()
        for margin, by_way in by_margin.items()
        for way, by_figure in by_way.items()
        for what, figure in by_figure.items()
        if isinstance(figure, dict)
    ]
    print("largest:", *max(figures), file=sys.stderr)
    if max(figures)[0] > 1:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
