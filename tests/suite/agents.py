"""Agents for the runner's tests; the case's input says what to do."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from evalkit.capture.tools import tool


@tool(effect="read")
def lookup(order: int) -> Any:
    """Answered by the case."""
    raise AssertionError("a tool body ran in a frozen replay")


@tool(effect="write")
def refund(order: int) -> Any:
    """Answered by the case."""
    raise AssertionError("a tool body ran in a frozen replay")


def once(order: int) -> dict[str, Any]:
    """Healthy: one refund."""
    lookup(order)
    return {"done": refund(order)}


def twice(order: int) -> dict[str, Any]:
    """The incident again."""
    lookup(order)
    refund(order)
    return {"done": refund(order)}


def paid_first(order: int) -> dict[str, Any]:
    """Refunds, and then looks."""
    done = refund(order)
    lookup(order)
    return {"done": done}


def stray(order: int) -> dict[str, Any]:
    """Asks for what the case does not hold."""
    return {"done": lookup(order + 1)}


def raises(order: int) -> None:
    """Breaks."""
    raise RuntimeError(f"order {order}")


def dies(order: int) -> dict[str, Any]:
    """Takes its process along, on order 13."""
    if order == 13:
        os._exit(7)
    return once(order)


def sleeps(order: int) -> dict[str, Any]:
    """Never ends."""
    time.sleep(60)
    return {}


def slow(order: int) -> dict[str, Any]:
    """Takes a moment, so that a kill finds it at work."""
    time.sleep(0.03)
    return once(order)


def never_alike(order: int) -> dict[str, Any]:
    """Healthy, and says something else in each replay."""
    return {**once(order), "drawn": random.random()}


def unsteady(order: int) -> dict[str, Any]:
    """The incident again in a quarter of the replays; which, follows from the frozen world's randomness."""
    drawn = random.random()
    return {**(once(order) if drawn < 0.75 else twice(order)), "drawn": drawn}
