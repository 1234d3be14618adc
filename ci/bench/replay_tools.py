"""Substituted tool calls: an agent with some of them, replayed by evalkit, by Stepfork, and over a bare stub.

Used by ``replay.py``. Each way is a function that does N replays; what is recorded is recorded once, with real bodies,
and every replay is checked to have given the recorded output.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from evalkit.capture.recording import as_is, record
from evalkit.capture.tools import tool
from evalkit.case.model import Case, LifeEvent
from evalkit.check.model import Check
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

__all__ = ["BODIES", "CALLS", "Replays", "case_of", "tool_replays"]

Replays = Callable[[int], None]
CALLS = 6
BODIES: list[str] = []

EVIDENCE = {
    "status": "down",
    "availability": 0.61,
    "error_rate": 0.72,
    "customer_facing": True,
    "notes": "POST /checkout returns HTTP 500 for most customers",
    "deployments": [{"sha": "a1b2c3d4", "minutes_ago": 42, "version": "checkout-2026.10.10-3"}],
}


def body(service: str, window_minutes: int = 60) -> dict[str, Any]:
    """What the tool really does; counted, because a frozen replay must not come here."""
    BODIES.append(service)
    return {**EVIDENCE, "service": service, "window_minutes": window_minutes}


def agent(lookup: Callable[..., Any], calls: int) -> dict[str, Any]:
    """Calls of one tool, and an answer from what they gave."""
    found = [lookup(f"service-{number}", window_minutes=60) for number in range(calls)]
    return {"down": [one["service"] for one in found if one["status"] == "down"]}


def tool_replays(folder: Path, calls: int) -> dict[str, Replays]:
    """Each way of replaying so many calls, and one; Stepfork only where it is installed."""
    ways = {"evalkit": _evalkit(folder, calls), "evalkit, one call": _evalkit(folder, 1), "bare stub": _stub(calls)}
    stepfork, once = _stepfork(folder, calls), _stepfork(folder, 1)
    return ways if stepfork is None or once is None else {**ways, "stepfork": stepfork, "stepfork, one call": once}


def case_of(path: Path, check: Check) -> tuple[Case, Trace]:
    """A case of a recorded trace, with one check, and the trace."""
    (trace,) = load_traces(path)
    case = Case(
        id="bench",
        version=1,
        title="bench",
        trace=Sanitizer(Policy(), bytes(32)).sanitize([trace])[0],
        kept=tuple(step.seq for step in trace.steps),
        checks=(check,),
        life=(LifeEvent("proposed", "bench", "bench", "2026-11-29T00:00:00Z"),),
    )
    return case, trace


def _evalkit(folder: Path, calls: int) -> Replays:
    lookup = tool(effect="read")(body)
    path = folder / f"tools-{calls}.trace"
    return frozen_replays(path, lambda: agent(lookup, calls), Check("called", {"name": "body"}), calls)


def frozen_replays(path: Path, run_agent: Callable[[], Any], check: Check, calls: int) -> Replays:
    """Records an agent that makes so many calls; the function that does N replays of that, nothing of it real."""
    with record(path, sanitizer=as_is, input={}) as run:
        run.output = run_agent()
    case, trace = case_of(path, check)
    prepared = prepare(case)
    target = PythonTarget(run_agent)

    def replay(count: int) -> None:
        with prepared.entered(target) as day:
            for sample in range(count):
                done = day.replay(target, sample)
                assert done.counts.substituted == calls, done.reason
                assert done.kept.trace.output == trace.output

    return replay


def _stub(calls: int) -> Replays:
    """What a test that mocks by hand does: a dictionary of answers, a copy of each."""
    answers = {
        f"service-{number}": orjson.dumps({**EVIDENCE, "service": f"service-{number}", "window_minutes": 60})
        for number in range(calls)
    }

    def lookup(service: str, window_minutes: int = 60) -> Any:
        return orjson.loads(answers[service])

    def replay(count: int) -> None:
        for _ in range(count):
            assert len(agent(lookup, calls)["down"]) == calls

    return replay


def _stepfork(folder: Path, calls: int) -> Replays | None:
    try:
        import stepfork
    except ImportError:
        return None
    lookup = stepfork.trace_tool(body)
    bundle = folder / f"tools-{calls}.sftrace"
    with stepfork.record("bench", output=bundle):
        output = agent(lookup, calls)
    trace = stepfork.Trace.load(bundle)  # read once, as a case is

    def replay(count: int) -> None:
        for _ in range(count):
            with stepfork.ReplaySession(trace, mode="frozen") as session:
                assert agent(lookup, calls) == output
            session.verify_complete()

    return replay
