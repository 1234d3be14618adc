"""Tools that answer otherwise than they were recorded, by what a test puts into `ANSWERS`."""

from __future__ import annotations

import time
from typing import Any

import evalkit

ANSWERS: dict[str, Any] = {}
CALLS: list[tuple[str, Any]] = []


@evalkit.tool(effect="read")
def lookup(order: int) -> Any:
    """Gives, raises or waits as a test says."""
    CALLS.append(("lookup", order))
    answer = ANSWERS["lookup"]
    if isinstance(answer, Exception):
        raise answer
    if callable(answer):
        return answer()
    return answer


@evalkit.tool(effect="write")
def refund(order: int) -> Any:
    """Must never run."""
    CALLS.append(("refund", order))


async def undeclared(order: int) -> Any:
    """A function of no mark."""
    CALLS.append(("undeclared", order))
    return ANSWERS["lookup"]


def other(number: int) -> Any:
    """Takes another argument."""
    return number


def waits() -> None:
    """Longer than anybody does."""
    time.sleep(5)


def run(order: int) -> Any:
    """The agent."""
    return lookup(order)
