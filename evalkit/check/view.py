"""What a check looks at in a trace: the agent's own tool calls, its final answer, and what it said to the user."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from evalkit.canonical import Json, canonical
from evalkit.errors import InputError
from evalkit.trace.model import Step, Trace

__all__ = ["agent_calls", "by_user", "contains", "final_json", "final_text", "shown", "spoken"]

_SHOWN = 80


def agent_calls(trace: Trace) -> Iterator[Step]:
    """The tool calls that the agent made: in some traces the user calls tools too, and those are not the agent's."""
    return (step for step in trace.steps if step.kind == "tool" and not by_user(step))


def by_user(step: Step) -> bool:
    """Whether the user, not the agent, made this call."""
    return bool(step.attributes) and step.attributes.get("requestor") == "user"


def final_text(trace: Trace) -> str:
    """The final answer as text: a string as it is, a Message's content, anything else as JSON."""
    output = trace.output
    if isinstance(output, dict) and output.get("role") == "assistant":
        output = output.get("content")
    if isinstance(output, str):
        return output
    return "" if output is None else _text(output)


def final_json(trace: Trace) -> Json:
    """The final answer as JSON: text that is JSON (also in a Markdown fence) is read, other text stays text."""
    output = trace.output
    if isinstance(output, dict) and output.get("role") == "assistant":
        output = output.get("content")
    if not isinstance(output, str):
        return output
    body = output.strip()
    if body.startswith("```"):
        body = body.partition("\n")[2].rpartition("```")[0]
    try:
        found: Json = orjson.loads(body)
    except orjson.JSONDecodeError:
        return output
    return found


def spoken(trace: Trace) -> Iterator[tuple[int, str]]:
    """What the agent said: the text of each model answer with its step, and at the end the final answer's text."""
    last = ""
    for step in trace.steps:
        if step.kind == "model" and isinstance(step.output, dict):
            content = step.output.get("content")
            if isinstance(content, str) and content:
                last = content
                yield step.seq, content
    final = final_text(trace)
    if final and final != last:
        yield trace.steps[-1].seq if trace.steps else 0, final


def contains(actual: Json, wanted: Json) -> bool:
    """Whether `wanted` is a JSON subset of `actual`: its fields are there with equal values; lists are equal."""
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(
            key in actual and contains(actual[key], value) for key, value in wanted.items()
        )
    try:
        return canonical(actual) == canonical(wanted)
    except InputError:  # a hostile trace holds what is no JSON: it is not what was wanted
        return False


def shown(value: object, width: int = _SHOWN) -> str:
    """A value for a reason: JSON, cut to `width` characters."""
    body = _text(value)
    return body if len(body) <= width else body[: width - 1] + "…"


def _text(value: object) -> str:
    try:
        return canonical(value).decode()  # type: ignore[arg-type]  # what is no JSON is refused, and shown as it prints
    except InputError:
        return repr(value)
