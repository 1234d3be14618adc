"""The loop that every integration must go: record a run, make a case of it, replay it frozen."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import evalkit
from evalkit.capture.recording import as_is
from evalkit.playback.model import Replay
from evalkit.trace.model import Trace

__all__ = ["recorded", "replayed", "shown"]


def recorded(agent: Callable[[Any], Any], given: Any, path: Path) -> Trace:
    """The trace of one run of an agent, values as they are."""
    ticks = count(1_790_000_000)
    with evalkit.record(path, input=given, sanitizer=as_is, clock=lambda: float(next(ticks))) as run:
        run.output = agent(given)
    (trace,) = evalkit.load_traces(path)
    return trace


def replayed(agent: Callable[[Any], Any], trace: Trace) -> Replay:
    """A frozen replay of a case that is made of a trace; a project must be current.

    The case expects another output than the run's, so that there is something to refuse.
    """
    case = evalkit.ingest(trace, expect={"output": {"never": "this"}}, case_id="loop")
    replay = evalkit.replay(case, agent)
    assert replay.misses == ()
    assert replay.trace.error is None, replay.trace.error
    return replay


def shown(trace: Trace) -> list[tuple[Any, ...]]:
    """What tells the steps of a trace: kind, name, input, output, effect, the error's type, parent."""
    return [
        (step.kind, step.name, step.input, step.output, step.effect, step.error and step.error.type, step.parent)
        for step in trace.steps
    ]
