"""Pruning: the steps that the failure came from, and a reason for each of the others.

A backward slice over the value flow (`trace.flow`), the decisions (the model answer that asked for a call) and the
sub-agents that steps ran inside of. It starts at the failure; where nobody has said what failed, at everything that
could be it: each change of the world, each statement, the first call that failed.

Kept in any case: the user's turns with the statements that they answer, every policy decision and approval, and the
writes that failed. A model's answer that only asks for a look-up is no decision to keep: the look-up says it all. Code
says more than its calls, and a call of which there is no step is said nowhere else: these are kept. What a statement
says stands in it, so that what it was read from is kept only where the statement is the failure; and where everything
is suspect, a look-up's arguments stand for the look-ups that they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from evalkit.distil.decisions import changes, decisions
from evalkit.distil.replies import calls_of, code_of, last_word, statements
from evalkit.errors import InputError
from evalkit.trace.effect import runs_code
from evalkit.trace.flow import OUTPUT, answer_step, flow
from evalkit.trace.model import USER_MESSAGE, Step, Trace

__all__ = ["Slice", "prune", "slice_trace"]

_RULES = frozenset({"policy", "approval"})
_CALLS = frozenset({"tool", "retrieval"})
_DROPPED_BECAUSE = {
    "tool": "its result was not used on the way to the failure",
    "retrieval": "what it found was not used on the way to the failure",
    "agent": "no step inside of it was kept, or the trace's own input and output say the same",
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
        failures: the steps that show the failure; empty where it is not known. The step that gave the final answer
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
    pruning = _Pruning(trace, set(failures))
    kept = pruning.reached()
    last = max(failures, default=None)
    dropped = tuple((seq, pruning.reason(step, last)) for seq, step in steps.items() if seq not in kept)
    return Slice(tuple(seq for seq in steps if seq in kept), dropped)


def prune(trace: Trace, sliced: Slice) -> Trace:
    """The trace without what was dropped; answers of the world stay, as fixtures for what a mended agent may ask.

    A step whose parent is gone stands under the next one above that is left.
    """
    kept = set(sliced.kept)
    parents = {step.seq: step.parent for step in trace.steps}
    left = {step.seq for step in trace.steps if step.seq in kept or step.is_dependency}
    steps = [step for step in trace.steps if step.seq in left]
    return replace(trace, steps=tuple(_under(step, _left_above(step, parents, left)) for step in steps))


def _under(step: Step, parent: int | None) -> Step:
    return step if step.parent == parent else replace(step, parent=parent)


def _left_above(step: Step, parents: dict[int, int | None], left: set[int]) -> int | None:
    above, passed = step.parent, set[int]()
    while above is not None and above not in left and above not in passed:
        passed.add(above)
        above = parents.get(above)
    return above if above in left else None


class _Pruning:
    """One slice under way."""

    def __init__(self, trace: Trace, failures: set[int]) -> None:
        self._trace = trace
        self._steps = {step.seq: step for step in trace.steps}
        self._failures = failures
        self._values = flow(trace)
        self._statements = statements(trace.steps)
        self._asked_by = decisions(trace.steps)
        self._deciders = set(self._asked_by.values())
        self._holders = {step.parent for step in trace.steps if step.parent is not None}
        self._frame = {step.seq for step in trace.steps if _is_frame(step)} | self._answered()

    def reached(self) -> set[int]:
        """The steps to keep."""
        suspects = set() if self._failures else self._suspects()
        if not suspects and not self._failures:
            self._failures = set(answer_step(self._trace))
        waiting = [*self._frame, *suspects, *self._failures]
        if self._failures & set(answer_step(self._trace)):
            waiting += self._values.steps_before(OUTPUT)
        kept: set[int] = set()
        while waiting:
            seq = waiting.pop()
            if seq not in kept and seq in self._steps:
                kept.add(seq)
                waiting += self._edges(self._steps[seq])
        return kept

    def reason(self, step: Step, last: int | None) -> str:
        """Why a step was dropped."""
        if last is not None and step.seq > last:
            return "it came after the failure"
        if step.kind == "model":
            if calls_of(step):
                return "it only asked for calls: what of them mattered is kept"
            return "it told nothing that was used: no news, no more than a question, or what the next call holds"
        if step.kind == "other" and step.seq in self._holders:
            return "it only holds other steps"
        return _DROPPED_BECAUSE.get(step.kind, "no step that was kept used it")

    def _edges(self, step: Step) -> Iterable[int]:
        """What a kept step brings along."""
        above = self._agent_above(step)
        if above is not None:
            yield above
        decision = self._asked_by.get(step.seq)
        if decision is not None and (step.seq in self._failures or _matters(step) or code_of(self._steps[decision])):
            yield decision
        if step.seq in self._failures or (step.seq not in self._frame and self._leads_back(step)):
            # what was decided is used too, but a decision is no source of the values of its own call
            yield from self._values.nearest_before(step.seq) - {decision}

    def _leads_back(self, step: Step) -> bool:
        """Whether what a step used is kept, too."""
        if step.kind == "model":
            # code is a statement, too: what it says stands in it
            return step.seq in self._deciders and (bool(self._failures) or not code_of(step))
        # a look-up says in its arguments what it was asked; where everything is suspect, that is enough
        return bool(self._failures) or step.kind not in _CALLS or changes(step)

    def _agent_above(self, step: Step) -> int | None:
        """The sub-agent that a step ran inside of. The outermost agent's input and output are the trace's own."""
        inside = [seq for seq in self._above(step) if self._steps[seq].kind == "agent"]
        return inside[0] if len(inside) > 1 else None

    def _above(self, step: Step) -> Iterator[int]:
        passed: set[int] = set()
        seq = step.parent
        while seq is not None and seq in self._steps and seq not in passed:
            yield seq
            passed.add(seq)
            seq = self._steps[seq].parent

    def _answered(self) -> set[int]:
        """The statements that a user's turn answers."""
        found: set[int] = set()
        before: Step | None = None
        for step in self._trace.steps:
            if step.name == USER_MESSAGE and before is not None and before.seq in self._statements:
                found.add(before.seq)
            before = step
        return found

    def _suspects(self) -> set[int]:
        """Everything that could be the failure."""
        found = self._statements | last_word(self._trace.steps)
        found |= {step.seq for step in self._trace.steps if step.kind == "tool" and changes(step)}
        # a call of which there is no step (a sub-agent's answer): nothing else says it
        found |= {step.seq for step in self._trace.steps if calls_of(step) and step.seq not in self._deciders}
        first_failed = next((step.seq for step in self._trace.steps if step.kind in _CALLS and step.error), None)
        return found | ({first_failed} if first_failed is not None else set())


def _is_frame(step: Step) -> bool:
    return step.name == USER_MESSAGE or step.kind in _RULES or (changes(step) and step.error is not None)


def _matters(step: Step) -> bool:
    """Whether the decision for a call is worth keeping beside the call."""
    return changes(step) or step.error is not None or step.kind not in _CALLS or runs_code(step.name)
