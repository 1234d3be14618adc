"""A replay that is asked for inside of a running event loop: a notebook's, an asynchronous test's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import evalkit
from tests.project import Project
from tests.suite.agents import once


async def waits(order: int) -> dict[str, Any]:
    """An asynchronous agent."""
    await asyncio.sleep(0)
    return once(order)


def starts_a_loop(order: int) -> dict[str, Any]:
    """One that starts a loop itself."""
    return asyncio.run(waits(order))


@pytest.mark.parametrize("agent", [once, waits, starts_a_loop])
def test_the_agent_is_not_blamed_for_the_loop_around_it(project: Project, agent: Callable[..., Any]) -> None:
    """It has one of its own; the one around it goes on."""
    case = evalkit.read_case(project.root / "cases" / project.ingested())

    async def around() -> str:
        status = evalkit.replay(case, agent).status
        await asyncio.sleep(0)
        return status

    assert asyncio.run(around()) == "passed"
