"""Anthropic's Messages API recorded and answered, seen from the real SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import anthropic
import pytest

from evalkit.trace.model import Step, StepError, Usage
from tests.capture.harness import replaying, session
from tests.capture.scripted_apis import BLOCKS, OVERLOADED, events_reply, message, message_events
from tests.capture.scripted_server import Reply, ScriptedServer, json_reply

ASKED: dict[str, Any] = {
    "model": "claude-test",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "refund Zoë"}],
}
OUTPUT: Any = {
    "role": "assistant",
    "content": [{"type": "redacted_thinking", "data": "EmwKAhgBEgy3"}, {"type": "text", "text": "Let me refund  Zoë."}],
    "reasoning": "They want\n\na refund.",
    "tool_calls": [
        {"id": "toolu_1", "name": "find", "arguments": {"id": "ü 7"}},
        {"id": "toolu_2", "name": "refund", "arguments": {"amount": 2.5, "to": "Zoë"}},
        {"id": "toolu_3", "name": "close", "arguments": {}},
    ],
}


def client(server: ScriptedServer | None = None, **options: Any) -> anthropic.Anthropic:
    """The SDK's client, without retries unless asked for."""
    return anthropic.Anthropic(**{"base_url": _url(server), "api_key": "sk-test", "max_retries": 0, **options})


def async_client(server: ScriptedServer | None = None) -> anthropic.AsyncAnthropic:
    """The SDK's asynchronous client, without retries."""
    return anthropic.AsyncAnthropic(base_url=_url(server), api_key="sk-test", max_retries=0)


def _url(server: ScriptedServer | None) -> str:
    return server.url.removesuffix("/v1") if server else "https://nowhere.invalid"


def create(sdk: anthropic.Anthropic, **options: Any) -> Any:
    """One message."""
    with sdk:
        return sdk.messages.create(**{**ASKED, **options})


def events(sdk: anthropic.Anthropic, **options: Any) -> list[Any]:
    """The events of a streamed message, as plain data."""
    with sdk:
        return [event.model_dump() for event in sdk.messages.create(**{**ASKED, **options}, stream=True)]


async def events_async(sdk: anthropic.AsyncAnthropic) -> list[Any]:
    """The same, asynchronously."""
    async with sdk:
        stream: Any = await sdk.messages.create(**ASKED, stream=True)
        return [event.model_dump() async for event in stream]


def recorded(server: ScriptedServer, *replies: Reply, stream: bool = False, **options: Any) -> Step:
    """The step that one request is recorded as."""
    server.will(*replies)
    with session() as run, contextlib.suppress(anthropic.APIError):
        events(client(server), **options) if stream else create(client(server), **options)
    return run.only


def test_the_sdk_gets_the_same_object_from_a_recording(server: ScriptedServer) -> None:
    """Blocks, ids, signatures, redacted thinking, usage and request id come back."""
    search: list[dict[str, Any]] = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Zoë"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    ]
    cited: dict[str, Any] = {
        "type": "text",
        "text": "As is said.",
        "citations": [
            {
                "type": "char_location",
                "cited_text": "x",
                "document_index": 0,
                "document_title": None,
                "end_char_index": 2,
                "file_id": None,
                "start_char_index": 1,
            }
        ],
    }
    server.will(json_reply(message(*BLOCKS[:2], *search, cited, *BLOCKS[2:]), request_id="req_1"))
    with session() as run:
        real = create(client(server))
    with replaying(run.only) as replay:
        again = create(client())
    assert again.model_dump() == real.model_dump()
    assert again._request_id == real._request_id == "req_1"
    assert replay.only.output == run.only.output


def test_usage_counts_what_went_through_the_cache(server: ScriptedServer) -> None:
    """Input tokens are all that were read; the API reports those of the cache apart."""
    step = recorded(server, json_reply(message(*BLOCKS)))
    assert step.output == OUTPUT
    assert step.usage == Usage(60, 25, 30, None)
    assert step.attributes["wire"] == "anthropic"


def test_a_stream_comes_back_event_by_event(server: ScriptedServer) -> None:
    """Kinds and pieces are those of the recording, sync and async, and the step holds the answer once."""
    server.will(events_reply(message_events(), request_id="req_2"))
    with session() as run:
        real = events(client(server))
    assert run.only.output == OUTPUT
    assert run.only.error is None
    assert run.only.usage == Usage(60, 25, 30, None)
    assert "Zoë" not in repr(run.only.attributes)
    with replaying(run.only):
        assert events(client()) == real
    with replaying(run.only):
        assert asyncio.run(events_async(async_client())) == real


def test_a_replayed_stream_is_the_recorded_one_byte_by_byte(server: ScriptedServer) -> None:
    """Pings, which the SDK hides, and the event names too."""
    sent = message_events()
    step = recorded(server, events_reply(sent), stream=True)
    with replaying(step), client() as sdk, sdk.messages.with_streaming_response.create(**ASKED, stream=True) as live:
        lines = [line for line in live.iter_lines() if line]
    assert lines[::2] == [f"event: {event['type']}" for event in sent]
    assert [json.loads(line.removeprefix("data: ")) for line in lines[1::2]] == sent


def test_an_async_stream_is_recorded_as_a_sync_one(server: ScriptedServer) -> None:
    """The asynchronous client leaves the same step."""
    server.will(events_reply(message_events()))

    async def run_once() -> Step:
        with session() as run:
            await events_async(async_client(server))
        return run.only

    assert asyncio.run(run_once()).output == OUTPUT


def test_what_was_not_streamed_can_be_and_the_other_way_round(server: ScriptedServer) -> None:
    """A recorded answer serves both ways of asking."""
    whole = recorded(server, json_reply(message(*BLOCKS, stop_reason="tool_use")))
    with replaying(whole), client() as sdk, sdk.messages.stream(**ASKED) as stream:
        final: Any = stream.get_final_message()
    assert [block.type for block in final.content] == [block["type"] for block in BLOCKS]
    assert final.content[0].signature == "EqQBCgIYAhIM"
    server.replies.clear()
    streamed = recorded(server, events_reply(message_events()), stream=True)
    with replaying(streamed):
        from_stream = create(client())
    with replaying(whole):
        assert from_stream.model_dump() == create(client()).model_dump()


def test_an_answer_that_the_agent_sends_back_is_recognised(server: ScriptedServer) -> None:
    """The blocks of an answer are one Message in the next request, and each result is one of its own."""
    server.will(json_reply(message(*BLOCKS)))
    marked = {"cache_control": {"type": "ephemeral"}}
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "none"}]},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such", "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_3"},
        {"type": "text", "text": "go on", **marked},
    ]
    with session() as run:
        first = create(client(server), system=[{"type": "text", "text": "be kind", **marked}])
        history = [*ASKED["messages"], {"role": "assistant", "content": first.content}]
        create(client(server), messages=[*history, {"role": "user", "content": results}])
    assert run.steps[0].input["messages"][0] == {"role": "system", "content": "be kind"}  # type: ignore[index,call-overload]  # JSON
    expected: list[Any] = [
        {"role": "user", "content": "refund Zoë"},
        run.steps[0].output,
        {"role": "tool", "content": "none", "tool_call_id": "toolu_1"},
        {"role": "tool", "content": "no such", "tool_call_id": "toolu_2", "is_error": True},
        {"role": "tool", "content": None, "tool_call_id": "toolu_3"},
        {"role": "user", "content": "go on"},
    ]
    assert run.steps[1].input["messages"] == expected  # type: ignore[index,call-overload]  # JSON


def test_raw_helpers_work_on_a_recording(server: ScriptedServer) -> None:
    """The SDK's helper for raw responses finds headers and body."""
    step = recorded(server, json_reply(message(*BLOCKS), request_id="req_3"))
    with replaying(step), client() as sdk:
        raw = sdk.messages.with_raw_response.create(**ASKED)
    assert raw.headers["request-id"] == "req_3"
    assert raw.parse().stop_reason == "end_turn"


def test_the_beta_endpoint_is_the_same(server: ScriptedServer) -> None:
    """Betas differ by header, or query, only."""
    server.will(json_reply(message(*BLOCKS)))
    with session() as run, client(server) as sdk:
        sdk.beta.messages.create(**ASKED, betas=["x-1"])
    with replaying(run.only), client() as sdk:
        assert sdk.beta.messages.create(**ASKED, betas=["x-1"]).content[3].type == "tool_use"


def test_counting_tokens_is_no_model_call(server: ScriptedServer) -> None:
    """It goes through, and leaves no step."""
    server.will(json_reply({"input_tokens": 14}))
    with session() as run, client(server) as sdk:
        asked = {key: value for key, value in ASKED.items() if key != "max_tokens"}
        assert sdk.messages.count_tokens(**asked).input_tokens == 14
    assert run.steps == []


def test_a_refusal_is_an_answer(server: ScriptedServer) -> None:
    """A refused turn keeps its reason, streaming and not."""
    step = recorded(server, json_reply(message(stop_reason="refusal")))
    assert step.error is None
    with replaying(step):
        assert create(client()).stop_reason == "refusal"
    with replaying(step):
        assert events(client())[-2]["delta"]["stop_reason"] == "refusal"


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [(429, "rate_limit_error", anthropic.RateLimitError), (529, "overloaded_error", anthropic.InternalServerError)],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_status_is_raised_again(
    server: ScriptedServer, status: int, kind: str, error: type[anthropic.APIStatusError], stream: bool
) -> None:
    """The SDK raises the same error with the same body and wait from a recording."""
    body = {"type": "error", "error": {"type": kind, "message": "wait"}}
    step = recorded(server, json_reply(body, status, retry_after="7"), stream=stream)
    assert step.error == StepError(kind, "wait")
    with replaying(step), pytest.raises(error) as caught:
        events(client()) if stream else create(client())
    assert (caught.value.status_code, caught.value.body) == (status, body)
    assert caught.value.response.headers["retry-after"] == "7"


def test_an_imported_error_has_the_status_of_its_kind() -> None:
    """An error known by the API's own name only is raised as the SDK raises it."""
    step = Step(0, "model", "chat", error=StepError("overloaded_error", "Overloaded"))
    with replaying(step), pytest.raises(anthropic.APIStatusError) as caught:
        create(client())
    assert caught.value.status_code == 529


def test_an_error_amid_a_stream_comes_at_its_place(server: ScriptedServer) -> None:
    """What came before it comes again in the same pieces, and then the SDK raises the error."""
    server.will(events_reply([*message_events()[:9], OVERLOADED]))
    with session() as run:
        real = _until_error(client(server))
    assert len(real) == 8  # without the ping
    assert run.only.error == StepError("overloaded_error", "Overloaded")
    with replaying(run.only):
        assert _until_error(client()) == real
    with replaying(run.only), pytest.raises(anthropic.InternalServerError, match="Overloaded"):
        create(client())


def _until_error(sdk: anthropic.Anthropic) -> list[Any]:
    """The events until the server sent its error."""
    got: list[Any] = []

    def read() -> None:
        got.extend(event.model_dump() for event in sdk.messages.create(**ASKED, stream=True))

    with sdk, pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        read()
    return got


@pytest.mark.parametrize("count", range(1, 36, 4))
@pytest.mark.parametrize("broken", [True, False])
def test_a_stream_cut_anywhere_is_cut_there_again(server: ScriptedServer, count: int, broken: bool) -> None:
    """The step holds what had come, and a replay ends at the same event with the same failure."""
    server.will(events_reply(message_events()[:count], cut=broken))
    with session() as run:
        real = _until_broken(client(server), broken)
    with replaying(run.only):
        assert _until_broken(client(), broken) == real
    assert run.only.error is not None
    assert run.only.error.type == ("RemoteProtocolError" if broken else "StreamCut")


def _until_broken(sdk: anthropic.Anthropic, broken: bool) -> list[Any]:
    """The events until the connection broke."""
    got: list[Any] = []

    def read() -> None:
        got.extend(event.model_dump() for event in sdk.messages.create(**ASKED, stream=True))

    with sdk, pytest.raises(Exception, match="peer closed") if broken else contextlib.nullcontext():
        read()
    return got


def test_an_imported_answer_needs_no_http() -> None:
    """A model step that never was HTTP answers the SDK, streaming and not, with the same ids each time."""
    output = {"role": "assistant", "content": "Let me see.", "tool_calls": OUTPUT["tool_calls"]}
    step = Step(0, "model", "chat", output=output, model="claude-x", usage=Usage(40, 2, 30))
    with replaying(step):
        whole = create(client())
    with replaying(step), client() as sdk, sdk.messages.stream(**ASKED) as stream:
        final: Any = stream.get_final_message()
    for found in (whole, final):
        assert [block.type for block in found.content] == ["text", "tool_use", "tool_use", "tool_use"]
        assert found.content[2].input == {"amount": 2.5, "to": "Zoë"}
        assert (found.stop_reason, found.usage.input_tokens) == ("tool_use", 10)
    assert whole.id == final.id


@pytest.mark.parametrize("stream", [False, True])
def test_vertex_is_known_by_its_path(server: ScriptedServer, stream: bool) -> None:
    """The model stands in the path there, and matching still sees it."""
    path = "/projects/p/locations/l/publishers/anthropic/models/claude-test@20250101:"
    sdk = anthropic.AnthropicVertex(base_url=server.url, access_token="t", project_id="p", region="l", max_retries=0)
    server.will(events_reply(message_events()) if stream else json_reply(message(*BLOCKS)))
    asked = {**ASKED, "model": "claude-test@20250101"}
    with session() as run, sdk:
        if stream:
            list(sdk.messages.create(**asked, stream=True))
        else:
            sdk.messages.create(**asked)
    assert server.requests[0]["path"] == f"/v1{path}{'streamRawPredict' if stream else 'rawPredict'}"
    assert run.only.output == OUTPUT
    assert run.only.attributes["requested_model"] == "claude-test@20250101"
