"""How long the statistics of a large suite take, and what sequential plans save.

    python ci/bench/stats.py [CASES] [RUNS] [ROUNDS]        (default: 10000 100 3)

Printed as JSON. `seconds`: for two arms, from a matrix of outcomes to every statistic of a comparison, each round in
a fresh process (caches cold; the imports, which any command pays, are apart). `plans`: mean runs of the sequential
plans at a good and a bad rate, beside the fixed number of runs and Wald's bound. `family`: over simulated suites of
100 cases and ten runs an arm, how often any unchanged case is called worse (alpha 0.05), and how often each of five
cases that fell by 0.5 is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

RATES = ((0.99, 0.9), (0.95, 0.8), (0.9, 0.7), (0.999, 0.97), (0.99, 0.95))


def main() -> None:
    """Prints the numbers."""
    given = [int(text) for text in sys.argv[1:4]]
    cases, runs, rounds = (given + [10_000, 100, 3][len(given) :])[:3]
    found = {
        "seconds": [fresh(cases, runs) for _ in range(rounds)],
        "plans": plans(),
        "family": family(2000),
        "paired": paired(400),
    }
    print(json.dumps(found, indent=2))


def fresh(cases: int, runs: int) -> dict[str, float]:
    """One round in a process of its own."""
    command = [sys.executable, __file__, "--round", str(cases), str(runs)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def one_round(cases: int, runs: int) -> dict[str, float]:
    """Wall seconds of each step, of all steps, and the CPU seconds of all."""
    seconds: dict[str, float] = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        found = step()
        seconds[name] = round(time.perf_counter() - start, 4)
        return found

    timed("imports", imports)
    import numpy as np

    from evalkit.stats.interval import clopper_pearson_table, midp_table
    from evalkit.stats.multiplicity import attainable_by_fisher, discrete_bh, step_down
    from evalkit.stats.sign_flip import sign_flip_p_whole
    from evalkit.stats.suite import cluster_t_interval, cmh_p, differences, this_suite_interval
    from evalkit.stats.two_sample import fisher_p_many, regression_p_many

    source = np.random.default_rng(1)
    before = np.where(source.random(cases) < 0.8, 0.995, source.beta(18, 2, cases))
    after = np.where(source.random(cases) < 0.02, np.maximum(before - 0.3, 0.0), before)
    outcomes = [source.random((cases, runs)) < rate[:, None] for rate in (before, after)]
    cpu, wall = time.process_time(), time.perf_counter()
    x1, x2 = timed("counts", lambda: [arm.sum(axis=1) for arm in outcomes])
    n = np.full(cases, runs)
    timed("intervals", lambda: (midp_table(runs)[x1], midp_table(runs)[x2], clopper_pearson_table(runs)[x2]))
    timed("regression_p", lambda: regression_p_many(x1, n, x2, n))
    p = timed("fisher_p", lambda: fisher_p_many(x1, n, x2, n))
    margins = timed("attainable", lambda: attainable_by_fisher(np.stack([n, n, x1 + x2], axis=1)))
    timed("step_down", lambda: step_down(p, margins))
    timed("discrete_bh", lambda: discrete_bh(p, margins))
    timed("cmh", lambda: cmh_p(x1, n, x2, n))
    timed("sign_flip", lambda: sign_flip_p_whole(x2 - x1))
    timed("suite_intervals", lambda: (this_suite_interval(x1, n, x2, n), cluster_t_interval(differences(x1, n, x2, n))))
    return {
        **seconds,
        "all_but_imports": round(time.perf_counter() - wall, 4),
        "cpu_all_but_imports": round(time.process_time() - cpu, 4),
    }


def imports() -> None:
    """NumPy and the part of SciPy that is used."""
    import numpy  # noqa: F401
    import scipy.special  # noqa: F401


def plans() -> list[dict[str, Any]]:
    """What the sequential plans come to."""
    from evalkit.stats.acceptance import acceptance_plan
    from evalkit.stats.sprt import sprt_plan, wald_bound
    from evalkit.stats.stopping import characteristics

    rows = []
    for p_good, p_bad in RATES:
        start = time.process_time()
        plan = sprt_plan(p_good, p_bad)
        cpu = time.process_time() - start
        found = characteristics(plan, [1 - p_good, 1 - p_bad])
        rows.append(
            {
                "p_good": p_good,
                "p_bad": p_bad,
                "fixed": acceptance_plan(p_good, p_bad)[0],
                "mean_runs": found.expected_runs.round(1).tolist(),
                "bound": [round(bound, 1) for bound in wald_bound(p_good, p_bad)],
                "errors": [round(float(found.failed[0]), 4), round(float(found.passed[1]), 4)],
                "search_cpu_s": round(cpu, 2),
            }
        )
    return rows


def family(suites: int) -> dict[str, dict[str, float]]:
    """Family-wise error and power per broken case of the ways to correct over cases."""
    import numpy as np

    from evalkit.stats.multiplicity import holm, step_down
    from evalkit.stats.two_sample import fisher_p_many, regression_p_many

    source, cases, runs = np.random.default_rng(7), 100, 10
    wrong: Counter[str] = Counter()
    found: Counter[str] = Counter()
    n = np.full(cases, runs)
    for _ in range(suites):
        kind = source.random(cases)
        stable, shaky = source.beta(200, 1, cases), source.beta(2, 2, cases)
        before = np.where(kind < 0.8, stable, np.where(kind < 0.95, source.beta(18, 2, cases), shaky))
        after = before.copy()
        after[:5] = np.maximum(before[:5] - 0.5, 0.0)
        x1, x2 = source.binomial(runs, before), source.binomial(runs, after)
        fisher, margins = fisher_p_many(x1, n, x2, n), np.stack([n, n, x1 + x2], axis=1)
        for name, adjusted in {
            "E+M, Holm": holm(regression_p_many(x1, n, x2, n)),
            "Fisher, Holm": holm(fisher),
            "Fisher, step-down": step_down(fisher, margins),
            "Fisher, step-down, any dependence": step_down(fisher, margins, dependence="any"),
        }.items():
            wrong[name] += bool((adjusted[5:] <= 0.05).any())
            found[name] += int((adjusted[:5] <= 0.05).sum())
    return {
        name: {"family_error": round(wrong[name] / suites, 4), "power": round(found[name] / suites / 5, 4)}
        for name in found
    }


def paired(comparisons: int) -> list[dict[str, Any]]:
    """How often costs are called different, where nothing changed and where something did."""
    import numpy as np

    from evalkit.stats.paired import paired_change

    def costs(cases: int, runs: int, typical: Any, spread: float) -> Any:
        logs = typical[:, None] + source.normal(0, spread, (cases, runs))
        return np.exp(logs + np.where(source.random((cases, runs)) < 0.02, np.log(7), 0.0))

    source, rows = np.random.default_rng(11), []
    for cases, runs_a, runs_b, change, between, spreads in (
        (1, 10, 10, 0.0, 0.0, (0.4, 0.4)),
        (1, 10, 10, 0.5, 0.0, (0.4, 0.4)),
        (4, 10, 10, 0.0, 0.0, (0.4, 0.4)),
        (4, 10, 10, 0.0, 0.5, (0.4, 0.4)),
        (4, 10, 10, 0.0, 0.0, (0.2, 0.8)),
        (4, 20, 7, 0.0, 0.0, (0.2, 0.8)),
        (4, 10, 10, 0.5, 0.0, (0.4, 0.4)),
        (20, 5, 5, 0.0, 0.0, (0.4, 0.4)),
        (20, 5, 5, 0.0, 0.5, (0.4, 0.4)),
        (20, 5, 5, 0.2, 0.0, (0.4, 0.4)),
        (100, 5, 5, 0.08, 0.0, (0.4, 0.4)),
    ):
        shown = covered = like = 0
        for _ in range(comparisons):
            base, own = source.normal(0, 1, cases), source.normal(0, between, cases)
            moved = base + np.log1p(change) + own - own.mean()  # the cases differ, and on average by `change`
            a, b = costs(cases, runs_a, base, spreads[0]), costs(cases, runs_b, moved, spreads[1])
            found = paired_change(list(a), list(b), source)
            shown += found.p <= 0.05
            covered += found.low <= change <= found.high
            like += found.p_like <= 0.05
        rows.append(
            {
                "cases": cases,
                "runs": [runs_a, runs_b],
                "change": change,
                "change_differs_by": between,
                "spreads": spreads,
                "shown_in_this_suite": shown / comparisons,
                "interval_covers": covered / comparisons,
                "shown_for_cases_like_these": like / comparisons,
            }
        )
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--round"]:
        print(json.dumps(one_round(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
