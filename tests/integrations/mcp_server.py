"""A real MCP server over stdio, or at a port if one is given: says in a file that it was started and what it did."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mcp.types import ToolAnnotations

try:
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # mcp 1
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[attr-defined,import-not-found,no-redef,unused-ignore]
    from mcp.server.fastmcp.exceptions import ToolError  # type: ignore[attr-defined,import-not-found,no-redef,unused-ignore]

LOG = Path(sys.argv[1])


def log(what: str) -> None:
    """Notes that something was really done."""
    with LOG.open("a") as file:
        file.write(what + "\n")


def process_order(order: str) -> dict[str, Any]:
    """The state of an order, whatever its name suggests."""
    log(f"process_order {order}")
    return {"order": order, "amount": 5.0, "note": None}


def get_money_back(order: str) -> str:
    """Pay an order back, whatever its name suggests."""
    log(f"get_money_back {order}")
    if order == "9":
        raise ToolError("no order 9")
    return f"refunded {order}"


def terms() -> str:
    """The terms of trade."""
    log("terms")
    return "14 days"


def greet(name: str) -> str:
    """A greeting."""
    return f"Greet {name}."


if __name__ == "__main__":
    log("started")
    server: Any = Server("shop")
    server.add_tool(process_order, annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
    server.add_tool(get_money_back, annotations=ToolAnnotations.model_validate({"destructiveHint": True}))
    server.resource("shop://terms")(terms)
    server.prompt()(greet)
    if sys.argv[2:]:
        server.run("streamable-http", port=int(sys.argv[2]))
    server.run("stdio")
