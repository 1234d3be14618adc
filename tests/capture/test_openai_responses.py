"""OpenAI's Responses API recorded and answered, seen from the real SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import openai
import pydantic
import pytest

from evalkit.trace.evidence import evidence
from evalkit.trace.model import Step, StepError, Trace, Usage
from tests.capture.harness import replaying, session
from tests.capture.scripted_apis import (
    CALLS,
    REASONING,
    SAID,
    events_reply,
    response,
    response_events,
)
from tests.capture.scripted_server import Reply, ScriptedServer, json_reply
from tests.capture.test_http import async_client, client

ASKED: dict[str, Any] = {"model": "gpt-test", "input": "refund Zoë"}
OUTPUT: Any = {
    "role": "assistant",
    "content": "Let me refund  Zoë.",
    "reasoning": "**Looking**\n\nat the order\n\nthen the refund",
    "tool_calls": [
        {"id": "call_find", "name": "find", "arguments": {"id": "ü 7"}},
        {"id": "call_refund", "name": "refund", "arguments": {"amount": 2.5, "to": "Zoë"}},
    ],
}


def create(sdk: openai.OpenAI, **options: Any) -> Any:
    """One response."""
    with sdk:
        return sdk.responses.create(**{**ASKED, **options})


def events(sdk: openai.OpenAI, **options: Any) -> list[Any]:
    """The events of a streamed response, as plain data without the padding."""
    with sdk:
        return [_plain(event) for event in sdk.responses.create(**{**ASKED, **options}, stream=True)]


async def events_async(sdk: openai.AsyncOpenAI) -> list[Any]:
    """The same, asynchronously."""
    async with sdk:
        stream: Any = await sdk.responses.create(**ASKED, stream=True)
        return [_plain(event) async for event in stream]


def _plain(event: Any) -> dict[str, Any]:
    return {key: value for key, value in event.model_dump().items() if key != "obfuscation"}


def recorded(server: ScriptedServer, *replies: Reply, stream: bool = False, **options: Any) -> Step:
    """The step that one request is recorded as."""
    server.will(*replies)
    with session() as run, contextlib.suppress(openai.APIError):
        events(client(server), **options) if stream else create(client(server), **options)
    return run.only


def test_the_sdk_gets_the_same_object_from_a_recording(server: ScriptedServer) -> None:
    """Items, ids, encrypted reasoning, the spelling of arguments, usage and request id come back."""
    search = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    server.will(json_reply(response(REASONING, search, SAID, *CALLS), x_request_id="req_1"))
    with session() as run:
        real = create(client(server))
    with replaying(run.only) as replay:
        again = create(client())
    assert again.model_dump() == real.model_dump()
    assert again._request_id == real._request_id == "req_1"
    assert replay.only.output == run.only.output
    assert run.only.usage == Usage(36, 87, 8, 5)
    assert (run.only.model, run.only.attributes["requested_model"]) == ("gpt-test-2025-04-14", "gpt-test")


def test_a_stream_comes_back_event_by_event(server: ScriptedServer) -> None:
    """Kinds, numbers and pieces are those of the recording, sync and async, and the step holds the answer once."""
    server.will(events_reply(response_events(), x_request_id="req_2"))
    with session() as run:
        real = events(client(server))
    assert run.only.output == OUTPUT
    assert run.only.error is None
    assert "Let me" not in repr(run.only.attributes)
    with replaying(run.only):
        assert events(client()) == real
    with replaying(run.only):
        assert asyncio.run(events_async(async_client())) == real
    with replaying(run.only), client() as sdk:
        assert sdk.responses.create(**ASKED, stream=True).response.headers["x-request-id"] == "req_2"


def test_an_async_stream_is_recorded_as_a_sync_one(server: ScriptedServer) -> None:
    """The asynchronous client leaves the same step."""
    server.will(events_reply(response_events()))

    async def run_once() -> Step:
        with session() as run:
            await events_async(async_client(server))
        return run.only

    assert asyncio.run(run_once()).output == OUTPUT


def test_what_was_not_streamed_can_be_and_the_other_way_round(server: ScriptedServer) -> None:
    """A recorded answer serves both ways of asking."""
    whole = recorded(server, json_reply(response(REASONING, SAID, *CALLS)))
    with replaying(whole), client() as sdk, sdk.responses.stream(**ASKED) as stream:
        kinds = [event.type for event in stream]
        final: Any = stream.get_final_response()
    assert final.output_text == "Let me refund  Zoë."
    assert [item.id for item in final.output] == ["rs_1", "msg_1", "fc_find", "fc_refund"]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert "response.function_call_arguments.delta" in kinds
    server.replies.clear()
    streamed = recorded(server, events_reply(response_events()), stream=True)
    with replaying(streamed):
        from_stream = create(client())
    with replaying(whole):
        assert from_stream.model_dump() == create(client()).model_dump()


def test_an_answer_that_the_agent_sends_back_is_recognised(server: ScriptedServer) -> None:
    """The items of an answer are one Message in the next request, and results follow it."""
    server.will(json_reply(response(REASONING, SAID, *CALLS)))
    with session() as run:
        first = create(client(server))
        results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "ok"} for call in CALLS]
        create(client(server), input=[{"role": "user", "content": "refund Zoë"}, *first.output, *results])
    messages = run.steps[1].input["messages"]  # type: ignore[index,call-overload]  # JSON
    assert messages == [
        {"role": "user", "content": "refund Zoë"},
        run.steps[0].output,
        {"role": "tool", "content": "ok", "tool_call_id": "call_find"},
        {"role": "tool", "content": "ok", "tool_call_id": "call_refund"},
    ]


def test_messages_that_the_provider_keeps_are_missing(server: ScriptedServer) -> None:
    """A request that continues a stored response is not all there, and the evidence says so."""
    step = recorded(server, json_reply(response(SAID)), previous_response_id="resp_0")
    assert step.attributes["missing"] == ["input"]
    assert step.input["params"] == {"previous_response_id": "resp_0"}  # type: ignore[index,call-overload]  # JSON
    assert "step 0: messages missing" in evidence(Trace("t", "a", "evalkit", (step,))).gaps


def test_parsing_works_on_a_recording(server: ScriptedServer) -> None:
    """`responses.parse` reads a recorded answer into its model."""

    class City(pydantic.BaseModel):
        name: str

    said = {**SAID, "content": [{"type": "output_text", "text": '{"name": "Oslo"}', "annotations": []}]}
    step = recorded(server, json_reply(response(said)))
    with replaying(step), client() as sdk:
        assert sdk.responses.parse(**ASKED, text_format=City).output_parsed == City(name="Oslo")


def test_raw_and_streaming_helpers_work_on_a_recording(server: ScriptedServer) -> None:
    """The SDK's helpers for raw responses find headers, body and lines."""
    step = recorded(server, json_reply(response(SAID), x_request_id="req_3"))
    with replaying(step), client() as sdk:
        raw = sdk.responses.with_raw_response.create(**ASKED)
    assert raw.headers["x-request-id"] == "req_3"
    assert raw.parse().output_text == "Let me refund  Zoë."
    with replaying(step), client() as sdk, sdk.responses.with_streaming_response.create(**ASKED) as live:
        assert json.loads("".join(live.iter_text()))["id"] == "resp_67ccd2bed1ec8190"


def test_a_refusal_comes_back(server: ScriptedServer) -> None:
    """A refusal stands in the step as one, and in the replayed item."""
    refused = {**SAID, "content": [{"type": "refusal", "refusal": "I can't help with that."}]}
    step = recorded(server, json_reply(response(refused)))
    assert step.output == {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    with replaying(step):
        assert create(client()).output[0].content[0].refusal == "I can't help with that."


def test_a_limit_is_raised_again_and_its_wait_kept(server: ScriptedServer) -> None:
    """A 429 has its code, body and Retry-After in a replay."""
    body = {"error": {"message": "slow down", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
    step = recorded(server, json_reply(body, 429, retry_after="7"), stream=True)
    assert step.error == StepError("rate_limit_exceeded", "slow down")
    with replaying(step), pytest.raises(openai.RateLimitError) as caught:
        events(client())
    assert caught.value.body == body["error"]
    assert caught.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_response_is_an_error_of_the_step(server: ScriptedServer, stream: bool) -> None:
    """A failure comes with status 200; the caller gets it as it was, and the step has its error."""
    failed = response(status="failed", usage=None, error={"code": "server_error", "message": "The model failed."})
    sent = [
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": {**failed, "status": "in_progress", "error": None},
        },
        {"type": "response.failed", "sequence_number": 1, "response": failed},
    ]
    step = recorded(server, events_reply(sent) if stream else json_reply(failed), stream=stream)
    assert step.error == StepError("server_error", "The model failed.")
    with replaying(step):
        assert create(client()).error.message == "The model failed."
    with replaying(step):
        assert events(client())[-1]["type"] == "response.failed"


def test_an_answer_that_reached_its_limit_is_incomplete(server: ScriptedServer) -> None:
    """An incomplete response is an answer, and ends as one."""
    details = {"reason": "max_output_tokens"}
    step = recorded(server, json_reply(response(SAID, status="incomplete", incomplete_details=details)))
    assert step.error is None
    with replaying(step):
        assert events(client())[-1]["response"]["incomplete_details"] == details


def test_an_error_amid_a_stream_comes_at_its_place(server: ScriptedServer) -> None:
    """What came before it comes again in the same pieces, and then the error."""
    error = {"type": "error", "code": "server_error", "message": "oops", "param": None, "sequence_number": 21}
    server.will(events_reply([*response_events()[:21], error]))
    with session() as run:
        real = events(client(server))
    assert run.only.error == StepError("server_error", "oops")
    assert real[-1]["message"] == "oops"
    with replaying(run.only):
        assert events(client()) == real
    with replaying(run.only), pytest.raises(openai.InternalServerError):
        create(client())


@pytest.mark.parametrize("count", range(1, 42, 5))
@pytest.mark.parametrize("broken", [True, False])
def test_a_stream_cut_anywhere_is_cut_there_again(server: ScriptedServer, count: int, broken: bool) -> None:
    """The step holds what had come, and a replay ends at the same event with the same failure."""
    server.will(events_reply(response_events()[:count], cut=broken))
    with session() as run:
        real = _until_broken(client(server), broken)
    assert len(real) == count
    with replaying(run.only):
        assert _until_broken(client(), broken) == real
    assert run.only.error is not None
    assert run.only.error.type == ("RemoteProtocolError" if broken else "StreamCut")


def _until_broken(sdk: openai.OpenAI, broken: bool) -> list[Any]:
    """The events until the connection broke."""
    got: list[Any] = []

    def read() -> None:
        got.extend(_plain(event) for event in sdk.responses.create(**ASKED, stream=True))

    with sdk, pytest.raises(openai.APIConnectionError) if broken else contextlib.nullcontext():
        read()
    return got


def test_an_imported_answer_needs_no_http() -> None:
    """A model step that never was HTTP answers the SDK, streaming and not, with the same ids each time."""
    step = Step(0, "model", "chat", output=dict(OUTPUT), model="gpt-x", usage=Usage(3, 2))
    with replaying(step):
        whole = create(client())
    with replaying(step), client() as sdk, sdk.responses.stream(**ASKED) as stream:
        final: Any = stream.get_final_response()
    for found in (whole, final):
        assert [item.type for item in found.output] == ["reasoning", "message", "function_call", "function_call"]
        assert found.output_text == "Let me refund  Zoë."
        assert found.output[3].call_id == "call_refund"
        assert found.usage.input_tokens == 3
    assert [item.id for item in whole.output] == [item.id for item in final.output]


def test_azures_paths_are_known(server: ScriptedServer) -> None:
    """Azure's client asks for a deployment; both of its APIs are recorded."""
    server.will(json_reply(response(SAID)))
    azure = openai.AzureOpenAI(
        azure_endpoint=server.url.removesuffix("/v1"), api_key="k", api_version="2025-04-01-preview", max_retries=0
    )
    with session() as run, azure:
        azure.responses.create(**ASKED)
        with contextlib.suppress(openai.APIError, TypeError):
            azure.chat.completions.create(model="dep", messages=[{"role": "user", "content": "x"}])
    assert [step.attributes["wire"] for step in run.steps] == ["openai_responses", "openai_chat"]
    assert run.steps[1].attributes["endpoint"].endswith("/openai/deployments/dep/chat/completions")
