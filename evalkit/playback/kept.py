"""A replay's steps as one JSON text: what makes two replays equal, and what is kept of them.

The text leaves out real durations (they live in the sample); under a frozen clock, equal runs have equal texts, so a
thousand equal replays are kept once.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from evalkit.canonical import exact_text, parse_exact
from evalkit.trace.file import error_json, step_from_json
from evalkit.trace.model import StepError, Trace

__all__ = ["Kept", "trace_digest", "trace_from_json", "trace_text"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A replay's trace as it may be kept, with its text and digest."""

    trace: Trace
    text: bytes
    digest: str


def trace_text(trace: Trace) -> bytes:
    """The text of what happened: steps, output, error, status."""
    body = {
        "name": trace.name,
        "input": trace.input,
        "output": trace.output,
        "error": trace.error,
        "status": trace.status,
        "started_at": trace.started_at,
        "ended_at": trace.ended_at,
        "steps": trace.steps,
    }
    try:
        return orjson.dumps(body)
    except TypeError:  # integers beyond 64 bits, which orjson leaves to us
        plain = {**body, "error": error_json(trace.error), "steps": [asdict(step) for step in trace.steps]}
        return exact_text(plain)


def trace_digest(text: bytes) -> str:
    """The name of a text: 32 hex digits of its SHA-256."""
    return hashlib.sha256(text).hexdigest()[:32]


def trace_from_json(text: bytes | str, trace_id: str) -> Trace:
    """The trace of a text that `trace_text` wrote."""
    body: dict[str, Any] = parse_exact(text)
    error = body["error"]
    return Trace(
        id=trace_id,
        name=body["name"],
        dialect="evalkit",
        steps=tuple(step_from_json({**step, "step": step["seq"]}) for step in body["steps"]),
        input=body["input"],
        output=body["output"],
        error=None if error is None else StepError(**error),
        status=body["status"],
        started_at=body["started_at"],
        ended_at=body["ended_at"],
    )
