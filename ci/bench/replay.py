"""Microseconds a substituted call: evalkit against Stepfork, in one process, on an agent with six dependency calls.

    python ci/bench/replay.py [--replays N]

Both record the agent once, with real tool bodies, then replay it frozen; every replay is checked to have executed no
body and to have given the recorded output. Measured is the wall time of whole replays, judging left out, divided by
their calls; rounds are interleaved. Needs `pip install stepfork`; without it, evalkit's number is printed alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalkit.capture.recording import as_is, record
from evalkit.capture.tools import tool
from evalkit.case.model import Case, LifeEvent
from evalkit.check.model import Check
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.read import load_traces

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


def agent(lookup: Callable[..., Any]) -> dict[str, Any]:
    """Six calls of one tool, and an answer from what they gave."""
    found = [lookup(f"service-{number}", window_minutes=60) for number in range(CALLS)]
    return {"down": [one["service"] for one in found if one["status"] == "down"]}


def evalkit_replays(folder: Path) -> Callable[[int], None]:
    """A function that does N evalkit replays."""
    lookup = tool(effect="read")(body)
    with record(folder / "run.trace", sanitizer=as_is, input={}) as run:
        run.output = agent(lookup)
    (trace,) = load_traces(folder / "run.trace")
    case = Case(
        id="bench",
        version=1,
        title="bench",
        trace=Sanitizer(Policy(), bytes(32)).sanitize([trace])[0],
        kept=tuple(step.seq for step in trace.steps),
        checks=(Check("called", {"name": "body"}),),
        life=(LifeEvent("proposed", "bench", "bench", "2026-11-29T00:00:00Z"),),
    )
    prepared = prepare(case)
    target = PythonTarget(lambda: agent(lookup))

    def replay(count: int) -> None:
        with prepared.entered(target) as day:
            for sample in range(count):
                done = day.replay(target, sample)
                assert done.counts.substituted == CALLS, done.reason
                assert done.trace.output == trace.output

    return replay


def stepfork_replays(folder: Path) -> Callable[[int], None] | None:
    """A function that does N Stepfork replays; None where it is not installed."""
    try:
        import stepfork
    except ImportError:
        return None
    lookup = stepfork.trace_tool(body)
    bundle = folder / "run.sftrace"
    with stepfork.record("bench", output=bundle):
        output = agent(lookup)
    trace = stepfork.Trace.load(bundle)  # read once, as a case is

    def replay(count: int) -> None:
        for _ in range(count):
            with stepfork.ReplaySession(trace, mode="frozen") as session:
                assert agent(lookup) == output
            session.verify_complete()

    return replay


def timed(replays: Callable[[int], None], count: int) -> float:
    """Microseconds a call, over `count` replays."""
    began = time.perf_counter()
    replays(count)
    return (time.perf_counter() - began) / count / CALLS * 1e6


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replays", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = evalkit_replays(Path(folder)), stepfork_replays(Path(folder))
        recorded = len(BODIES)
        rounds: dict[str, list[float]] = {"evalkit": [], "stepfork": []}
        for _ in range(given.rounds):
            rounds["evalkit"].append(timed(ours, given.replays))
            if theirs is not None:
                rounds["stepfork"].append(timed(theirs, max(given.replays // 10, 5)))
        assert len(BODIES) == recorded, "a tool body ran in a frozen replay"
    found: dict[str, Any] = {
        f"{name}_us_a_call": {"median": round(statistics.median(several), 1), "min": round(min(several), 1)}
        for name, several in rounds.items()
        if several
    }
    if theirs is not None:
        found["times_faster"] = round(statistics.median(rounds["stepfork"]) / statistics.median(rounds["evalkit"]), 1)
    print(json.dumps({"calls_a_replay": CALLS, "rounds": given.rounds, **found}, indent=2))


if __name__ == "__main__":
    main()
