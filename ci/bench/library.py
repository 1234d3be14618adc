"""Case libraries for the benchmarks: as many cases of the stub agent as are asked for.

Usage: python ci/bench/library.py FOLDER COUNT [people]

With `people`, each case is about a customer of its own with name, address, phone number and e-mail address, so that its
record tells of some ten surrogates.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
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


def write_library(root: Path, count: int, *, people: bool = False) -> None:
    """Writes `count` cases under `root`."""
    sanitizer = Sanitizer(Policy(), bytes(32))
    for number in range(count):
        case = _case(number, sanitizer)
        if people:
            own = sanitizer.fresh()
            own.value(_customer(number))
            case = replace(case, trace=case.trace.knowing(own.surrogates))
        write_case(case, root)


def _customer(number: int) -> dict[str, Json]:
    rng = random.Random(number)
    given, family = ("".join(rng.choices("abdefgiklmnorstu", k=7)).title() for _ in range(2))
    return {
        "first_name": given,
        "last_name": family,
        "email": f"{given}.{family}@posteo.de".lower(),
        "phone": f"+1 415 {rng.randrange(200, 999)} {rng.randrange(10_000):04}",
        "address1": f"{rng.randrange(1, 999)} {family} Lane",
        "zip": f"{rng.randrange(10_000, 99_999)}",
        "dob": f"{rng.randrange(1930, 2005)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 28):02}",
        "user_id": f"{given}_{family}_{rng.randrange(1000, 9999)}".lower(),
        "payment_id": f"credit_card_{rng.randrange(10**6, 10**7)}",
    }


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
    write_library(Path(sys.argv[1]), int(sys.argv[2]), people="people" in sys.argv[3:])
