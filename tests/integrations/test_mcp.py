"""MCP sessions against a real server: recorded, and answered in a replay without it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from evalkit.errors import UsageError
from evalkit.integrations.mcp import connected, instrument
from evalkit.playback.model import Replay
from evalkit.trace.model import Trace
from tests.integrations.loop import recorded, replayed, shown
from tests.project import Project

SERVER = Path(__file__).parent / "mcp_server.py"


class Shop:
    """An agent of an MCP server, and what the server says that it did."""

    def __init__(self, log: Path) -> None:
        self.log = log

    @property
    def done(self) -> list[str]:
        """The server's own account."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ClientSession]:
        """A live session, as an agent without evalkit opens it."""
        parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER), str(self.log)])
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session

    def agent(self, given: Any) -> Any:
        """Looks, pays, fails to pay, reads, and asks for a prompt."""

        async def run() -> Any:
            async with connected(self.connect) as session:
                order = await session.call_tool("process_order", given)
                paid = await session.call_tool("get_money_back", given)
                failed = await session.call_tool("get_money_back", {"order": "9"})
                terms = await session.read_resource("shop://terms")
                prompt = await session.get_prompt("greet", {"name": "Ada"})
                results = (order, paid, failed, terms, prompt)
                return [result.model_dump(mode="json", by_alias=True) for result in results]

        return asyncio.run(run())


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop with an empty log."""
    return Shop(tmp_path / "server.log")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, list[str]]:
    """The trace of one run of the agent, and what the server really did in it."""
    folder = tmp_path_factory.mktemp("run")
    shop = Shop(folder / "server.log")
    return recorded(shop.agent, {"order": "7"}, folder / "run.trace"), shop.done


def names(trace: Trace) -> list[str]:
    """The steps' names."""
    return [step.name for step in trace.steps]


def assert_no_live_call(replay: Replay) -> None:
    """Everything came from the recording."""
    assert replay.counts.tool_bodies == 0
    assert replay.counts.substituted == replay.recorded


def test_a_session_is_recorded_and_answered_without_a_server(
    run: tuple[Trace, list[str]], shop: Shop, project: Project
) -> None:
    """Requests in their order, effects by annotation and not by name, results as the agent gets them."""
    trace, done = run
    assert [(step.name, step.input, step.effect, step.effect_source) for step in trace.steps] == [
        ("mcp.list_tools", {}, "read", "declared"),
        ("process_order", {"order": "7"}, "read", "declared"),
        ("get_money_back", {"order": "7"}, "write", "declared"),
        ("get_money_back", {"order": "9"}, "write", "declared"),
        ("mcp.read_resource", {"uri": "shop://terms"}, "read", "declared"),
        ("mcp.get_prompt", {"name": "greet", "arguments": {"name": "Ada"}}, "read", "declared"),
    ]
    order, paid = trace.steps[1].output, trace.steps[2]
    assert isinstance(order, dict)
    assert order["structuredContent"] == {"order": "7", "amount": 5.0, "note": None}
    assert isinstance(paid.output, dict)
    assert paid.output["content"] == [{"type": "text", "text": "refunded 7"}]
    assert done == ["started", "process_order 7", "get_money_back 7", "get_money_back 9", "terms"]
    replay = replayed(shop.agent, trace)
    assert shop.done == []
    assert_no_live_call(replay)
    assert replay.trace.output == trace.output
    assert shown(replay.trace) == shown(trace)


def test_a_failed_call_is_an_error_and_no_effect(run: tuple[Trace, list[str]]) -> None:
    """``isError`` says that the tool failed; the agent gets it as a value all the same."""
    trace, _ = run
    failed = trace.steps[3]
    assert failed.error is not None
    assert "no order 9" in failed.error.message
    assert [step.is_effect for step in trace.steps] == [False, False, True, False, False, False]


def test_schemas_are_recorded(run: tuple[Trace, list[str]]) -> None:
    """With the first step of each tool."""
    trace, _ = run
    definition = trace.steps[1].attributes["definition"]
    assert definition["name"] == "process_order"
    assert definition["description"] == "The state of an order, whatever its name suggests."
    assert definition["parameters"]["properties"]["order"]["type"] == "string"
    assert "definition" in trace.steps[2].attributes
    assert "definition" not in trace.steps[3].attributes


def test_an_open_session_is_instrumented_in_place(tmp_path: Path, shop: Shop, project: Project) -> None:
    """The list of tools is asked for once a run, by the first call; stated effects win over annotations."""

    def agent(given: Any) -> Any:
        async def run() -> Any:
            async with shop.connect() as session:
                instrument(instrument(session, effects={"process_*": "pure"}))
                await session.call_tool("process_order", given)
                return (await session.call_tool("process_order", given)).model_dump(mode="json", by_alias=True)

        return asyncio.run(run())

    trace = recorded(agent, {"order": "7"}, tmp_path / "run.trace")
    assert names(trace) == ["mcp.list_tools", "process_order", "process_order"]
    assert [step.effect for step in trace.steps] == ["read", "pure", "pure"]
    assert all(step.parent is None for step in trace.steps)
    shop.log.unlink()
    replay = replayed(agent, trace)
    assert shop.done == ["started"]
    assert_no_live_call(replay)
    assert replay.trace.output == trace.output


def test_settings_win_over_annotations(run: tuple[Trace, list[str]], shop: Shop, project: Project) -> None:
    """A server's own word on its tools is a hint; the project's counts, in the case and in its replays."""
    project.write("evalkit.toml", '[tools."process_*"]\neffect = "write"\n')
    trace, _ = run
    step = replayed(shop.agent, trace).trace.steps[1]
    assert (step.name, step.effect, step.effect_source) == ("process_order", "write", "configured")


def test_outside_of_a_run_a_session_is_as_it_was(shop: Shop) -> None:
    """Nothing is recorded, nothing is asked twice."""
    (_, paid, *_) = shop.agent({"order": "7"})
    assert paid["content"][0]["text"] == "refunded 7"
    assert shop.done == ["started", "process_order 7", "get_money_back 7", "get_money_back 9", "terms"]


def test_what_is_not_recorded_is_named(run: tuple[Trace, list[str]], shop: Shop, project: Project) -> None:
    """In a replay without a server, another request does not look answered."""
    trace, _ = run
    kept: list[Any] = []

    def agent(given: Any) -> Any:
        async def run() -> Any:
            async with connected(shop.connect) as session:
                kept.append(session)
                with pytest.raises(AttributeError, match="send_ping"):
                    await session.send_ping()

        return asyncio.run(run())

    replayed(agent, trace)
    with pytest.raises(UsageError, match="no MCP server"):
        asyncio.run(kept[0].call_tool("process_order", {}))


def test_a_client_in_memory_is_instrumented_too(tmp_path: Path, project: Project) -> None:
    """The high-level client of mcp 2."""
    mcp = pytest.importorskip("mcp", minversion=None)
    if not hasattr(mcp, "Client"):
        pytest.skip("mcp 1 has no Client")
    from mcp.server.mcpserver import MCPServer

    done: list[int] = []
    server: Any = MCPServer("sums")

    def add(a: int, b: int) -> int:
        """Adds."""
        done.append(a + b)
        return a + b

    server.add_tool(add)

    def agent(given: Any) -> Any:
        async def run() -> Any:
            async with connected(lambda: mcp.Client(server)) as client:
                return (await client.call_tool("add", given)).structured_content

        return asyncio.run(run())

    trace = recorded(agent, {"a": 2, "b": 3}, tmp_path / "run.trace")
    assert trace.output == {"result": 5}
    assert (names(trace), trace.steps[1].effect_source) == (["mcp.list_tools", "add"], "guessed")
    replay = replayed(agent, trace)
    assert (done, replay.trace.output) == ([5], {"result": 5})


def test_what_is_no_session_is_refused() -> None:
    """With what is taken, also where several are given at once."""
    with pytest.raises(UsageError, match="a list is no MCP session"):
        instrument([])
