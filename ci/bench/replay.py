"""Microseconds a substituted call: tool calls and model calls, by evalkit, Stepfork, vcrpy and bare stubs, in one run.

    python ci/bench/replay.py [--replays N] [--rounds N]

Measured is the CPU time of whole replays with six calls each, divided by their calls; rounds are interleaved, so that a
loaded machine is loaded for all. ``evalkit, a further call`` leaves the fixed cost of a replay out (world, seeds,
trace): it is what five more calls cost. No body may run and no model be asked in a replay. The peers are installed by
``pip install stepfork vcrpy``; which of them is absent is said.
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

from replay_models import ASKED, model_replays
from replay_tools import BODIES, CALLS, Replays, tool_replays


def timed(replays: Callable[[int], None], count: int) -> float:
    """CPU microseconds a replay, over `count` replays."""
    began = time.process_time()
    replays(count)
    return (time.process_time() - began) / count * 1e6


def measured(ways: dict[str, Replays], count: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds a replay of each way, round by round; slow peers do fewer."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, replays in ways.items():
            slow = name.startswith(("stepfork", "vcrpy"))
            found[name].append(timed(replays, max(count // 10, 5) if slow else count))
    return {name: several[1:] for name, several in found.items()}  # the first round warms up


def shown(several: list[float]) -> dict[str, float]:
    """Median and least."""
    return {"median": round(statistics.median(several), 1), "min": round(min(several), 1)}


def times(slow: list[float], fast: list[float]) -> float:
    """How many times slower, by the medians of rounds side by side."""
    return round(statistics.median([one / other for one, other in zip(slow, fast, strict=True)]), 2)


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replays", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=CALLS, help="tool calls a replay")
    parser.add_argument("--tools-only", action="store_true", help="leave out the model calls")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = tool_replays(Path(folder), given.calls)
        models = {} if given.tools_only else model_replays(Path(folder))
        recorded = len(BODIES)
        tool = measured(tools, given.replays, given.rounds)
        assert len(BODIES) == recorded, "a tool body ran in a frozen replay"
        without = {name: replays for name, replays in models.items() if name != "sdk alone"}
        asked = len(ASKED)
        for replays in without.values():
            replays(2)
        assert len(ASKED) == asked, "the model was asked in a replay"
        model = measured(models, max(given.replays // 10, 5), given.rounds)
    found: dict[str, Any] = {"tool_calls_a_replay": given.calls, "model_calls_a_replay": CALLS, "rounds": given.rounds}
    once_of = {name: tool.pop(f"{name}, one call") for name in ("evalkit", "stepfork") if name in tool}
    further = {
        name: [(whole - one) / (given.calls - 1) for whole, one in zip(tool[name], once, strict=True)]
        for name, once in once_of.items()
    }
    found["tool_us"] = {name: shown([one / given.calls for one in each]) for name, each in tool.items()}
    found["tool_us"].update({f"{name}, a further call": shown(each) for name, each in further.items()})
    found["model_us"] = {name: shown([one / CALLS for one in each]) for name, each in model.items()}
    if "stepfork" in tool:
        found["tool_times_faster_than_stepfork"] = {
            "a call": times(tool["stepfork"], tool["evalkit"]),
            "a further call": times(further["stepfork"], further["evalkit"]),
        }
    if model:
        found["model_times_the_sdk_alone"] = {
            name: times(each, model["sdk alone"]) for name, each in model.items() if name != "sdk alone"
        }
    looked_for = ("stepfork",) if given.tools_only else ("stepfork", "vcrpy")
    found["absent"] = [name for name in looked_for if name not in {**tool, **model}]
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
