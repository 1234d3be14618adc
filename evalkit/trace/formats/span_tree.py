"""A trace from spans that a format has already turned into steps: numbers, parents, and what the run came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.trace.ancestry import circular
from evalkit.trace.formats.chat import dicts, text_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Step, Trace

__all__ = ["SpanStep", "trace_of_spans"]


@dataclass(frozen=True, slots=True)
class SpanStep:
    """A span and its step, which has its times, but neither number nor parent.

    Attributes:
        parent_id: empty for a root.
        depth: how deep it lies in the tree: of two that start at once, the outer comes first.
    """

    span_id: str
    parent_id: str
    step: Step
    depth: int = 0


def trace_of_spans(
    trace_id: str,
    dialect: str,
    spans: Sequence[SpanStep],
    report: ReadReport,
    *,
    attributes: dict[str, Any] | None = None,
    gaps: tuple[str, ...] = (),
) -> Trace:
    """The spans of one run as a trace, ordered by their start; one without a start stands where the source has it."""
    ordered = _ordered(spans)
    numbers = {span.span_id: seq for seq, span in reversed([*enumerate(ordered)])}
    inside_itself = circular({span.span_id: span.parent_id for span in reversed(ordered)})
    steps = tuple(_numbered(span, seq, numbers, inside_itself) for seq, span in enumerate(ordered))
    report.steps.update(step.kind for step in steps)
    agent = next((step for step in steps if step.kind == "agent"), None)
    outermost = [step for step in steps if step.parent is None]
    last = outermost[-1] if outermost else None
    orphans = sum(1 for span in spans if span.parent_id and span.parent_id not in numbers)
    if orphans:
        gaps = (*gaps, f"the parents of {orphans} spans are not in the source")
    return Trace(
        id=trace_id,
        name=agent.name if agent else steps[0].name if steps else "",
        dialect=dialect,
        steps=steps,
        input=_asked(agent, steps),
        output=_answered(agent, steps),
        error=last.error if last else None,
        status="failed" if last and last.error else "completed",
        started_at=min((step.started_at for step in steps if step.started_at is not None), default=None),
        ended_at=max((step.ended_at for step in steps if step.ended_at is not None), default=None),
        attributes=attributes or {},
        gaps=gaps,
    )


def _ordered(spans: Sequence[SpanStep]) -> list[SpanStep]:
    times: list[tuple[float, int, int]] = []
    before = float("-inf")
    for at, span in enumerate(spans):
        before = before if span.step.started_at is None else span.step.started_at
        times.append((before, span.depth, at))
    return [spans[at] for _, _, at in sorted(times)]


def _numbered(span: SpanStep, seq: int, numbers: dict[str, int], inside_itself: frozenset[str]) -> Step:
    parent = None if span.span_id in inside_itself else numbers.get(span.parent_id)
    return replace(
        span.step,
        seq=seq,
        parent=None if parent == seq else parent,
        attributes={"span_id": span.span_id, **span.step.attributes},
    )


def _asked(agent: Step | None, steps: tuple[Step, ...]) -> Json:
    if agent is not None and agent.input is not None:
        return agent.input
    for step in steps:
        given = step.input if step.kind == "model" and isinstance(step.input, dict) else {}
        users = [item for item in dicts(given.get("messages")) if item.get("role") == "user"]
        if users:
            return text_of(users[0])
    return None


def _answered(agent: Step | None, steps: tuple[Step, ...]) -> Json:
    if agent is not None and agent.output is not None:
        return agent.output
    for step in reversed(steps):
        if step.kind == "model" and isinstance(step.output, dict) and text_of(step.output):
            return text_of(step.output)
    return None
