"""What a model step's Messages hold, whatever form they came in (see `trace.model`)."""

from __future__ import annotations

from typing import Any

from evalkit.shapes import dicts
from evalkit.trace.model import Step

__all__ = ["calls_in", "messages_of"]


def messages_of(step: Step) -> list[dict[str, Any]]:
    """The Messages that a model was given."""
    return dicts(step.input.get("messages")) if isinstance(step.input, dict) else []


def calls_in(message: Any) -> list[dict[str, Any]]:
    """The tool calls of a Message."""
    return dicts(message.get("tool_calls")) if isinstance(message, dict) else []
