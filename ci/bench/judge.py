"""How well a case, made from a failing and a healthy run, judges the other runs of the same task.

For every pair (failing run, passing run) of a task: propose checks from the two; if none of them gates, the case is
refused; else judge all other runs of the task. A run is called healthy when every gating check holds. Printed as JSON,
by corpus, pooled over all judgements, beside plain equality of successful writes (hand-over tools left out).

The rewards are read here, from the corpus file itself, and only to score.

    python ci/bench/judge.py [CORPORA]        (default: ../shared/corpora beside the repository)
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from evalkit.canonical import canonical
from evalkit.check.judge import compile_checks, judge_checks
from evalkit.check.writes import did_write, effects_of
from evalkit.distil.analogy import effects_by_analogy
from evalkit.distil.invariant import broken_invariants
from evalkit.distil.other_records import Asked, other_records
from evalkit.distil.propose import propose
from evalkit.trace.effect import is_handover
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

CORPORA = {
    "tau-bench airline": ("tau-bench/*airline*.json", 0.999),
    "tau2-bench airline": ("tau2-bench/*airline*.json", 0.999),
    "tau-bench retail": ("tau-bench/*retail*.json", 1e-9),  # fractional rewards: above zero is a pass
    "tau2-bench retail": ("tau2-bench/*retail*.json", 0.999),
    "tau2-bench telecom": ("tau2-bench/*telecom*.json", 0.999),
}

_NUMBER = re.compile(r"\d{4,}")
_OTHER_DIGITS = str.maketrans("0123456789", "3456789012")
_COMPARED = 40
"""Runs that those of other tasks are compared with."""

Judge: TypeAlias = Callable[[Trace], bool]


@dataclass(frozen=True)
class Run:
    """One run with its label."""

    task: str
    healthy: bool
    trace: Trace


def main() -> None:
    """Prints the scores."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "corpora"
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not root.is_dir():
        sys.exit(f"no corpora at {root}")
    scores = {}
    for name, (pattern, threshold) in CORPORA.items():
        runs = list(load_runs(sorted(root.glob(pattern)), threshold))
        scores[name] = {
            "runs": len(runs),
            "evalkit": score(runs, by_checks),
            "plain equality": score(runs, by_equality),
            "plain equality, refusing none": score(runs, by_equality_always),
            "broken from the run alone": broken(runs),
            "taken for other records": others(runs),
            "changes by analogy": analogy(runs),
        }
    print(json.dumps(scores, indent=2))


def others(runs: Sequence[Run]) -> dict[str, Any]:
    """How many pairs of runs are taken to be about different records: of the same task none is; tasks share some."""
    compared = runs[:_COMPARED]
    pairs = [(one, run) for one in runs for run in runs if one.task == run.task and one is not run]
    pairs += [(one, run) for one in runs for run in compared if one.task != run.task]
    of: dict[str, Counter[bool]] = {"same task": Counter(), "different tasks": Counter()}
    for one, run in pairs:
        told = "same task" if one.task == run.task else "different tasks"
        of[told][bool(other_records(Asked(one.trace), Asked(run.trace)))] += 1
    return {told: {"pairs": found.total(), "taken": found[True]} for told, found in of.items()}


def analogy(runs: Sequence[Run]) -> dict[str, int]:
    """Whether a healthy run's changes are found again from a copy of it with other numbers in all identifiers."""
    found: Counter[str] = Counter(runs=0, right=0, wrong=0, none=0)
    for run in (one.trace for one in runs if one.healthy):
        due = [canonical({"name": step.name, "arguments": step.input}) for step in effects_of(run)]
        if not due:
            continue
        steps = tuple(replace(one, input=renumbered(one.input), output=renumbered(one.output)) for one in run.steps)
        brought = effects_by_analogy(run, replace(run, input=renumbered(run.input), steps=steps))
        found["runs"] += 1
        found["none" if brought is None else "right" if [*map(canonical, brought)] == due else "wrong"] += 1
    return dict(found)


def renumbered(value: Any) -> Any:
    """A value with other digits wherever four or more stand together."""
    if isinstance(value, str):
        return _NUMBER.sub(lambda match: match[0].translate(_OTHER_DIGITS), value)
    if isinstance(value, dict):
        return {renumbered(key): renumbered(item) for key, item in value.items()}
    return [renumbered(item) for item in value] if isinstance(value, list) else value


def load_runs(files: Sequence[Path], threshold: float) -> Iterator[Run]:
    """The runs of some files in order, labelled."""
    for file in files:
        document = json.loads(file.read_text("utf-8"))
        labels = document if isinstance(document, list) else document["simulations"]
        for label, trace in zip(labels, load_traces(file), strict=True):
            yield Run(str(label["task_id"]), reward(label) >= threshold, trace)


def reward(label: dict[str, Any]) -> float:
    """The benchmark's verdict on one run; a run without one counts as failed."""
    if "reward" in label:
        return float(label["reward"])
    return float((label.get("reward_info") or {}).get("reward") or 0)


def score(runs: Sequence[Run], make: Callable[[Trace, Trace], Judge | None]) -> dict[str, Any]:
    """Pairs, cases made and refused, and how well the cases judge."""
    tasks: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        tasks[run.task].append(run)
    found: Counter[str] = Counter()
    for group in tasks.values():
        for failing in (run for run in group if not run.healthy):
            for passing in (run for run in group if run.healthy):
                found["pairs"] += 1
                judge = make(failing.trace, passing.trace)
                found["refused"] += judge is None
                if judge is not None:
                    others = [run for run in group if run is not failing and run is not passing]
                    found.update(f"{run.healthy} called {judge(run.trace)}" for run in others)
    return summary(found)


def summary(found: Counter[str]) -> dict[str, Any]:
    """The counts with balanced accuracy: the mean of the shares of healthy and of failing runs judged right."""
    spared, blamed = found["True called True"], found["True called False"]
    caught, missed = found["False called False"], found["False called True"]
    both = spared + blamed and caught + missed
    accuracy = (spared / (spared + blamed) + caught / (caught + missed)) / 2 if both else None
    return {
        "pairs": found["pairs"],
        "cases": found["pairs"] - found["refused"],
        "refused": found["refused"],
        "balanced_accuracy": None if accuracy is None else round(accuracy, 4),
        "healthy": {"spared": spared, "blamed": blamed},
        "failing": {"caught": caught, "missed": missed},
    }


def broken(runs: Sequence[Run]) -> dict[str, Any]:
    """How many healthy and failing runs break each check that is proposed from an incident alone."""
    found: dict[str, Counter[bool]] = defaultdict(Counter)
    for run in runs:
        for result in judge_checks([*broken_invariants(run.trace)], run.trace):
            if result.gating and not result.passed:
                found[result.check.rule][run.healthy] += 1
    healthy = sum(run.healthy for run in runs)
    return {
        "healthy": healthy,
        "failing": len(runs) - healthy,
        "by_rule": {rule: {"healthy": count[True], "failing": count[False]} for rule, count in sorted(found.items())},
    }


def by_checks(failing: Trace, passing: Trace) -> Judge | None:
    """The product: gating checks proposed from both runs."""
    checks = [check for check in propose(failing, passing=[passing]) if check.gating]
    if not checks:
        return None
    judge = compile_checks(checks)
    return lambda trace: all(result.passed for result in judge(trace))


def by_equality(failing: Trace, passing: Trace) -> Judge | None:
    """The baseline: the same multiset of successful writes as the passing run; refused where the pair has the same."""
    return None if writes(failing) == writes(passing) else by_equality_always(failing, passing)


def by_equality_always(failing: Trace, passing: Trace) -> Judge:
    """The baseline without refusals: over the same judgements as a product that refuses none."""
    wanted = writes(passing)
    return lambda trace: writes(trace) == wanted


def writes(trace: Trace) -> Counter[tuple[str, bytes]]:
    """Successful writes without hand-overs and without the user's own calls."""
    return Counter(
        (step.name, canonical(step.input))
        for step in trace.steps
        if did_write(step) and not is_handover(step.name) and step.attributes.get("requestor") != "user"
    )


if __name__ == "__main__":
    main()
