"""A live model's answers reach the agent's own client, whichever it is: whole, streamed, awaited, at once."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import openai
import pytest
import requests

import evalkit
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.model import Replay
from tests.build import a_case, a_trace, tool_step
from tests.capture.scripted_server import (
    ScriptedServer,
    completion,
    json_reply,
    scripted_server,
    stream_reply,
)
from tests.project import Project

ASKED: dict[str, Any] = {"model": "gpt-test", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def server(project: Project) -> Iterator[ScriptedServer]:
    """The endpoint."""
    with scripted_server() as script:
        yield script


def case() -> Case:
    """A case without model calls of its own."""
    return a_case(a_trace(tool_step(0, "lookup", {"order": 7}, 1)), checks=[Check("repeated_effect", {"names": ["x"]})])


def replayed(server: ScriptedServer, agent: Callable[[Any], Any]) -> Replay:
    """A live replay."""
    return evalkit.replay(case(), agent, mode="live-model", base_url=server.url)


def streamed(order: Any) -> list[str]:
    """The OpenAI SDK, synchronous."""
    with openai.OpenAI() as client:
        chunks = client.chat.completions.create(**ASKED, stream=True)
        return [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]


async def streamed_async(order: Any) -> list[str]:
    """The OpenAI SDK, asynchronous."""
    async with openai.AsyncOpenAI() as client:
        chunks = await client.chat.completions.create(**ASKED, stream=True)
        return [chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices]


def _url() -> str:
    return os.environ["OPENAI_BASE_URL"] + "/chat/completions"


def _texts(lines: list[bytes]) -> list[str]:
    events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
    return [event["choices"][0]["delta"].get("content") or "" for event in events]


def streamed_by_requests(order: Any) -> list[str]:
    """requests, line by line."""
    with requests.post(_url(), json={**ASKED, "stream": True}, stream=True, timeout=5) as response:
        return _texts(list(response.iter_lines()))


async def streamed_by_aiohttp(order: Any) -> list[str]:
    """aiohttp, line by line."""
    async with aiohttp.ClientSession() as session, session.post(_url(), json={**ASKED, "stream": True}) as response:
        return _texts([line async for line in response.content])


@pytest.mark.parametrize("agent", [streamed, streamed_async, streamed_by_requests, streamed_by_aiohttp])
def test_a_stream_comes_through(server: ScriptedServer, agent: Callable[[Any], Any]) -> None:
    """Every delta by itself, after an outage that the agent sees nothing of; the step has the answer."""
    busy = json_reply({"error": {"message": "busy"}}, status=503, retry_after="0")
    server.will(busy, stream_reply({"content": "hel"}, {"content": "lo"}))
    done = replayed(server, agent)
    assert [text for text in done.trace.output if text] == ["hel", "lo"]  # type: ignore[union-attr]  # a list
    (step,) = done.trace.steps
    assert isinstance(step.output, dict)
    assert step.output["content"] == "hello"
    assert (step.error, step.attributes["tries"], step.attributes["stream"]) == (None, 2, True)
    assert (done.counts.live_model, len(server.requests)) == (1, 2)


def test_calls_of_one_agent_run_at_once(server: ScriptedServer) -> None:
    """An agent that gathers is not made to wait in line: all its requests are there before the first answer is."""
    server.will(json_reply(completion("x")))

    async def agent(order: Any) -> list[Any]:
        async with openai.AsyncOpenAI() as client:
            ask = client.chat.completions.create
            answers = await asyncio.gather(*(ask(**ASKED, user=str(at)) for at in range(8)))
        return [answer.choices[0].message.content for answer in answers]

    done = replayed(server, agent)
    assert done.trace.output == ["x"] * 8
    assert sorted(request["body"]["user"] for request in server.requests) == [str(at) for at in range(8)]
    assert done.counts.live_model == 8


def test_a_refusal_of_the_request_is_the_agents_own(server: ScriptedServer) -> None:
    """It may mend its request, as with its own client."""
    refused = json_reply({"error": {"message": "too long", "type": "invalid_request_error"}}, status=400)
    server.will(refused, json_reply(completion("better")))

    def agent(order: Any) -> Any:
        with openai.OpenAI() as client:
            with pytest.raises(openai.BadRequestError, match="too long"):
                client.chat.completions.create(**ASKED)
            return client.chat.completions.create(**ASKED).choices[0].message.content

    done = replayed(server, agent)
    assert (done.status, done.trace.output, done.counts.live_model) == ("passed", "better", 2)
