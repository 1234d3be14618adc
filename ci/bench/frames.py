"""What a loop of calls takes by the depth at which it runs, with evalkit's room for frames and without, as JSON.

    python ci/bench/frames.py

Python keeps frames in pieces of 16 kB, and maps one anew for every call that goes over the end of the last.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from evalkit.__main__ import with_room_for_frames

CALLS, DEPTHS, TRIES = 20_000, 300, 3


def leaf(value: int) -> int:
    """What is called."""
    return value


def loop() -> float:
    """Seconds of the calls."""
    began = time.perf_counter()
    for at in range(CALLS):
        leaf(at)
    return time.perf_counter() - began


def at_depth(depth: int, function: Callable[[], float]) -> float:
    """`function`, so many calls below this one."""
    return at_depth(depth - 1, function) if depth else function()


def measured() -> dict[str, float]:
    """Microseconds a call at the best and at the worst depth."""
    found = [min(at_depth(depth, loop) for _ in range(TRIES)) / CALLS * 1e6 for depth in range(DEPTHS)]
    return {"best_us": round(min(found), 3), "worst_us": round(max(found), 3)}


def main() -> None:
    """Prints both."""
    without = measured()
    with_room: dict[str, float] = {}
    with_room_for_frames(lambda: with_room.update(measured()))
    print(json.dumps({"without": without, "with_room": with_room}, indent=2))


if __name__ == "__main__":
    main()
