"""The messages of MCP, as JSON-RPC 2.0 has them, and a tool's result as MCP has it.

Source: https://modelcontextprotocol.io/specification/2025-11-25. The revisions that begin with ``initialize`` are
spoken; clients of the later, stateless ones ask ``server/discover`` first, are refused, and fall back to these.
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json, exact_text

__all__ = [
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOT_RECORDED",
    "PARSE_ERROR",
    "RESULT_TYPE",
    "VERSIONS",
    "error_reply",
    "result_reply",
    "tool_result",
]

RESULT_TYPE = "mcp_result"
"""The attribute of a step whose output is an MCP result as it was sent; holds the name of the result's type."""

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions of the protocol, newest first."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_RECORDED = -32044
"""Code of the error for a call that the case has no answer for; from the range that servers may use."""


def result_reply(request_id: Any, result: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_reply(request_id: Any, code: int, message: str) -> dict[str, Any]:
    """The refusal of a request; an id of None where it could not be read."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def tool_result(output: Json, text: str | None = None) -> dict[str, Any]:
    """What a tool gave, as the result of ``tools/call``; an output that is such a result already stays as it is.

    Args:
        text: how `output` is written; compact JSON by default. A text is itself.
    """
    if isinstance(output, dict) and _is_content(output.get("content")):
        return output
    said = output if isinstance(output, str) else text if text is not None else exact_text(output).decode()
    result: dict[str, Any] = {"content": [{"type": "text", "text": said}], "isError": False}
    if isinstance(output, dict):
        result["structuredContent"] = output
    return result


def _is_content(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in value
    )
