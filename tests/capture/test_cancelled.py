"""Calls that an async agent cancelled: in a replay they wait until it cancels them again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from evalkit.capture.recording import as_is, record
from evalkit.capture.tools import tool
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from tests.build import a_case
from tests.capture.scripted_server import Reply, ScriptedServer
from tests.capture.test_writer import read

ASKED = {"model": "gpt-test", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


@tool(effect="read")
async def slow(order: str) -> str:
    """One that does not answer."""
    await _forever()
    return order


@tool(effect="read")
def slow_behind_a_decorator(order: str) -> Awaitable[str]:
    """The same, as decorators that know nothing of async functions make of it."""

    async def wait() -> str:
        await _forever()
        return order

    return wait()


@tool(effect="read")
async def quick(order: str) -> str:
    """One that does."""
    return order


async def timed_out() -> list[str]:
    said = []
    for call in (slow, slow_behind_a_decorator):
        try:
            said.append(await asyncio.wait_for(call("A-7"), 0.01))
        except TimeoutError:
            said.append(f"no answer, but {await quick('A-7')}")
    return said


async def raced() -> list[str]:
    first, others = await asyncio.wait(
        [asyncio.create_task(slow("A-7")), asyncio.create_task(quick("A-7"))], return_when=asyncio.FIRST_COMPLETED
    )
    for one in others:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    return [one.result() for one in first]


async def in_a_group() -> str:
    async def fail() -> None:
        await quick("A-7")
        raise LookupError("A-7")

    failed = ""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(slow("A-7"))
            group.create_task(fail())
    except* LookupError as errors:
        failed = repr(errors.exceptions)
    return failed


@pytest.mark.parametrize("agent", [timed_out, raced, in_a_group])
def test_an_agent_that_cancels_a_tool_does_so_in_its_replay(agent: Callable[[], Any], tmp_path: Path) -> None:
    """After its own time limit, or because another call was faster or failed."""

    async def run() -> Any:
        with record(tmp_path / "a.trace", sanitizer=as_is):
            return await agent()

    said = asyncio.run(run())
    done = prepare(a_case(read(tmp_path / "a.trace"), checks=[])).replay(PythonTarget(agent))
    assert (done.status, done.trace.output, done.counts.tool_bodies) == ("passed", said, 0)


def test_what_nobody_cancels_any_more_is_a_miss(tmp_path: Path) -> None:
    """The agent waits for an answer that was never recorded: that says nothing about it."""

    async def run() -> Any:
        with record(tmp_path / "a.trace", sanitizer=as_is):
            return await timed_out()

    asyncio.run(run())
    prepared = prepare(a_case(read(tmp_path / "a.trace"), checks=[]), timeout_s=0.2)
    done = prepared.replay(PythonTarget(lambda: slow("A-7")))
    assert (done.status, done.misses[0].name) == ("missed", "slow")
    assert "it was cancelled when it was recorded" in done.reason


@pytest.fixture
def pieces(server: ScriptedServer) -> Iterator[list[bytes]]:
    """The server streams these, and then neither ends nor goes on."""
    over = threading.Event()
    sent: list[bytes] = []

    def streamed() -> Iterator[bytes]:
        yield from sent
        over.wait(10)

    server.will(Reply(200, {"content-type": "text/event-stream"}, chunks=streamed()))
    yield sent
    over.set()


async def by_httpx(where: str, seen: list[str]) -> None:
    async with httpx.AsyncClient() as client, client.stream("POST", where, json=ASKED) as response:
        seen.append(str(response.status_code))
        async for line in response.aiter_lines():
            seen += [line]


async def by_aiohttp(where: str, seen: list[str]) -> None:
    aiohttp = pytest.importorskip("aiohttp", reason="the extra dev is older than these tests")
    async with aiohttp.ClientSession() as client, client.post(where, json=ASKED) as response:
        seen.append(str(response.status))
        async for line in response.content:
            seen += [line.decode().strip()]


@pytest.mark.parametrize("ask", [by_httpx, by_aiohttp])
def test_a_stream_that_was_cancelled_is_so_again(
    ask: Callable[[str, list[str]], Awaitable[None]], server: ScriptedServer, pieces: list[bytes], tmp_path: Path
) -> None:
    """After the pieces that had come."""
    delta = b'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'
    pieces.append(delta)

    async def agent() -> list[str]:
        seen: list[str] = []
        try:
            await asyncio.wait_for(ask(f"{server.url}/chat/completions", seen), 0.5)
        except TimeoutError:
            seen.append("no end")
        return seen

    async def run() -> list[str]:
        with record(tmp_path / "a.trace", sanitizer=as_is):
            return await agent()

    said = asyncio.run(run())
    assert said[-1] == "no end"
    done = prepare(a_case(read(tmp_path / "a.trace"), checks=[])).replay(PythonTarget(agent))
    assert (done.status, done.trace.output, done.counts.live_model) == ("passed", said, 0)


def test_a_model_call_that_was_cancelled_before_its_answer_is_so_again(server: ScriptedServer, tmp_path: Path) -> None:
    """As an agent's own time limit around a client does it."""
    server.will(Reply(delay_s=10))

    async def agent() -> str:
        seen: list[str] = []
        try:
            await asyncio.wait_for(by_httpx(f"{server.url}/chat/completions", seen), 0.2)
        except TimeoutError:
            return "no answer"
        return "an answer"

    async def run() -> str:
        with record(tmp_path / "a.trace", sanitizer=as_is):
            return await agent()

    assert asyncio.run(run()) == "no answer"
    done = prepare(a_case(read(tmp_path / "a.trace"), checks=[])).replay(PythonTarget(agent))
    assert (done.status, done.trace.output) == ("passed", "no answer")
