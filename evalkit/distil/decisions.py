"""Who decided a call, and which calls change the world."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit.distil.replies import calls_of
from evalkit.trace.effect import is_handover, runs_code
from evalkit.trace.model import Step

__all__ = ["changes", "decisions"]


def decisions(steps: Iterable[Step]) -> dict[int, int]:
    """For each call the model step that asked for it: the last one before it with a call of that tool."""
    asked: dict[str, int] = {}
    found: dict[int, int] = {}
    for step in steps:
        if step.kind == "model":
            for call in calls_of(step):
                name = call.get("name")
                if isinstance(name, str):
                    asked[name] = step.seq
        elif step.kind in ("tool", "retrieval") and step.name in asked:
            found[step.seq] = asked[step.name]
    return found


def changes(step: Step) -> bool:
    """Whether a call changes the world, or hands over to somebody else; failed ones too."""
    if step.kind != "tool":
        return False
    if step.effect_source in ("declared", "configured"):
        return step.effect == "write"
    return is_handover(step.name) or (step.effect == "write" and not runs_code(step.name))
