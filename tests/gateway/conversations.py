"""Recorded model calls that never were HTTP, in the form in which each API would ask for them."""

from __future__ import annotations

import json
from typing import Any

from evalkit.trace.model import Step, StepError, Usage
from evalkit.wire.registry import WIRES
from tests.build import BOUGHT_AT

__all__ = ["ASKED", "model_step"]

ASKED: dict[str, dict[str, Any]] = {
    "openai_chat": {"model": "m-1", "messages": [{"role": "user", "content": "hello"}]},
    "openai_responses": {"model": "m-1", "input": "hello"},
    "anthropic": {"model": "m-1", "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]},
}
"""A request of each API."""


def model_step(seq: int, wire: str, body: dict[str, Any], message: Any, **fields: Any) -> Step:
    """A model step that answers `body` with `message` (a text, or a whole Message)."""
    asked = WIRES.get(wire).request(json.dumps(body).encode())
    assert asked is not None
    output = {"role": "assistant", "content": message} if isinstance(message, str) else message
    error = fields.pop("error", None)
    return Step(
        seq,
        "model",
        "chat",
        asked.asked,
        output,
        StepError(*error) if error else None,
        model=str(body["model"]),
        usage=Usage(12, 7),
        started_at=BOUGHT_AT + seq,
        ended_at=BOUGHT_AT + seq + 0.5,
        **fields,
    )
