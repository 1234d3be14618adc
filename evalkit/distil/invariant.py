"""Checks from the incident alone: what should hold on every healthy run of any agent, and did not hold here."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.check.errors import ignored_errors
from evalkit.check.grounding import ungrounded
from evalkit.check.model import Check
from evalkit.trace.model import Trace

__all__ = ["broken_invariants"]


def broken_invariants(incident: Trace) -> Iterator[Check]:
    """Candidates in the order of their weight; each still has to be judged."""
    yield Check("completed", rule="incident:completed", confidence=0.95)
    yield Check("repeated_effect", rule="incident:repeated_effect", confidence=0.9)
    invented = sorted({step.name for step, _, _ in ungrounded(incident)})
    if invented:
        yield Check("arguments_grounded", {"names": [*invented]}, rule="incident:ungrounded_argument", confidence=0.7)
    failed = sorted({step.name for step in ignored_errors(incident)})
    if failed:
        yield Check("no_tool_error", {"names": [*failed]}, rule="incident:ignored_error", confidence=0.6)
