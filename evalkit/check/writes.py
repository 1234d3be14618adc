"""The effects of a run: successful write calls, without those that changed nothing."""

from __future__ import annotations

import re
from hashlib import sha256

from evalkit.canonical import canonical
from evalkit.check.view import agent_calls
from evalkit.errors import InputError
from evalkit.trace.effect import is_handover
from evalkit.trace.model import Step, Trace

__all__ = ["did_write", "effects_of", "ends_in_a_call", "failed_writes", "result_digest", "same_call", "sets_again"]

_SETTING_VERBS = frozenset({"set", "update", "put", "modify", "assign", "rename", "replace", "mark"})
_TELLING_BYTES = 60
"""A shorter result, such as ``{"status": "ok"}``, does not show the state after the call."""
_WORD = re.compile(r"[A-Za-z][a-z]*")


def did_write(step: Step) -> bool:
    """Whether a tool step is a write that came to its end without an error."""
    return step.is_effect and not (step.attributes and step.attributes.get("unfinished"))


def effects_of(trace: Trace, *, handovers: bool = False) -> list[Step]:
    """The agent's successful writes in order.

    A write that sets what the one right before it set counts as none: the same call by a setting verb (``update`` ...)
    with the same result, where the result shows the state and not only that the call was taken.

    Args:
        handovers: whether tools that hand over to a person count.
    """
    found: list[Step] = []
    for step in agent_calls(trace):
        if not did_write(step) or (not handovers and is_handover(step.name)):
            continue
        if not (found and sets_again(found[-1], step)):
            found.append(step)
    return found


def failed_writes(trace: Trace) -> list[Step]:
    """The agent's writes that came back with an error, hand-overs left out."""
    return [
        step
        for step in agent_calls(trace)
        if step.effect == "write" and step.error is not None and not is_handover(step.name)
    ]


def ends_in_a_call(trace: Trace) -> bool:
    """Whether the last thing in a run is a call or its result, so that the agent never said what came of it."""
    last = trace.steps[-1] if trace.steps else None
    if last is None:
        return False
    if last.kind == "model" and isinstance(last.output, dict):
        return bool(last.output.get("tool_calls"))
    return last.kind == "tool" and not is_handover(last.name)


def same_call(left: Step, right: Step) -> bool:
    """Whether two steps are the same tool with the same canonical arguments."""
    if left.name != right.name:
        return False
    try:
        return canonical(left.input) == canonical(right.input)
    except InputError:  # no JSON: not known to be the same
        return False


def result_digest(step: Step) -> str:
    """16 hex digits of a tool step's result, where it shows the state after the call; else empty."""
    try:
        body = canonical(step.output)
    except InputError:
        return ""
    return sha256(body).hexdigest()[:16] if len(body) >= _TELLING_BYTES else ""


def sets_again(before: Step, step: Step) -> bool:
    """Whether a write only sets what the one right before it set (see `effects_of`)."""
    if before.name != step.name or not _is_setting(step.name) or not same_call(before, step):
        return False
    result = result_digest(step)
    return bool(result) and result == result_digest(before)


def _is_setting(name: str) -> bool:
    first = _WORD.search(name.rsplit(".", 1)[-1])
    return first is not None and first[0].lower() in _SETTING_VERBS
