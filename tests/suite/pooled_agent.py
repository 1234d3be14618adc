"""An agent whose module has a pool of processes at hand, which begin when it is first given work."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from tests.suite import agents

POOL = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))


def computes(order: int) -> dict[str, Any]:
    """Healthy: one refund, and some work for the pool."""
    assert POOL.submit(abs, -order).result() == order
    return agents.once(order)
