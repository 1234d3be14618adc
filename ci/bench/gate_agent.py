"""The gate simulation's agent: it passes as often as its case's input says, by the replay's own seeded randomness."""

from __future__ import annotations

import random

from evalkit import tool

__all__ = ["run"]


@tool(effect="write")
def refund(order: int) -> dict[str, object]:
    """Never executed in a replay."""
    raise AssertionError("a tool body ran in a frozen replay")


def run(order: int, rate: float) -> float:
    """Refunds once with probability `rate`, else twice; it answers what it drew, so that no two replays are equal."""
    drawn = random.random()
    refund(order)
    if drawn >= rate:
        refund(order)
    return drawn
