"""Changed requests and broken streams as the OpenAI SDK meets them, sync and async."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

import evalkit
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.faults import Fault
from evalkit.playback.overrides import Overrides
from evalkit.trace.model import Step
from tests.build import BOUGHT_AT, a_case, a_trace
from tests.capture.scripted_server import ScriptedServer, completion, json_reply, stream_reply

SAID = "one two three four five six"
MESSAGES: Any = [{"role": "system", "content": "old"}, {"role": "user", "content": "hello"}]


def the_case() -> Case:
    """One model call."""
    step = Step(
        0, "model", "chat", {"messages": MESSAGES, "tools": [], "params": {}}, {"role": "assistant", "content": SAID},
        started_at=BOUGHT_AT, ended_at=BOUGHT_AT + 1, model="m1",
    )  # fmt: skip
    return a_case(a_trace(step, output=SAID, input={}), checks=[Check("repeated_effect", {"names": ["refund"]})])


def asks() -> Any:
    """A plain call."""
    with OpenAI(max_retries=0) as client:
        return client.chat.completions.create(model="m1", messages=MESSAGES).choices[0].message.content


def asks_async() -> Any:
    """The same, async."""

    async def ask() -> Any:
        async with AsyncOpenAI(max_retries=0) as client:
            done = await client.chat.completions.create(model="m1", messages=MESSAGES)
        return done.choices[0].message.content

    return asyncio.run(ask())


def streams() -> Any:
    """A streamed call; what came before it broke, and what broke it."""
    text = ""
    try:
        with OpenAI(max_retries=0) as client:
            for chunk in client.chat.completions.create(model="m1", messages=MESSAGES, stream=True):
                text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
    except Exception as error:
        return [text, type(error).__name__]
    return [text, ""]


@pytest.mark.parametrize("target", [asks, asks_async, streams])
def test_the_sdk_gets_the_answer_to_the_changed_request(server: ScriptedServer, target: Any) -> None:
    """The step holds what was really asked."""
    server.will(stream_reply({"content": "ok"}) if target is streams else json_reply(completion("ok")))
    overrides = Overrides(model="m2", system_prompt="a new and longer prompt", extra_body={"top_k": 5})
    done = evalkit.replay(the_case(), target, mode="prompt-swap", base_url=server.url, overrides=overrides)
    assert done.trace.output == (["ok", ""] if target is streams else "ok"), done.reason
    body = server.requests[0]["body"]
    assert (body["model"], body["top_k"]) == ("m2", 5)
    (step,) = done.trace.steps
    given: Any = step.input
    assert given["messages"][0] == {"role": "system", "content": "a new and longer prompt"}
    assert given["params"]["top_k"] == 5


def test_a_stream_breaks_off_in_its_middle() -> None:
    """Half of the recorded text comes; an agent that does not stream gets no answer at all."""
    fault = Fault("chat", "partial_stream")
    output: Any = evalkit.replay(the_case(), streams, mode="simulation", faults=[fault]).trace.output
    text, error = output
    assert (text, bool(error)) == (SAID[: len(SAID) // 2], True)
    done = evalkit.replay(the_case(), asks, mode="simulation", faults=[fault])
    assert done.trace.error is not None
    assert done.trace.error.type == "APIConnectionError"


@pytest.mark.parametrize(("kind", "error"), [("error", "InternalServerError"), ("timeout", "APITimeoutError")])
def test_a_model_fault_is_the_sdks_own_error(kind: Any, error: str) -> None:
    """As the SDK raises it."""
    done = evalkit.replay(the_case(), asks, mode="simulation", faults=[Fault("chat", kind)])
    assert done.trace.error is not None
    assert (done.status, done.trace.error.type) == ("failed", error)


def test_a_wrong_model_answer() -> None:
    """Another text."""
    done = evalkit.replay(the_case(), asks, mode="simulation", faults=[Fault("chat", "wrong_value")])
    assert done.trace.output == "injected fault: a wrong answer"
    said: Any = {"role": "assistant", "content": "no"}
    done = evalkit.replay(the_case(), asks, mode="simulation", faults=[Fault("chat", "wrong_value", value=said)])
    assert done.trace.output == "no"
