"""The incident of these tests: an order is refunded twice, by an agent with OpenAI's SDK and a shop over MCP."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai

import evalkit
from evalkit.capture.recording import as_is
from evalkit.trace.model import Trace
from tests.capture.scripted_server import completion, json_reply, scripted_server, tool_call
from tests.project import Project

__all__ = ["EXAMPLES", "GIVEN", "ingested", "record_shop"]

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "gateway"
SERVER = Path(__file__).parent / "shop_server.py"
GIVEN = {"message": "Please refund order A-1001."}
SAID = "Your refund of 40.50 EUR is on its way."
REFUND = '{"order_id": "A-1001", "amount": 40.5}'
EXPECTED = {"effects": [{"name": "refund_order", "arguments": {"order_id": "A-1001", "amount": 40.5}}]}


@asynccontextmanager
async def shop() -> AsyncIterator[Any]:
    """A live session with the shop."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


def agent(url: str) -> Any:
    """The agent as it ran in production: what the examples do in other languages, and recorded."""
    from evalkit.integrations.mcp import instrument

    async def run(given: Any) -> Any:
        async with shop() as session, openai.AsyncOpenAI(base_url=url, api_key="k") as model:
            instrument(session)
            tools = [
                {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": schema}}
                for t in (await session.list_tools()).tools
                if (schema := t.model_dump(by_alias=True)["inputSchema"])
            ]
            messages: list[Any] = [
                {"role": "system", "content": "You help with orders."},
                {"role": "user", "content": given["message"]},
            ]
            while True:
                asked: dict[str, Any] = {"model": "gpt-test", "messages": messages, "tools": tools}
                said = (await model.chat.completions.create(**asked)).choices[0].message
                messages.append(said)
                if not said.tool_calls:
                    return {"text": said.content}
                for call in said.tool_calls:
                    assert call.type == "function"
                    result = await session.call_tool(call.function.name, json.loads(call.function.arguments))
                    content = "\n".join(part.text for part in result.content)
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": content})

    return lambda given: asyncio.run(run(given))


def record_shop(folder: Path) -> Trace:
    """The trace of the incident, values as they are."""
    path = folder / "shop.trace"
    with scripted_server() as server:
        server.will(
            json_reply(completion(None, tool_calls=[tool_call("c1", "lookup_order", '{"order_id": "A-1001"}')])),
            json_reply(completion(None, tool_calls=[tool_call("c2", "refund_order", REFUND)])),
            json_reply(completion(None, tool_calls=[tool_call("c3", "refund_order", REFUND)])),
            json_reply(completion(SAID)),
        )
        run_agent = agent(server.url)
        with evalkit.record(path, input=GIVEN, sanitizer=as_is) as run:
            run.output = run_agent(GIVEN)
    (trace,) = evalkit.load_traces(path)
    return trace


def ingested(project: Project, trace: Trace, case_id: str = "shop") -> str:
    """A case of the incident in a project."""
    project.write(f"{case_id}.trace", trace)
    project.write("expected.json", EXPECTED)
    done = project.run("ingest", f"{case_id}.trace", "--id", case_id, "--expect", "expected.json", "--no-verify")
    assert done.code == 0, done.err
    return case_id
