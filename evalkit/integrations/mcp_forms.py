"""What MCP requests ask and give, as it goes over the wire, and back; and what a tool's annotations say."""

from __future__ import annotations

from typing import Any

from evalkit.capture.copies import copies
from evalkit.capture.plain import plain
from evalkit.capture.seam import Answer
from evalkit.capture.through import Shape, given
from evalkit.trace.model import Effect, StepError
from evalkit.wire.mcp import RESULT_TYPE

__all__ = ["RESULTS", "as_asked", "as_sent", "effect_of_hints"]


def as_sent(result: Any) -> dict[str, Any]:
    """A result as it came over the wire."""
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dumped


def _written(result: Any) -> Answer:
    body = as_sent(result)
    error = None
    if body.get("isError"):
        texts = [part["text"] for part in body.get("content", ()) if isinstance(part.get("text"), str)]
        error = StepError("ToolError", "\n".join(texts))
    return Answer(body, error, attributes={RESULT_TYPE: type(result).__name__})


def _rebuilt(answer: Answer) -> Any:
    if not isinstance(answer.output, dict):
        given(answer)
    from mcp import types
    from pydantic import BaseModel

    found = getattr(types, str(answer.attributes.get(RESULT_TYPE)), None)
    model = found if isinstance(found, type) and issubclass(found, BaseModel) else types.CallToolResult
    return model.model_validate(copies(answer.output)())


def effect_of_hints(hints: dict[str, Any]) -> Effect | None:
    """The effect by a tool's annotations, by the specification's defaults; None where there are none."""
    if hints.get("readOnlyHint") is True:
        return "read"
    return "write" if hints.get("readOnlyHint") is False or hints.get("destructiveHint") is not None else None


def as_asked(value: Any) -> Any:
    """An argument of a request as JSON."""
    return plain(value) if isinstance(value, dict | str) or hasattr(value, "model_dump") else str(value)


RESULTS = Shape(_written, _rebuilt)
