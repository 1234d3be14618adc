"""How long a suite's history and its trend take: read, append, and look for changes of every case; prints JSON.

Usage: python ci/bench/nights.py [CASES ...]

Sixty nights of twenty samples a case. One case in twenty passes nine times of ten, the others nearly always; one in
fifty falls by thirty points in the middle. Times are CPU seconds, the least of three; found and falsely found are cases
for which the trend names a night.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.verdict.history import Night, append_night, read_history
from evalkit.verdict.trend import trend_of

_NIGHTS, _SAMPLES, _ROUNDS = 60, 20, 3


def nights(cases: int) -> list[Night]:
    """The history."""
    rng = np.random.default_rng(1)
    rates = np.where(np.arange(cases) < cases // 20, 0.9, 0.999)
    made = []
    for at in range(_NIGHTS):
        tonight = rates.copy()
        tonight[: cases // 50] -= 0.3 * (at >= _NIGHTS // 2)
        passed = rng.binomial(_SAMPLES, tonight).tolist()
        counts = {f"case-{number:05d}": (x, _SAMPLES) for number, x in enumerate(passed)}
        day = f"2026-{1 + at // 28:02d}-{1 + at % 28:02d}T04:00:00Z"
        made.append(Night(f"run-{at}", day, sum(passed), _SAMPLES * cases, 0.0, counts))
    return made


def cpu(work: Callable[[], Any]) -> float:
    """The least CPU seconds of some rounds."""
    times = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return round(min(times), 3)


def measured(cases: int, path: Path) -> dict[str, Any]:
    """One size."""
    for night in nights(cases):
        append_night(path, night)
    history = read_history(path)
    more = iter(range(100))
    trend = trend_of(history)
    found = {int(shift.case_id.removeprefix("case-")) for shift in trend.cases}
    fell = set(range(cases // 50))
    return {
        "cases": cases,
        "megabytes": round(path.stat().st_size / 1e6, 2),
        "read_s": cpu(lambda: read_history(path)),
        "append_s": cpu(lambda: append_night(path, replace(history[-1], run_id=f"more-{next(more)}"))),
        "trend_s": cpu(lambda: trend_of(history)),
        "fell": len(fell),
        "found": len(found & fell),
        "falsely_found": len(found - fell),
    }


if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[1:]] or [100, 1_000]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps([measured(size, Path(folder) / f"{size}.history.jsonl") for size in sizes], indent=2))
