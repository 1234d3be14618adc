"""Case libraries for the benchmarks: as many cases of the stub agent as are asked for."""

from __future__ import annotations

import sys
from pathlib import Path

from evalkit.case.model import Case, LifeEvent
from evalkit.case.store import write_case
from evalkit.check.model import Check
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Effect, Json, Step, Trace

__all__ = ["write_library"]

_TOOLS: tuple[tuple[str, Effect, dict[str, Json]], ...] = (
    ("lookup_order", "read", {"status": "delivered"}),
    ("check_policy", "read", {"refundable": True}),
    ("issue_refund", "write", {"ok": True}),
)
_STARTED = 1_790_000_000.0


def write_library(root: Path, count: int) -> None:
    """Writes `count` cases under `root`."""
    sanitizer = Sanitizer(Policy(), bytes(32))
    for number in range(count):
        write_case(_case(number, sanitizer), root)


def _case(number: int, sanitizer: Sanitizer) -> Case:
    steps = tuple(
        Step(
            seq,
            "tool",
            name,
            {"order": str(number)},
            {**output},
            effect=effect,
            effect_source="declared",
            started_at=_STARTED + seq,
            ended_at=_STARTED + seq + 0.2,
        )
        for seq, (name, effect, output) in enumerate(_TOOLS)
    )
    trace = Trace(
        f"run-{number}", "stub", "evalkit", steps, f"refund order {number}", "REFUND_FAIL", started_at=_STARTED
    )
    expected: Json = [{"name": "issue_refund", "arguments": {"order": str(number)}}]
    return Case(
        id=f"case-{number:05d}",
        version=1,
        title=f"order {number} was not refunded",
        trace=sanitizer.sanitize([trace])[0],
        kept=(0, 1, 2),
        checks=(
            Check("output_matches", {"pattern": "^REFUND_OK$"}),
            Check("effects_equal", {"effects": expected}),
            Check("called", {"name": "lookup_order"}),
        ),
        life=(LifeEvent("permanent", "bench", "made for a benchmark", "2026-11-29T00:00:00Z"),),
        target="stub_agent:run",
    )


if __name__ == "__main__":
    write_library(Path(sys.argv[1]), int(sys.argv[2]))
