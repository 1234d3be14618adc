"""The benchmarks' agent: three frozen tool calls and an answer, deterministic per case.

It does what the peers' stub does (see ci/bench/run.py): looks an order up, checks the policy, refunds; every tenth case
or so answers wrongly.
"""

from __future__ import annotations

import os
import time
import zlib

from evalkit import tool

__all__ = ["run"]

_LATENCY_S = float(os.environ.get("BENCH_LAT", "0"))
"""What the peers' stub waits for its model, a sample."""


@tool(effect="read")
def lookup_order(order: str) -> dict[str, object]:
    """Never executed in a replay."""
    raise AssertionError("a tool body ran in a frozen replay")


@tool(effect="read")
def check_policy(order: str) -> dict[str, object]:
    """Never executed in a replay."""
    raise AssertionError("a tool body ran in a frozen replay")


@tool(effect="write")
def issue_refund(order: str) -> dict[str, object]:
    """Never executed in a replay."""
    raise AssertionError("a tool body ran in a frozen replay")


def run(message: str) -> str:
    """Answers ``refund order <n>``."""
    if _LATENCY_S:
        time.sleep(_LATENCY_S)
    order = message.rsplit(" ", 1)[-1]
    lookup_order(order)
    check_policy(order)
    issue_refund(order)
    return "REFUND_OK" if zlib.crc32(message.encode()) % 10 else "REFUND_FAIL"
