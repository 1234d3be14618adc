"""The shop's real MCP server over stdio, which an incident is recorded with."""

from __future__ import annotations

from typing import Any

from mcp.types import ToolAnnotations

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:  # mcp 1
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[attr-defined,import-not-found,no-redef,unused-ignore]


def lookup_order(order_id: str, with_lines: bool = False) -> dict[str, Any]:
    """The state of an order."""
    return {"order_id": order_id, "amount": 40.5, "paid": True, "lines": [] if with_lines else None}


def refund_order(order_id: str, amount: float) -> str:
    """Pays an order back."""
    return f"refunded {amount:.2f} EUR for {order_id}"


if __name__ == "__main__":
    server: Any = Server("shop")
    server.add_tool(lookup_order, annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
    server.add_tool(refund_order, annotations=ToolAnnotations.model_validate({"destructiveHint": True}))
    server.run("stdio")
