"""How much of a trace pruning keeps, and whether it keeps the step that people hold for the cause.

Every failing run of three labelled corpora is pruned as `evalkit ingest` prunes it, with nothing but the trace. Printed
as JSON, by corpus and for all runs together: labels, the share kept (recall), the median share of steps dropped, the
median share of tokens kept. Beside it, the same for two simple rules, the last steps of a run and the failed steps with
what is nearest to them: their recall at the slice's own size run by run, and by the share of steps that they keep.

The labels are read here, from the corpus files themselves, and only to score.

    python ci/bench/prune.py [CORPORA]        (default: ../shared/corpora beside the repository)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import orjson
from corpora import asked_corpora

from evalkit.distil.slice import slice_trace
from evalkit.trace.model import Step, Trace
from evalkit.trace.read import load_traces

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True)
class Labelled:
    """One failing run with the steps that a person named."""

    trace: Trace
    causes: tuple[int, ...]


def main() -> None:
    """Prints the scores."""
    root = asked_corpora()
    runs = {name: list(load(root)) for name, load in CORPORA.items()}
    everything = [run for found in runs.values() for run in found]
    print(json.dumps({name: score(found) for name, found in {**runs, "all": everything}.items()}, indent=2))


def agentrx(root: Path) -> Iterator[Labelled]:
    """AgentRx retail: the root cause's message, counted from 1 with the system prompt."""
    file = root / "agentrx" / "tau_dataset_failed.json"
    truth = {one["trajectory_id"]: one for one in json.loads((root / "agentrx" / "tau_ground_truth.json").read_bytes())}
    for run, trace in zip(json.loads(file.read_bytes()), load_traces(file), strict=True):
        label = truth.get(run["task_id"])
        if label is None:
            continue
        root_cause = label["root_cause"]["failure_id"]
        at = next(int(one["step_number"]) - 1 for one in label["failures"] if one["failure_id"] == root_cause)
        yield Labelled(trace, (step_of_message(run["traj"], at, trace),))


def step_of_message(messages: Sequence[dict[str, Any]], at: int, trace: Trace) -> int:
    """The step of a message: the nth of its role is the nth step of the kind."""
    role = str(messages[at]["role"])
    before: int = sum(message["role"] == role for message in messages[:at])
    return [step.seq for step in trace.steps if role_of(step) == role][before]


def role_of(step: Step) -> str:
    """The role of the message that a step stands for."""
    return {"model": "assistant", "tool": "tool"}.get(step.kind, "user")


def who_and_when(root: Path) -> Iterator[Labelled]:
    """Who&When: the decisive message, counted from 0; a message is a step."""
    for file in sorted((root / "who-and-when").glob("*.json")):
        label = json.loads(file.read_bytes())
        (trace,) = load_traces(file)
        yield Labelled(trace, (int(label["mistake_step"]),))


def trail(root: Path) -> Iterator[Labelled]:
    """TRAIL: the spans of the errors whose impact is HIGH."""
    for file in sorted((root / "trail" / "annotations").glob("*.json")):
        source = next(found for found in (root / "trail").glob(f"*/{file.name}") if found.parent != file.parent)
        (trace,) = load_traces(source)
        spans = {step.attributes.get("span_id"): step.seq for step in trace.steps}
        errors = [one for one in json.loads(file.read_bytes())["errors"] if one["impact"] == "HIGH"]
        yield Labelled(trace, tuple(spans[one["location"]] for one in errors if one["location"] in spans))


CORPORA: dict[str, Callable[[Path], Iterator[Labelled]]] = {
    "AgentRx retail, root cause": agentrx,
    "Who&When, decisive step": who_and_when,
    "TRAIL, spans of high impact": trail,
}


def score(runs: Sequence[Labelled]) -> dict[str, Any]:
    """The figures of one corpus."""
    kept = [set(slice_trace(run.trace, ()).kept) for run in runs]
    labels = sum(len(run.causes) for run in runs)
    found = sum(hits(run, steps) for run, steps in zip(runs, kept, strict=True))
    dropped = [1 - len(steps) / len(run.trace.steps) for run, steps in zip(runs, kept, strict=True)]
    told = [tokens(run.trace, steps) / tokens(run.trace) for run, steps in zip(runs, kept, strict=True)]
    return {
        "runs": len(runs),
        "labels": labels,
        "recall": round(found / labels, 4),
        "lost": labels - found,
        "median_share_of_steps_dropped": round(median(dropped), 3),
        "median_share_of_tokens_kept": round(median(told), 3),
        "recall_at_the_same_size": {
            name: round(
                sum(hits(run, order(run.trace)[: len(steps)]) for run, steps in zip(runs, kept, strict=True)) / labels,
                3,
            )
            for name, order in SIMPLE.items()
        },
        "recall_by_share_kept": {
            name: {
                str(share): round(
                    sum(hits(run, order(run.trace)[: round(share * len(run.trace.steps))]) for run in runs) / labels, 3
                )
                for share in SHARES
            }
            for name, order in SIMPLE.items()
        },
    }


def hits(run: Labelled, kept: Iterable[int]) -> int:
    """How many of a run's labels are among some steps."""
    steps = set(kept)
    return sum(cause in steps for cause in run.causes)


def last_first(trace: Trace) -> list[int]:
    """The steps from the end."""
    return [step.seq for step in reversed(trace.steps)]


def errors_first(trace: Trace) -> list[int]:
    """Failed steps, then by distance to the next one of them."""
    failed = [step.seq for step in trace.steps if step.error is not None] or [trace.steps[-1].seq]
    return sorted((step.seq for step in trace.steps), key=lambda seq: (min(abs(seq - at) for at in failed), -seq))


SIMPLE: dict[str, Callable[[Trace], list[int]]] = {"keep the last": last_first, "keep the errors": errors_first}


def tokens(trace: Trace, kept: set[int] | None = None) -> float:
    """About how many tokens the steps' own content has: what a model is told again in each call counts once."""
    return sum(
        len(orjson.dumps([None if step.kind == "model" else step.input, step.output])) / CHARACTERS_A_TOKEN
        for step in trace.steps
        if kept is None or step.seq in kept
    )


if __name__ == "__main__":
    main()
