"""Results of MCP requests as they go over the wire, and back."""

from __future__ import annotations

from typing import Any

from evalkit.capture.seam import Answer
from evalkit.capture.through import Shape, raised
from evalkit.trace.model import StepError

__all__ = ["RESULTS", "as_sent"]

_TYPE = "mcp_result"


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
    return Answer(body, error, attributes={_TYPE: type(result).__name__})


def _rebuilt(answer: Answer) -> Any:
    if not isinstance(answer.output, dict):
        raised(answer)
    from mcp import types
    from pydantic import BaseModel

    found = getattr(types, str(answer.attributes.get(_TYPE)), None)
    model = found if isinstance(found, type) and issubclass(found, BaseModel) else types.CallToolResult
    return model.model_validate(answer.output)


RESULTS = Shape(_written, _rebuilt)
