"""A trace from spans that a format has already turned into steps: numbers, parents, and what the run came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.ancestry import circular, depths
from evalkit.trace.formats.answered_calls import with_answered_calls
from evalkit.trace.formats.chat import text_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Step, Trace

__all__ = ["SpanStep", "trace_of_spans"]


@dataclass(frozen=True, slots=True)
class SpanStep:
    """A span and its step, which has neither number nor parent.

    Attributes:
        parent_id: empty for a root.
        start_ns, end_ns: nanoseconds since 1970 UTC where the source has them (a step's seconds can't tell neighbours
            apart); 0 where it does not know. None where the step has its times already.
        about: what the step's attributes shall tell of the span besides.
    """

    span_id: str
    parent_id: str
    step: Step
    start_ns: int | None = None
    end_ns: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


def trace_of_spans(
    trace_id: str,
    dialect: str,
    spans: Sequence[SpanStep],
    report: ReadReport,
    *,
    attributes: dict[str, Any] | None = None,
    gaps: tuple[str, ...] = (),
    calls_in_messages: bool = False,
) -> Trace:
    """The spans of one run as a trace.

    They are ordered by their start, of two that start at once the outer first; one without a start stands where the
    source has it. A span that lies inside itself (broken sources have such circles) has no parent.

    Args:
        calls_in_messages: whether tool calls that only the messages tell of become steps: see `answered_calls`.
    """
    above = {span.span_id: span.parent_id for span in reversed(spans)}
    circles = circular(above)
    ordered = _ordered(spans, depths(above))
    numbers = {span.span_id: seq for seq, span in reversed([*enumerate(ordered)])}
    steps = tuple(
        _numbered(span, seq, None if span.span_id in circles else numbers.get(span.parent_id))
        for seq, span in enumerate(ordered)
    )
    if calls_in_messages:
        steps = with_answered_calls(steps)
    report.steps.update(step.kind for step in steps)
    agent = next((step for step in steps if step.kind == "agent"), None)
    outermost = [step for step in steps if step.parent is None]
    error = outermost[-1].error if outermost else None
    orphans = sum(1 for span in spans if span.parent_id and span.parent_id not in numbers)
    if orphans:
        gaps = (*gaps, f"the parents of {orphans} spans are not in the source")
    return Trace(
        id=trace_id,
        name=agent.name if agent else outermost[0].name if outermost else "",
        dialect=dialect,
        steps=steps,
        input=_asked(agent, steps),
        output=_answered(agent, steps),
        error=error,
        status="failed" if error else "completed",
        started_at=min((step.started_at for step in steps if step.started_at is not None), default=None),
        ended_at=max((step.ended_at for step in steps if step.ended_at is not None), default=None),
        attributes=attributes or {},
        gaps=gaps,
    )


def _ordered(spans: Sequence[SpanStep], deep: Mapping[str, int]) -> list[SpanStep]:
    times: list[tuple[float, int, int]] = []
    before = float("-inf")
    for at, span in enumerate(spans):
        start = span.step.started_at if span.start_ns is None else span.start_ns or None
        before = before if start is None else start
        times.append((before, deep[span.span_id], at))
    return [spans[at] for _, _, at in sorted(times)]


def _numbered(span: SpanStep, seq: int, parent: int | None) -> Step:
    step = span.step
    return replace(
        step,
        seq=seq,
        parent=parent,
        started_at=step.started_at if span.start_ns is None else _seconds(span.start_ns),
        ended_at=step.ended_at if span.end_ns is None else _seconds(span.end_ns),
        attributes={"span_id": span.span_id, **step.attributes, **span.about},
    )


def _seconds(nanoseconds: int) -> float | None:
    return nanoseconds / 1e9 if nanoseconds else None


def _asked(agent: Step | None, steps: tuple[Step, ...]) -> Json:
    """What the run was started with: the agent's input, else the first user message of the first model call."""
    if agent is not None and agent.input is not None:
        return agent.input
    for step in steps:
        given = step.input if step.kind == "model" and isinstance(step.input, dict) else {}
        users = [item for item in dicts(given.get("messages")) if item.get("role") == "user"]
        if users:
            return text_of(users[0])
    return None


def _answered(agent: Step | None, steps: tuple[Step, ...]) -> Json:
    """What the run came to: the agent's output, else the text of the last model answer that has one."""
    if agent is not None and agent.output is not None:
        said = text_of(agent.output) if isinstance(agent.output, dict) and "role" in agent.output else None
        return agent.output if said is None else said
    for step in reversed(steps):
        if step.kind == "model" and isinstance(step.output, dict) and text_of(step.output):
            return text_of(step.output)
    return None
