"""Checks from the incident alone: what should hold on every healthy run of any agent, and did not hold here."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.check.errors import ignored_errors
from evalkit.check.grounding import ungrounded
from evalkit.check.model import Check
from evalkit.check.outage import is_outage
from evalkit.check.repeated import repeated_writes
from evalkit.trace.model import Json, Trace

__all__ = ["broken_invariants"]


def broken_invariants(incident: Trace) -> Iterator[Check]:
    """Candidates in the order of their weight; each still has to be judged."""
    yield Check("completed", rule="incident:completed", confidence=0.95)
    yield Check("repeated_effect", rule="incident:repeated_effect", confidence=0.9)
    for write in repeated_writes(incident):
        # "not twice" also holds for a run that does nothing; whether the change was due at all, a person must say
        params: dict[str, Json] = {"name": write.name, "min": 1, "max": 1}
        if isinstance(write.input, dict):
            params["arguments"] = write.input
        yield Check("called", params, gating=False, rule="incident:repeated_effect", confidence=0.5)
    yield Check("approved", rule="incident:unapproved_effect", confidence=0.9)
    yield Check("policy_kept", rule="incident:policy_ignored", confidence=0.9)
    yield Check("unknown_retry", rule="incident:unknown_retried", confidence=0.9)
    invented = sorted({step.name for step, _, _ in ungrounded(incident)})
    if invented:
        yield Check("arguments_grounded", {"names": [*invented]}, rule="incident:ungrounded_argument", confidence=0.7)
    ignored = ignored_errors(incident)
    outages = sorted({step.name for step in ignored if step.error is not None and is_outage(step.error)})
    if outages:
        yield Check(
            "no_tool_error", {"names": [*outages], "outages": True}, rule="incident:ignored_outage", confidence=0.8
        )
    failed = sorted({step.name for step in ignored})
    if failed:
        # a refusal is an answer: an agent that tells the user so is right; only a person can say that this one was not
        yield Check("no_tool_error", {"names": [*failed]}, gating=False, rule="incident:ignored_error", confidence=0.5)
