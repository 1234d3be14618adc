"""Pruning: the steps that the failure came from, and a reason for each of the others.

A backward slice. It starts at the failure and follows three kinds of edges: the value flow (`trace.flow`), the call
structure (the step that a step ran inside of), and decisions (the model answer that asked for a tool call). Kept in
any case, without what they used: the user's turns with the replies that they answer, every policy decision and
approval (the rules that the run stood under), and the writes that failed (what the agent tried to do).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalkit.errors import InputError
from evalkit.trace.flow import OUTPUT, answer_step, flow
from evalkit.trace.model import USER_MESSAGE, Step, Trace

__all__ = ["Slice", "slice_trace"]

_RULES = frozenset({"policy", "approval"})
_DROPPED_BECAUSE = {
    "tool": "its result was not used on the way to the failure",
    "retrieval": "what it found was not used on the way to the failure",
    "model": "it decided no step that was kept, and nothing that it said was used",
    "agent": "no step inside of it was kept",
    "state": "no step that was kept used it",
    "other": "no step that was kept used it",
}


@dataclass(frozen=True, slots=True)
class Slice:
    """What of a trace is kept.

    Attributes:
        kept: step numbers in order.
        dropped: the others, each with the reason in words.
    """

    kept: tuple[int, ...]
    dropped: tuple[tuple[int, str], ...]


def slice_trace(trace: Trace, failures: Sequence[int], *, keep_all: bool = False) -> Slice:
    """Prunes a trace to what led to `failures`.

    Args:
        failures: the steps that show the failure. Empty means the final answer. The step that gave the final answer
            stands for it: what the answer used is kept too.
        keep_all: keep every step.

    Raises:
        InputError: there is no such step.
    """
    steps = {step.seq: step for step in trace.steps}
    unknown = [seq for seq in failures if seq not in steps]
    if unknown:
        raise InputError(f"there is no step {unknown[0]}", f"trace {trace.id}", "evalkit inspect shows the steps")
    if keep_all:
        return Slice(tuple(steps), ())
    failing = set(failures or answer_step(trace))
    kept = _reached(trace, steps, failing)
    last = max(failing, default=-1)
    dropped = tuple((seq, _reason(step, last)) for seq, step in steps.items() if seq not in kept)
    return Slice(tuple(seq for seq in steps if seq in kept), dropped)


def _reached(trace: Trace, steps: dict[int, Step], failing: set[int]) -> set[int]:
    values = flow(trace)
    decisions = _decisions(trace.steps)
    frame = _conversation(trace.steps) | {seq for seq, step in steps.items() if _is_frame(step)}
    waiting = [*frame, *failing]
    if failing & set(answer_step(trace)):
        waiting += values.steps_before(OUTPUT)
    kept: set[int] = set()
    while waiting:
        seq = waiting.pop()
        if seq in kept or seq not in steps:
            continue
        kept.add(seq)
        step = steps[seq]
        if step.parent is not None:
            waiting.append(step.parent)
        if seq in decisions:
            waiting.append(decisions[seq])
        if seq not in frame or seq in failing:
            waiting += values.steps_before(seq)
    return kept


def _is_frame(step: Step) -> bool:
    return step.kind in _RULES or (step.effect == "write" and step.error is not None)


def _conversation(steps: Sequence[Step]) -> set[int]:
    """The user's turns, each with the reply that it answers."""
    found: set[int] = set()
    before: Step | None = None
    for step in steps:
        if step.name == USER_MESSAGE:
            found.add(step.seq)
            if before is not None and before.kind == "model":
                found.add(before.seq)
        before = step
    return found


def _decisions(steps: Iterable[Step]) -> dict[int, int]:
    """For each tool step the model step that asked for it: the last one before it with a call of that tool."""
    asked: dict[str, int] = {}
    found: dict[int, int] = {}
    for step in steps:
        if step.kind == "model" and isinstance(step.output, dict):
            calls = step.output.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                name = call.get("name") if isinstance(call, dict) else None
                if isinstance(name, str):
                    asked[name] = step.seq
        elif step.kind in ("tool", "retrieval") and step.name in asked:
            found[step.seq] = asked[step.name]
    return found


def _reason(step: Step, last: int) -> str:
    if step.seq > last:
        return "it came after the failure"
    return _DROPPED_BECAUSE.get(step.kind, "no step that was kept used it")
