"""Who decided a call, and which calls change the world."""

from __future__ import annotations

import re
from collections.abc import Iterable

from evalkit.distil.replies import calls_of, code_of
from evalkit.trace.effect import is_handover, runs_code
from evalkit.trace.model import Step

__all__ = ["changes", "decisions"]


def decisions(steps: Iterable[Step]) -> dict[int, int]:
    """For each call the model step that asked for it.

    It is the last one before the call with a call of that tool, or with code that names the tool; for a tool that runs
    code, the last one with code.
    """
    asked: dict[str, int] = {}
    found: dict[int, int] = {}
    coder, code = -1, ""
    for step in steps:
        if step.kind == "model":
            for call in calls_of(step):
                name = call.get("name")
                if isinstance(name, str):
                    asked[name] = step.seq
            if written := code_of(step):
                coder, code = step.seq, written
        elif step.kind in ("tool", "retrieval"):
            by_call = asked.get(step.name, -1)
            by_code = coder if runs_code(step.name) or _is_named(step.name, code) else -1
            if max(by_call, by_code) >= 0:
                found[step.seq] = max(by_call, by_code)
    return found


def _is_named(name: str, code: str) -> bool:
    return name in code and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code) is not None


def changes(step: Step) -> bool:
    """Whether a call changes the world, or hands over to somebody else; failed ones too."""
    if step.kind != "tool":
        return False
    if step.effect_source in ("declared", "configured"):
        return step.effect == "write"
    return is_handover(step.name) or (step.effect == "write" and not runs_code(step.name))
