"""How fast `evalkit scan` judges production traces against a library, and what it finds in real ones.

Speed: 100 cases made from failing and healthy runs of the corpora (repeated under other ids where there are fewer), and
the corpora's own runs as the night's traffic, read before the clock starts; judging alone, on one core, and the same
with sanitizing where a case is near. Finding: every task's other failing runs are traffic; those found again, and the
healthy runs that are taken for an incident. Printed as JSON.

    python ci/bench/scan.py [CORPORA]        (default: ../shared/corpora beside the repository)
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from corpora import asked_corpora
from judge import CORPORA, Run, load_runs

from evalkit.check.judge import judge_checks
from evalkit.distil.propose import propose
from evalkit.distil.recurrence import Watched, Watchlist
from evalkit.distil.signature import signature
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Trace

CASES = 100
ROUNDS = 3


def main() -> None:
    """Prints the figures."""
    root = asked_corpora()
    runs = [
        replace(run, task=f"{name} {run.task}")
        for name, (pattern, threshold) in CORPORA.items()
        for run in load_runs(sorted(root.glob(pattern)), threshold)
    ]
    cases = made(runs)
    padded = [replace(cases[at % len(cases)], case_id=f"case-{at:03}") for at in range(CASES)]
    traces = [run.trace for run in runs]
    sanitizer = Sanitizer(Policy(), bytes(32))
    print(
        json.dumps(
            {
                "cases": len(padded),
                "traces": len(traces),
                "traces_a_second": rate(padded, traces, lambda trace: trace),
                "traces_a_second_sanitized_where_near": rate(
                    padded, traces, lambda trace: sanitizer.sanitize([trace])[0].trace
                ),
                "found_again": found(cases, runs),
            },
            indent=2,
        )
    )


def made(runs: Sequence[Run]) -> list[Watched]:
    """A case of each task's first failing run, by contrast with its first healthy one."""
    first: dict[tuple[str, bool], Run] = {}
    for run in runs:
        first.setdefault((run.task, run.healthy), run)
    cases = []
    for (task, healthy), run in first.items():
        passing = first.get((task, True))
        if healthy or passing is None:
            continue
        checks = propose(run.trace, passing=[passing.trace])
        failed = [one for one in judge_checks(checks, run.trace) if one.gating and not one.passed]
        cases.append(Watched.of(task, 1, signature(run.trace, failed), checks, run.trace))
    return cases


def rate(cases: Sequence[Watched], traces: Sequence[Trace], sanitized: Callable[[Trace], Trace]) -> int:
    """Traces a second on one core: the median of some rounds."""
    watchlist = Watchlist(cases)
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for trace in traces:
            watchlist.find(trace, sanitized)
        times.append(time.process_time() - start)
    return round(len(traces) / median(times))


def found(cases: Sequence[Watched], runs: Sequence[Run]) -> dict[str, int]:
    """How many runs of the cases' tasks are found to repeat their own case, and how many another one."""
    watchlist = Watchlist(cases)
    tasks = {case.case_id for case in cases}
    tally = dict.fromkeys(("failing runs", "found", "healthy runs", "taken for the incident", "of other cases"), 0)
    tally["healthy runs of any task that any case takes"] = 0
    for run in runs:
        if run.healthy:
            tally["healthy runs of any task that any case takes"] += bool(watchlist.find(run.trace))
        if run.task not in tasks:
            continue
        ids = {one.case_id for one in watchlist.find(run.trace)}
        tally["healthy runs" if run.healthy else "failing runs"] += 1
        tally["taken for the incident" if run.healthy else "found"] += run.task in ids
        tally["of other cases"] += len(ids - {run.task})
    return tally


if __name__ == "__main__":
    main()
