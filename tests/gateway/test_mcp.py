"""The frozen tools over MCP: what is listed, called and missed, and the real client."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.faults import Fault
from evalkit.playback.gateway.gateway import Gateway
from evalkit.playback.gateway.http_server import Request, Response
from evalkit.trace.model import Trace
from tests.build import a_case, a_trace, tool_step
from tests.gateway.conversations import model_step
from tests.gateway.serving import serving

SCHEMA = {"type": "object", "required": ["order"]}
SHOWN = {
    "type": "function",
    "function": {
        "name": "refund",
        "description": "Pays back.",
        "parameters": {"type": "object", "required": ["order"]},
    },
}
ORDER = {"order": 7, "amount": 5.0}


def shop_case() -> Case:
    """Tools that were no MCP tools; the model saw their results as Python spells them."""
    body: dict[str, Any] = {
        "model": "m-1",
        "tools": [SHOWN, {"type": "web_search", "name": "web_search"}],
        "messages": [
            {"role": "user", "content": "refund 7"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"order": 7}'}}]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"order": 7, "amount": 5.0}'},
        ],
    }  # fmt: skip
    trace = a_trace(
        tool_step(0, "lookup", {"order": 7}, ORDER),
        tool_step(1, "refund", {"order": 7}, {"ok": True}, effect="write"),
        tool_step(2, "refund", {"order": 9}, error="no order 9", effect="write"),
        model_step(3, "openai_chat", body, "Done."),
    )
    return a_case(trace, checks=[Check("repeated_effect", {})])


def test_tools_are_listed_with_their_schemas() -> None:
    """Those that the model was shown as it was shown them, the others by name."""
    with serving(shop_case()) as served:
        listed = served.caller.rpc("tools/list")["result"]["tools"]
    assert listed == [
        {"name": "refund", "description": "Pays back.", "inputSchema": SCHEMA},
        {"name": "lookup", "description": "", "inputSchema": {"type": "object"}},
    ]
    assert served.done.counts.substituted == 0


def test_calls_are_answered_from_the_recording() -> None:
    """As the model saw the result, with the data beside it; an error is an error; effects are the recorded ones."""
    with serving(shop_case()) as served:
        found = served.caller.rpc("tools/call", {"name": "lookup", "arguments": {"order": 7.0}})["result"]
        assert found["content"] == [{"type": "text", "text": '{"order": 7, "amount": 5.0}'}]
        assert (found["structuredContent"], found["isError"]) == (ORDER, False)
        failed = served.caller.rpc("tools/call", {"name": "refund", "arguments": {"order": 9}})["result"]
        assert (failed["isError"], failed["content"][0]["text"]) == (True, "ValueError: no order 9")
    assert [(step.name, step.effect, step.effect_source) for step in served.done.trace.steps] == [
        ("lookup", "read", "declared"),
        ("refund", "write", "declared"),
    ]
    assert (served.done.counts.substituted, served.done.counts.tool_bodies) == (2, 0)


def test_a_miss_is_an_error_of_the_protocol_and_names_the_path() -> None:
    """Not a result that the model would take for the tool's answer."""
    with serving(shop_case()) as served:
        error = served.caller.rpc("tools/call", {"name": "refund", "arguments": {"order": 8}})["error"]
    assert "tool refund has no recorded answer" in error["message"]
    assert "/order: recorded 7, got 8" in error["message"]
    assert served.done.status == "missed"


def test_the_checks_judge_what_was_called_here() -> None:
    """Two refunds over MCP are the incident."""
    with serving(shop_case()) as served:
        for _ in range(2):
            served.caller.rpc("tools/call", {"name": "refund", "arguments": {"order": 7}})
    assert (served.done.status, served.done.counts.substituted) == ("failed", 2)


def test_a_declared_fault_meets_a_call() -> None:
    """Simulation goes through the same session."""
    with serving(shop_case(), mode="simulation", faults=[Fault("refund", "timeout")]) as served:
        result = served.caller.rpc("tools/call", {"name": "refund", "arguments": {"order": 7}})["result"]
    assert result["isError"]
    assert "injected fault" in result["content"][0]["text"]


@pytest.mark.parametrize(("wanted", "given"), [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")])
def test_the_protocol_is_negotiated(wanted: str, given: str) -> None:
    """A known revision is kept, an unknown one answered with the newest."""
    with serving(shop_case()) as served:
        result = served.caller.rpc("initialize", {"protocolVersion": wanted, "capabilities": {}})["result"]
        assert served.caller.rpc("ping")["result"] == {}
        assert served.caller.ask("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, b"")
        assert served.caller.ask("/mcp", method="GET")[0] == 405
    assert (result["protocolVersion"], result["capabilities"]) == (given, {"tools": {}})


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}', -32601),
    ],
)
def test_what_is_no_request_is_told_so(message: bytes, code: int) -> None:
    """By the codes of JSON-RPC; the session goes on."""
    with serving(shop_case()) as served:
        status, body = served.caller.ask("/mcp", message)
        assert (status, body["error"]["code"]) == (200, code)
        assert served.caller.rpc("ping")["result"] == {}
    assert served.done.misses == ()


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("resources/read", {"uri": "x://y"}, "mcp.read_resource"),
        ("prompts/get", {"name": "greet"}, "mcp.get_prompt"),
        ("tools/call", {"name": "lookup", "arguments": [7]}, "lookup"),
    ],
)
def test_what_no_recording_of_tools_answers_is_a_miss(method: str, params: dict[str, Any], name: str) -> None:
    """Also of a case that holds nothing of that kind, and in a form that no tool takes."""
    with serving(shop_case()) as served:
        assert "no recorded answer" in served.caller.rpc(method, params)["error"]["message"]
        assert served.caller.rpc("ping")["result"] == {}
    assert (served.done.status, served.done.misses[0].name) == ("missed", name)


def test_several_messages_at_once() -> None:
    """Older clients send lists; what needs no answer gets none."""
    messages = [{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"}]
    with serving(shop_case()) as served:
        assert served.caller.ask("/mcp", messages) == (200, [{"jsonrpc": "2.0", "id": "a", "result": {}}])


def test_calls_at_once_are_all_answered() -> None:
    """Every one is a step of its own, with a number of its own."""
    with serving(shop_case()) as served:

        def lookup(request_id: int) -> Any:
            params = {"name": "lookup", "arguments": {"order": 7}}
            return served.caller.rpc("tools/call", params, request_id)

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lookup, range(64)))
    assert [answer["id"] for answer in answers] == list(range(64))
    assert served.done.counts.substituted == 64
    assert [step.seq for step in served.done.trace.steps] == list(range(64))


def test_a_client_of_a_later_revision_falls_back() -> None:
    """It asks `server/discover` first, and then as it always did."""
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    if not hasattr(mcp, "Client"):
        pytest.skip("mcp 1 has no such client")

    async def asked(url: str) -> Any:
        async with mcp.Client(url) as client:
            return (await client.call_tool("lookup", {"order": 7})).structured_content

    with serving(shop_case()) as served:
        assert served.around is not None
        assert asyncio.run(asked(served.around.address.mcp)) == ORDER


def test_the_real_client_gets_405_for_a_stream_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server says nothing by itself; the specification has it answer 405 then, and the client goes on.

    It asks for a stream only where it was given a session, which the gateway does not do; here it is.
    """
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    seen: list[tuple[str, int]] = []
    answer = Gateway.answer

    def noted(self: Gateway, request: Request) -> Response:
        response = answer(self, request)
        seen.append((request.method, response.status))
        return replace(response, headers={**response.headers, "mcp-session-id": "s-1"})

    monkeypatch.setattr(Gateway, "answer", noted)

    async def asked(url: str) -> Any:
        async with streamable_http_client(url) as (read, write, *_), ClientSession(read, write) as session:
            await session.initialize()
            while ("GET", 405) not in seen:  # which the client opens beside its requests
                await asyncio.sleep(0.01)
            return (await session.call_tool("lookup", {"order": 7})).model_dump(by_alias=True)["structuredContent"]

    with serving(shop_case()) as served:
        assert served.around is not None
        assert asyncio.run(asyncio.wait_for(asked(served.around.address.mcp), 30)) == ORDER
    assert served.done.status == "passed"
    assert ("DELETE", 405) in seen


def test_the_real_client_is_answered_as_it_was_recorded(shop_trace: Trace) -> None:
    """A recording of an MCP server has its own list, and its results as they were sent."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def asked(url: str) -> Any:
        async with streamable_http_client(url) as (read, write, *_), ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            found = await session.call_tool("lookup_order", {"order_id": "A-1001"})
            return [tool.model_dump(by_alias=True)["inputSchema"] for tool in tools], found.model_dump(by_alias=True)

    with serving(a_case(shop_trace, checks=[Check("repeated_effect", {})])) as served:
        assert served.around is not None
        schemas, found = asyncio.run(asked(served.around.address.mcp))
    assert schemas[0]["properties"]["with_lines"]["default"] is False
    assert found["structuredContent"] == {"order_id": "A-1001", "amount": 40.5, "paid": True, "lines": None}
    assert (served.done.counts.substituted, served.done.status) == (2, "passed")
