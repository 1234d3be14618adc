"""How strong the checks of cases are that were made from the corpora by contrast.

For every pair (failing run, passing run) of a task: make the checks, change the passing run in small ways, and count
the harmful changes that a gating check catches and the harmless ones that all let pass. Printed as JSON, by corpus,
with the counts by kind of change.

    python ci/bench/strength.py [CORPORA]        (default: ../shared/corpora beside the repository)
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from corpora import asked_corpora
from judge import CORPORA, Run, load_runs

from evalkit.check.judge import compile_checks
from evalkit.distil.mutate import harmful, harmless
from evalkit.distil.propose import propose
from evalkit.trace.model import Trace


def main() -> None:
    """Prints the scores."""
    root = asked_corpora()
    scores = {}
    everything: Counter[tuple[str, str, bool]] = Counter()
    for name, (pattern, threshold) in CORPORA.items():
        found = count(list(load_runs(sorted(root.glob(pattern)), threshold)))
        everything += found
        scores[name] = summary(found)
    print(json.dumps({**scores, "all": summary(everything)}, indent=2))


def pairs(runs: Sequence[Run]) -> Iterator[tuple[Trace, Trace]]:
    """Every failing run of a task with every passing one."""
    tasks: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        tasks[run.task].append(run)
    for group in tasks.values():
        for failing in (run for run in group if not run.healthy):
            yield from ((failing.trace, passing.trace) for passing in group if passing.healthy)


def count(runs: Sequence[Run]) -> Counter[tuple[str, str, bool]]:
    """How many variants, by harmful or harmless, kind, and whether all gating checks passed."""
    found: Counter[tuple[str, str, bool]] = Counter()
    for incident, healthy in pairs(runs):
        checks = [check for check in propose(incident, passing=[healthy]) if check.gating]
        if not checks:
            continue
        judge = compile_checks(checks)
        sides = [("harmful", one) for one in harmful(healthy, incident)]
        sides += [("harmless", one) for one in harmless(healthy)]
        for side, variant in sides:
            found[side, variant.kind, all(result.passed for result in judge(variant.trace))] += 1
    return found


def summary(found: Counter[tuple[str, str, bool]]) -> dict[str, Any]:
    """The rates, and for each kind how many were judged right of how many."""
    kinds: dict[str, Any] = {}
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for side, kind in sorted({(side, kind) for side, kind, _ in found}):
        passed, failed = found[side, kind, True], found[side, kind, False]
        good = passed if side == "harmless" else failed
        right[side] += good
        total[side] += passed + failed
        kinds[f"{side}: {kind}"] = f"{good} of {passed + failed}"
    return {
        "kill_rate": rate(right["harmful"], total["harmful"]),
        "survival_of_harmless": rate(right["harmless"], total["harmless"]),
        "by_kind": kinds,
    }


def rate(part: int, whole: int) -> float | None:
    """A share, or None of nothing."""
    return round(part / whole, 4) if whole else None


if __name__ == "__main__":
    main()
