"""Outages of a live model's endpoint, told from what an agent did."""

from __future__ import annotations

from evalkit.capture.exchange import failure_of
from evalkit.playback.faults import FAULT
from evalkit.trace.model import Trace

__all__ = ["infrastructure_fault"]

_INFRASTRUCTURE = frozenset(
    "RateLimitError InternalServerError ServiceUnavailableError OverloadedError UnreadableAnswer".split()
)


def infrastructure_fault(trace: Trace, *, strict: bool) -> str:
    """Why the live model could not be reached in the end; empty when its last call was answered.

    A run whose last model call met an outage says nothing about the agent, whether it raised or made an excuse. An
    outage that was declared as a fault does.

    Args:
        strict: any refusal of the endpoint is meant (what it was asked is not the agent's own).
    """
    last = next((step for step in reversed(trace.steps) if step.kind == "model"), None)
    if last is None or last.error is None or FAULT in last.attributes:
        return ""
    status = last.attributes.get("status")
    refused = isinstance(status, int) and (status == 429 or status >= (400 if strict else 500))
    if failure_of(last.error.type) or last.error.type in _INFRASTRUCTURE or refused:
        return f"the model endpoint failed: {last.error.type}: {last.error.message}"
    return ""
