"""Agents that call their model over requests or aiohttp, recorded and replayed in the frozen world."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra dev is older than these tests")
pytest.importorskip("requests", reason="the extra dev is older than these tests")

import aiohttp
import requests

from evalkit.capture.http import http_capture
from evalkit.capture.seam import Session
from evalkit.trace.model import Step
from tests.capture.scripted_server import completion, json_reply, scripted_server, stream_reply
from tests.playback.endpoint import Loop
from tests.project import Project

BODY: dict[str, Any] = {"model": "gpt-test", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def loop(project: Project) -> Iterator[Loop]:
    """An endpoint that answers once whole and once as a stream."""
    with scripted_server() as server:
        server.will(json_reply(completion("whole")), stream_reply({"content": "in "}, {"content": "pieces"}))
        yield Loop(server, project.root)


def over_requests(url: str, question: dict[str, Any]) -> list[Any]:
    """Both answers, by requests."""
    with requests.Session() as client:
        whole = client.post(url, json=question).json()
        with client.post(url, json={**question, "stream": True}, stream=True) as response:
            lines = [line for line in response.iter_lines() if b"content" in line]
    return [whole["choices"][0]["message"]["content"], len(lines)]


def over_aiohttp(url: str, question: dict[str, Any]) -> list[Any]:
    """Both answers, by aiohttp."""

    async def run() -> list[Any]:
        async with aiohttp.ClientSession() as client:
            async with client.post(url, json=question) as response:
                whole = await response.json()
            async with client.post(url, json={**question, "stream": True}) as response:
                lines = [line async for line in response.content if b"content" in line]
        return [whole["choices"][0]["message"]["content"], len(lines)]

    return asyncio.run(run())


@pytest.mark.parametrize("ask", [over_requests, over_aiohttp])
def test_a_replay_reaches_nothing_and_a_miss_halts(loop: Loop, ask: Any) -> None:
    """The agent gets the recorded answers with the endpoint's machine cut off; another question is a miss."""
    url = f"{loop.server.url}/chat/completions"

    def agent(question: Any) -> Any:
        return ask(url, question)

    trace = loop.record(agent, BODY)
    assert trace.output == ["whole", 2]
    case = loop.case(trace)
    done = loop.replay(case, agent)
    assert (done.misses, done.trace.output, done.counts.substituted) == ((), ["whole", 2], 2)
    other = loop.replay(case, lambda question: agent({**question, "temperature": 0.5}))
    assert (other.status, other.trace.output) == ("missed", None)


class Unseen:
    """An observer that keeps nothing."""

    def started(self, step: Step) -> None:
        """Nothing is kept."""

    def ended(self, step: Step) -> None:
        """Nothing is kept."""


@pytest.mark.parametrize("ask", [over_requests, over_aiohttp])
def test_a_swapped_model_is_what_the_endpoint_is_asked_for(loop: Loop, ask: Any) -> None:
    """The request is changed on its way out, whatever library sends it."""
    session = Session(None, Unseen(), lambda: 0.0, rewrite=lambda _wire, body: {**body, "model": "another"})
    with http_capture(), session.active():
        assert ask(f"{loop.server.url}/chat/completions", BODY) == ["whole", 2]
    assert [request["body"]["model"] for request in loop.server.requests] == ["another", "another"]
