"""Tool steps for calls that only the messages tell of.

Many instrumentations trace the model's calls, but not the tools: a call then stands in a model's answer, and its
result in the messages of a later model step. Such a call becomes a tool step, so that a replay can answer it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalkit.shapes import dicts
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import result_of
from evalkit.trace.model import Step

__all__ = ["with_answered_calls"]


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call of a model step's answer that has no step of its own."""

    made_by: int
    call: dict[str, Any]


def with_answered_calls(steps: Sequence[Step]) -> tuple[Step, ...]:
    """`steps` with a tool step after each model step for each of its calls that has a result, but no step.

    Steps are numbered anew; parents keep pointing at the same steps. The new steps have no times, and name the call in
    ``attributes["tool_call_id"]`` and where they are from in ``attributes["read_from"]``.
    """
    lone = list(_lone_calls(steps))
    if not lone:
        return tuple(steps)
    results = _results(steps, {call.call["id"] for call in lone})
    added: defaultdict[int, list[Step]] = defaultdict(list)
    for call in lone:
        later = next((message for seq, message in results[call.call["id"]] if seq > call.made_by), None)
        if later is not None:
            added[call.made_by].append(_step(call.call, later, steps[call.made_by].parent))
    return _numbered(steps, added)


def _lone_calls(steps: Sequence[Step]) -> Iterator[_Call]:
    """The calls with an id that no tool step carried out: one with the id, else one later, without id, by its name."""
    ids = (step.attributes.get("tool_call_id") for step in steps if step.kind == "tool")
    by_id = {each for each in ids if isinstance(each, str)}
    free: defaultdict[str, list[int]] = defaultdict(list)
    for step in steps:
        if step.kind == "tool" and not step.attributes.get("tool_call_id"):
            free[step.name].append(step.seq)
    seen: Counter[str] = Counter()
    for step in steps:
        calls = dicts(step.output.get("tool_calls")) if step.kind == "model" and isinstance(step.output, dict) else []
        for call in calls:
            later = next((seq for seq in free[call["name"]] if seq > step.seq), None)
            if call["id"] in by_id:
                continue
            if later is not None:
                free[call["name"]].remove(later)
            elif call["id"] and not seen[call["id"]]:
                seen[call["id"]] += 1
                yield _Call(step.seq, call)


def _results(steps: Sequence[Step], wanted: set[str]) -> defaultdict[str, list[tuple[int, dict[str, Any]]]]:
    """The tool messages in the inputs of model steps by the call that they answer, with the step's number."""
    found: defaultdict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for step in steps:
        if step.kind == "model" and isinstance(step.input, dict):
            for message in dicts(step.input.get("messages")):
                call_id = message.get("tool_call_id")
                if message.get("role") == "tool" and isinstance(call_id, str) and call_id in wanted:
                    found[call_id].append((step.seq, message))
    return found


def _step(call: dict[str, Any], result: dict[str, Any], parent: int | None) -> Step:
    output, error = result_of(result.get("content"))
    return Step(
        seq=0,
        kind="tool",
        name=call["name"],
        input=call["arguments"],
        output=output,
        error=error,
        parent=parent,
        effect=guess_effect(call["name"]),
        effect_source="guessed",
        attributes={"tool_call_id": call["id"], "read_from": "the messages of a later model step"},
    )


def _numbered(steps: Sequence[Step], added: dict[int, list[Step]]) -> tuple[Step, ...]:
    ordered: list[Step] = []
    numbers: dict[int, int] = {}
    for step in steps:
        numbers[step.seq] = len(ordered)
        ordered += [step, *added.get(step.seq, [])]
    return tuple(
        replace(step, seq=seq, parent=None if step.parent is None else numbers[step.parent])
        for seq, step in enumerate(ordered)
    )
