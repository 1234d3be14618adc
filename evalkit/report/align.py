"""Several runs' steps side by side: which step of one stands beside which of another.

Steps with equal keys are matched first (the longest runs of them, as `difflib` finds them); in what is left between two
matches, steps of the same kind and name are put beside each other, then steps of the same kind: a call with other
arguments, or of another tool, is a change of that call and not one call less and another more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher

from evalkit.canonical import Json
from evalkit.report.text import json_text
from evalkit.trace.model import Step

__all__ = ["Line", "align", "step_key"]

Line = tuple["Step | None", ...]
"""One line of the table: a step or a gap for each run."""


def align(runs: Sequence[Sequence[Step]]) -> list[Line]:
    """The lines of the table; each run's steps are all there, in their order."""
    if not runs:
        return []
    lines: list[Line] = [(step,) for step in runs[0]]
    for width, run in enumerate(runs[1:], start=1):
        lines = list(_joined(lines, run, width))
    return lines


def step_key(step: Step) -> tuple[str, str, str]:
    """What makes two steps the same act: kind, name, and what the agent decided (the arguments; a model's answer)."""
    return step.kind, step.name, json_text(_decision(step.output) if step.kind == "model" else step.input)


def _decision(message: Json) -> Json:
    """A model's answer without the ids of its tool calls, which providers draw at random."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [{**call, "id": ""} if isinstance(call, dict) else call for call in calls]}


def _joined(lines: Sequence[Line], run: Sequence[Step], width: int) -> Iterator[Line]:
    firsts = [_first(line) for line in lines]
    for left, right in _pairs(firsts, run, 0, 0, _KEYS):
        before = lines[left] if left is not None else (None,) * width
        yield (*before, run[right] if right is not None else None)


def _pairs(
    lefts: Sequence[Step], rights: Sequence[Step], left: int, right: int, keys: Sequence[Callable[[Step], Hashable]]
) -> Iterator[tuple[int | None, int | None]]:
    """Positions side by side, counted from `left` and `right`; `keys` from the strictest to the loosest."""
    if not keys:
        yield from ((left + at, None) for at in range(len(lefts)))
        yield from ((None, right + at) for at in range(len(rights)))
        return
    left_keys, right_keys = [keys[0](step) for step in lefts], [keys[0](step) for step in rights]
    for tag, a0, a1, b0, b1 in SequenceMatcher(None, left_keys, right_keys, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip(range(left + a0, left + a1), range(right + b0, right + b1), strict=True)
        else:
            yield from _pairs(lefts[a0:a1], rights[b0:b1], left + a0, right + b0, keys[1:])


_KEYS: tuple[Callable[[Step], Hashable], ...] = (
    step_key,
    lambda step: (step.kind, step.name),
    lambda step: step.kind,
)


def _first(line: Line) -> Step:
    return next(step for step in line if step is not None)
