"""How often the step that people hold for the cause is the first, or among the first three, of `distil.locate`.

Printed as JSON, by corpus: the share of labels that are the first suspect and among the first three (a run with several
labels counts each), beside rules that look at nothing: the last step, the last model answer, the first model answer,
the last change, and a step drawn at random (expected). Of 43 of these logs that two people annotated, they named the
same step in 15.

    python ci/bench/locate.py [CORPORA]        (default: ../shared/corpora beside the repository)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from corpora import asked_corpora
from prune import CORPORA, Labelled

from evalkit.check.writes import effects_of
from evalkit.distil.locate import locate
from evalkit.trace.model import Trace

HUMAN_AGREEMENT = {"same step": "15 of 43", "within two steps": "23 of 43"}
TOP = (1, 3)


def main() -> None:
    """Prints the scores."""
    root = asked_corpora()
    runs = {name: list(load(root)) for name, load in CORPORA.items()}
    everything = [run for found in runs.values() for run in found]
    scores: dict[str, Any] = {name: score(found) for name, found in {**runs, "all": everything}.items()}
    print(json.dumps({**scores, "two people": HUMAN_AGREEMENT}, indent=2))


def score(runs: Sequence[Labelled]) -> dict[str, Any]:
    """The figures of one corpus."""
    labels = sum(len(run.causes) for run in runs)
    found: dict[str, Any] = {"labels": labels}
    for name, order in ORDERS.items():
        ordered = [(run.causes, order(run.trace)) for run in runs]
        found[name] = {
            f"top {top}": round(sum(cause in seqs[:top] for causes, seqs in ordered for cause in causes) / labels, 3)
            for top in TOP
        }
    found["at random"] = {
        f"top {top}": round(sum(len(run.causes) * min(1, top / len(run.trace.steps)) for run in runs) / labels, 3)
        for top in TOP
    }
    return found


def suspects(trace: Trace) -> list[int]:
    """The product."""
    return [suspect.step for suspect in locate(trace)]


def last(trace: Trace) -> list[int]:
    """The steps from the end."""
    return [step.seq for step in reversed(trace.steps)]


def last_answers(trace: Trace) -> list[int]:
    """The model's answers from the end."""
    return [step.seq for step in reversed(trace.steps) if step.kind == "model"]


def first_answers(trace: Trace) -> list[int]:
    """The model's answers from the start."""
    return [step.seq for step in trace.steps if step.kind == "model"]


def last_changes(trace: Trace) -> list[int]:
    """The decisions for the last changes of the world: the model's answer before each."""
    answers = first_answers(trace)
    return [max((seq for seq in answers if seq < step.seq), default=step.seq) for step in reversed(effects_of(trace))]


ORDERS: dict[str, Callable[[Trace], list[int]]] = {
    "evalkit": suspects,
    "the last step": last,
    "the last model answer": last_answers,
    "the first model answer": first_answers,
    "the last change": last_changes,
}


if __name__ == "__main__":
    main()
