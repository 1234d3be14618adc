"""One step in full: every field, and its input and output as text that people can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from evalkit.report.timeline import Line, Span, clock_text
from evalkit.trace.model import Step, Trace
from evalkit.trace.visible import visible

__all__ = ["value_lines", "whole_step"]


def whole_step(trace: Trace, step: Step) -> Iterator[Line]:
    """The lines of one step; texts with several lines stand as they are, behind a bar."""
    yield (Span(f"step {step.seq}: {step.kind} {visible(step.name)}", "strong"),)
    for label, text in _facts(trace, step):
        yield (Span(f"  {label}: ", "faint"), Span(visible(text)))
    if step.error is not None:
        yield (Span(f"  failed with {visible(step.error.type)}: {visible(step.error.message)}", "error"),)
        yield from (_indented(line, 4) for line in value_lines(step.error.stack) if step.error.stack)
    for label, value in (("input", step.input), ("output", step.output), ("attributes", dict(step.attributes))):
        if value not in (None, {}):
            yield (Span(f"  {label}", "strong"),)
            yield from (_indented(line, 4) for line in value_lines(value))


def value_lines(value: Any) -> Iterator[str]:
    """A JSON value as lines, safe to show: nested values indented, and text of several lines line by line."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _named(f"{visible(str(name))}:", item)
    elif isinstance(value, list) and value:
        for item in value:
            yield from _named("-", item)
    elif isinstance(value, str) and "\n" in value:
        yield from (f"| {visible(line)}" for line in value.split("\n"))
    else:
        yield _scalar(value)


def _named(label: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        lines = value_lines(value)
        if label == "-":
            yield f"- {next(lines)}"
        else:
            yield label
        yield from (f"  {line}" for line in lines)
    elif isinstance(value, str) and "\n" in value:
        yield label
        yield from (f"  {line}" for line in value_lines(value))
    else:
        yield f"{label} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return visible(value) if value and value == value.strip() else json.dumps(value)
    return json.dumps(value)


def _facts(trace: Trace, step: Step) -> Iterator[tuple[str, str]]:
    if step.parent is not None:
        known = next((each for each in trace.steps if each.seq == step.parent), None)
        yield "inside of", f"step {step.parent}" + (f" ({known.kind} {known.name})" if known else "")
    if step.effect is not None:
        yield "effect", f"{step.effect}, {step.effect_source or 'source unknown'}"
    if step.model is not None:
        yield "model", step.model
    if step.started_at is not None and step.ended_at is not None:
        yield "took", clock_text(step.ended_at - step.started_at)
    if step.usage is not None:
        usage = {name: getattr(step.usage, name) for name in step.usage.__slots__}
        yield "usage", ", ".join(f"{name} {value}" for name, value in usage.items() if value is not None)


def _indented(text: str, cells: int) -> Line:
    return (Span(" " * cells + text),)
