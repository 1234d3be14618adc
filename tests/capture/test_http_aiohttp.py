"""Model calls over aiohttp, recorded and answered: the response is the library's own in every way of reading it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra dev is older than these tests")

import aiohttp

from evalkit.trace.model import Step, StepError, Usage
from tests.capture.harness import replaying, session
from tests.capture.scripted_server import Reply, ScriptedServer, completion, events, json_reply, stream_reply

NOWHERE = "https://nowhere.invalid/v1"
DELTAS = ({"role": "assistant", "content": ""}, {"content": "Hello "}, {"content": "wörld"})
Reading = Callable[[aiohttp.ClientResponse], Awaitable[Any]]


def ask(url: str, read: Reading, *, stream: bool = False, **options: Any) -> Any:
    """What `read` makes of the response to one question."""
    body: dict[str, Any] = {"model": "gpt-test", "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        body["stream"] = True

    async def run() -> Any:
        where = f"{url}/chat/completions"
        async with aiohttp.ClientSession() as client, client.post(where, json=body, **options) as response:
            return await read(response)

    return asyncio.run(run())


def both(server: ScriptedServer, read: Reading, *replies: Reply, **options: Any) -> tuple[Step, Any]:
    """The step of one call and what its caller got, when a replay gives its caller the same."""
    server.will(*replies)
    with session() as run:
        got = ask(server.url, read, **options)
    with replaying(run.only) as replay:
        assert ask(NOWHERE, read, **options) == got
    assert (replay.only.output, replay.only.error) == (run.only.output, run.only.error)
    return run.only, got


def test_a_call_is_recorded_and_substituted(server: ScriptedServer) -> None:
    """Body, status, headers and what a response says of itself; the step holds the plain call."""

    async def read(response: aiohttp.ClientResponse) -> Any:
        body = await response.json()
        said = (response.status, response.reason, response.ok, response.content_type, response.charset, response.method)
        assert isinstance(response.content, aiohttp.StreamReader)
        text = await response.text()
        return (
            body["choices"][0]["message"]["content"],
            said,
            response.headers["x-request-id"],
            text[:5],
            response.version,
        )

    step, got = both(server, read, json_reply(completion(), x_request_id="req_1"))
    assert got[0] == "Hello there, how are you?"
    assert step.input == {"messages": [{"role": "user", "content": "hi"}], "tools": [], "params": {}}
    assert (step.usage, step.model, step.attributes["wire"]) == (Usage(12, 7, 4, 2), "gpt-test-2025", "openai_chat")
    assert step.attributes["endpoint"] == f"{server.url}/chat/completions"


async def by_any(response: aiohttp.ClientResponse) -> bytes:
    return b"".join([chunk async for chunk in response.content.iter_any()])


async def by_chunked(response: aiohttp.ClientResponse) -> bytes:
    return b"".join([chunk async for chunk in response.content.iter_chunked(7)])


async def by_chunks(response: aiohttp.ClientResponse) -> bytes:
    return b"".join([chunk async for chunk, _ in response.content.iter_chunks()])


async def by_line(response: aiohttp.ClientResponse) -> bytes:
    return b"".join([line async for line in response.content])


async def by_readline(response: aiohttp.ClientResponse) -> bytes:
    got = []
    while line := await response.content.readline():
        got.append(line)
    return b"".join(got)


async def by_read(response: aiohttp.ClientResponse) -> bytes:
    return bytes(await response.read())


@pytest.mark.parametrize("way", [by_any, by_chunked, by_chunks, by_line, by_readline, by_read])
def test_a_stream_is_read_in_every_way(server: ScriptedServer, way: Any) -> None:
    """Every way of reading gives the same live and replayed; the step is whole."""

    async def read(response: aiohttp.ClientResponse) -> Any:
        return events(await way(response))

    step, got = both(server, read, stream_reply(*DELTAS), stream=True)
    assert got == ["", "Hello ", "wörld", None]
    assert (step.output, step.error) == ({"role": "assistant", "content": "Hello wörld"}, None)
    assert step.attributes["stream"] is True


def test_a_replayed_stream_comes_in_its_pieces(server: ScriptedServer) -> None:
    """A caller that reads what there is gets one event at a time, however long it takes between."""
    server.will(stream_reply(*DELTAS))
    with session() as run:
        ask(server.url, by_read, stream=True)

    async def slowly(response: aiohttp.ClientResponse) -> list[bytes]:
        got = []
        async for chunk in response.content.iter_any():
            got.append(chunk)
            await asyncio.sleep(0.001)
        return got

    with replaying(run.only):
        assert [len(events(chunk)) for chunk in ask(NOWHERE, slowly, stream=True)][:3] == [1, 1, 1]


def test_a_stream_flows_through_as_it_comes(server: ScriptedServer) -> None:
    """An endless stream is read up to where its caller stops: nothing is gathered first."""
    first = b"".join(stream_reply({"content": "on "}).chunks or ()).split(b"\n\n")[0] + b"\n\n"
    server.will(Reply(200, {"content-type": "text/event-stream"}, chunks=itertools.repeat(first)))

    async def one_line(response: aiohttp.ClientResponse) -> bytes:
        return bytes(await response.content.readline())

    with session() as run:
        assert ask(server.url, one_line, stream=True) == first[:-1]
    assert run.only.attributes["ended"] == "closed"


def test_a_stream_that_breaks_breaks_again(server: ScriptedServer) -> None:
    """aiohttp's own error, after what had come."""
    server.will(stream_reply(*DELTAS, finish=None, done=False, cut=True))

    async def read(response: aiohttp.ClientResponse) -> Any:
        got = b""
        try:
            async for chunk in response.content.iter_any():
                got += chunk
        except aiohttp.ClientPayloadError:
            return events(got)
        return "it did not break"

    with session() as run:
        assert ask(server.url, read, stream=True) == ["", "Hello ", "wörld"]
    assert run.only.attributes["ended"] == "raised"
    with replaying(run.only):
        assert ask(NOWHERE, read, stream=True) == ["", "Hello ", "wörld"]


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_status_is_an_answer(server: ScriptedServer, status: int) -> None:
    """With its body and headers."""

    async def read(response: aiohttp.ClientResponse) -> Any:
        body = await response.json()
        with pytest.raises(aiohttp.ClientResponseError):
            response.raise_for_status()
        return body, response.headers["retry-after"]

    body = {"error": {"message": "slow down", "type": "requests", "code": "limit", "param": None}}
    step, _ = both(server, read, json_reply(body, status, retry_after="7"))
    assert step.error == StepError("limit", "slow down")


def test_a_client_that_raises_for_status_does_so_in_a_replay(server: ScriptedServer) -> None:
    """The status is in the record although the caller never saw the response."""
    server.will(json_reply({"error": {"message": "slow down", "code": "limit"}}, 429))
    with session() as run, pytest.raises(aiohttp.ClientResponseError) as live:
        ask(server.url, by_read, raise_for_status=True)
    assert run.only.attributes["status"] == 429
    with replaying(run.only), pytest.raises(aiohttp.ClientResponseError) as again:
        ask(NOWHERE, by_read, raise_for_status=True)
    assert (again.value.status, again.value.message) == (live.value.status, live.value.message)


def test_failures_are_raised_again(server: ScriptedServer) -> None:
    """A timeout and a refused connection are steps, and the library's own errors in a replay."""
    server.will(Reply(delay_s=0.5))
    with session() as run, pytest.raises(asyncio.TimeoutError):
        ask(server.url, by_read, timeout=aiohttp.ClientTimeout(total=0.05))
    with replaying(run.only), pytest.raises(asyncio.TimeoutError):
        ask(NOWHERE, by_read)
    with session() as run, pytest.raises(aiohttp.ClientConnectionError):
        ask("http://127.0.0.1:9/v1", by_read)
    with replaying(run.only), pytest.raises(aiohttp.ClientConnectionError):
        ask(NOWHERE, by_read)


def test_other_requests_go_straight_through(server: ScriptedServer) -> None:
    """What is no model call is no step."""
    server.will(json_reply({"ok": True}))

    async def run() -> Any:
        async with aiohttp.ClientSession() as client, client.get(f"{server.url}/other") as response:
            return await response.json()

    with session() as seen:
        assert asyncio.run(run()) == {"ok": True}
    assert seen.steps == []
