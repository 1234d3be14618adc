"""Model calls captured and substituted at the HTTP client, seen from the real OpenAI SDK and from bare clients."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import dataclasses
import gzip
import json
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import httpx2
import openai
import pytest

from evalkit.capture.seam import current_session
from evalkit.trace.model import Step, StepError, Usage
from tests.capture.harness import replaying, session
from tests.capture.scripted_server import Reply, ScriptedServer, completion, json_reply, stream_reply, tool_call

QUESTION: Any = [{"role": "user", "content": "hi"}]
CHAT = "https://api.openai.com/v1/chat/completions"
DELTAS = ({"role": "assistant", "content": ""}, {"content": "Hello "}, {"content": "wörld"})


def client(server: ScriptedServer | None = None, **options: Any) -> openai.OpenAI:
    """The SDK's client, without retries unless asked for."""
    url = server.url if server else "https://nowhere.invalid/v1"
    return openai.OpenAI(**{"base_url": url, "api_key": "sk-test", "max_retries": 0, **options})


def async_client(server: ScriptedServer | None = None, **options: Any) -> openai.AsyncOpenAI:
    """The SDK's asynchronous client, without retries unless asked for."""
    url = server.url if server else "https://nowhere.invalid/v1"
    return openai.AsyncOpenAI(**{"base_url": url, "api_key": "sk-test", "max_retries": 0, **options})


def ask(sdk: openai.OpenAI, **options: Any) -> Any:
    """One question."""
    with sdk:
        return sdk.chat.completions.create(**{"model": "gpt-test", "messages": QUESTION, **options})


def open_stream(sdk: openai.OpenAI, **options: Any) -> Any:
    """A streamed answer, not read yet."""
    return sdk.chat.completions.create(model="gpt-test", messages=QUESTION, stream=True, **options)


def streamed_text(sdk: openai.OpenAI, **options: Any) -> str:
    """The text of a streamed answer, read to its end."""
    with sdk:
        stream = open_stream(sdk, **options)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


async def ask_async(sdk: openai.AsyncOpenAI) -> Any:
    """One question, asynchronously."""
    async with sdk:
        return await sdk.chat.completions.create(model="gpt-test", messages=QUESTION)


async def streamed_text_async(sdk: openai.AsyncOpenAI) -> str:
    """The text of a streamed answer, read asynchronously."""
    async with sdk:
        stream: Any = await sdk.chat.completions.create(model="gpt-test", messages=QUESTION, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


def recorded(server: ScriptedServer, *replies: Reply, **options: Any) -> Step:
    """The step that one question to `server` is recorded as."""
    server.will(*replies)
    with session() as run, contextlib.suppress(openai.APIError):
        if options.pop("stream", False):
            streamed_text(client(server), **options)
        else:
            ask(client(server), **options)
    return run.only


def test_a_call_is_recorded_with_all_it_asked_and_answered(server: ScriptedServer) -> None:
    """Messages, parameters, tools, model, usage and status stand in the step; what was not asked stands apart."""
    tools = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
    step = recorded(server, json_reply(completion()), temperature=0.5, user="u-1", tools=tools)
    assert step.input == {
        "messages": QUESTION,
        "tools": [{"name": "find", "parameters": {"type": "object"}}],
        "params": {"temperature": 0.5},
    }
    assert (step.kind, step.name, step.model) == ("model", "chat", "gpt-test-2025")
    assert step.output == {"role": "assistant", "content": "Hello there, how are you?"}
    assert step.usage == Usage(12, 7, 4, 2)
    assert step.attributes["status"] == 200
    assert step.attributes["request_extra"] == {"user": "u-1"}
    assert step.attributes["requested_model"] == "gpt-test"
    assert step.attributes["endpoint"] == f"{server.url}/chat/completions"
    assert "sk-test" not in repr(step)


def test_the_sdk_gets_the_same_object_from_a_recording(server: ScriptedServer) -> None:
    """A substituted answer parses to what the real one parsed to, request id included."""
    calls = [tool_call("call_a", "find", '{"id":1}'), tool_call("call_b", "refund", '{"amount":2.5}')]
    server.will(json_reply(completion(None, tool_calls=calls, reasoning_content="hm"), x_request_id="req_1"))
    with session() as run:
        real = ask(client(server))
    with replaying(run.only) as replay:
        again = ask(client())
    assert again.to_dict() | {"usage": 0} == _without_annotations(real.to_dict()) | {"usage": 0}
    assert again.usage == real.usage
    assert again._request_id == real._request_id == "req_1"
    assert replay.only.output == run.only.output
    assert run.only.output["tool_calls"][1] == {"id": "call_b", "name": "refund", "arguments": {"amount": 2.5}}  # type: ignore[index,call-overload]  # JSON


def _without_annotations(body: dict[str, Any]) -> dict[str, Any]:
    """An empty list that the normal form leaves out."""
    body["choices"][0]["message"].pop("annotations")
    return body


def test_a_stream_is_recorded_as_its_whole_answer(server: ScriptedServer) -> None:
    """The text reaches the caller, and the step holds the message that the pieces make."""
    server.will(stream_reply(*DELTAS))
    with session() as run:
        assert streamed_text(client(server)) == "Hello wörld"
    assert run.only.output == {"role": "assistant", "content": "Hello wörld"}
    assert run.only.error is None
    assert run.only.attributes["stream"] is True


def test_a_stream_flows_through_as_it_comes(server: ScriptedServer) -> None:
    """The step is still open when the caller holds the first piece: nothing is gathered first."""
    server.will(stream_reply(*DELTAS))
    with session() as run, client(server) as sdk:
        stream = open_stream(sdk)
        next(stream)
        assert run.open == {0}
        list(stream)
    assert run.only.output == {"role": "assistant", "content": "Hello wörld"}


def test_a_recorded_stream_is_answered_as_a_stream(server: ScriptedServer) -> None:
    """Sync and async SDKs read the recorded stream without a connection."""
    step = recorded(server, stream_reply(*DELTAS), stream=True)
    with replaying(step):
        assert streamed_text(client()) == "Hello wörld"
    assert asyncio.run(_replay_async(step)) == "Hello wörld"


async def _replay_async(step: Step) -> str:
    with replaying(step):
        return await streamed_text_async(async_client())


def test_usage_of_a_stream_comes_when_it_is_asked_for(server: ScriptedServer) -> None:
    """A recorded answer's usage is sent in the last chunk of a stream that includes usage, and only there."""
    step = recorded(server, json_reply(completion()))
    for include_usage, expected in ((True, [19]), (False, [])):
        options: dict[str, Any] = {"stream_options": {"include_usage": include_usage}}
        with replaying(step), client() as sdk:
            stream = open_stream(sdk, **options)
            assert [chunk.usage.total_tokens for chunk in stream if chunk.usage] == expected


def test_an_async_call_is_recorded_and_substituted(server: ScriptedServer) -> None:
    """The asynchronous client goes through the same seam."""
    server.will(json_reply(completion()))

    async def both() -> tuple[Any, Any, Step]:
        with session() as run:
            real = await ask_async(async_client(server))
        with replaying(run.only):
            return real, await ask_async(async_client()), run.only

    real, again, step = asyncio.run(both())
    assert real.choices[0].message.content == again.choices[0].message.content == "Hello there, how are you?"
    assert step.output == {"role": "assistant", "content": "Hello there, how are you?"}


def test_an_async_stream_is_recorded(server: ScriptedServer) -> None:
    """An asynchronous stream reaches the caller and the step."""
    server.will(stream_reply(*DELTAS))

    async def run_once() -> tuple[str, Step]:
        with session() as run:
            return await streamed_text_async(async_client(server)), run.only

    text, step = asyncio.run(run_once())
    assert text == "Hello wörld"
    assert step.output == {"role": "assistant", "content": "Hello wörld"}


def test_gathered_calls_are_separate_steps(server: ScriptedServer) -> None:
    """Calls under way at once in one loop don't mix."""
    server.will(*[json_reply(completion(f"answer {number}")) for number in range(6)])

    async def run_all() -> tuple[set[str], list[Step]]:
        with session() as run:
            answers = await asyncio.gather(*(ask_async(async_client(server)) for _ in range(5)))
        return {answer.choices[0].message.content for answer in answers}, run.steps

    texts, steps = asyncio.run(run_all())
    assert {step.output["content"] for step in steps} == texts  # type: ignore[index,call-overload]  # JSON
    assert len(steps) == 5
    assert all(step.parent is None for step in steps)


@pytest.mark.parametrize(
    ("status", "kind"), [(400, openai.BadRequestError), (429, openai.RateLimitError), (500, openai.InternalServerError)]
)
def test_an_error_status_is_raised_again(
    server: ScriptedServer, status: int, kind: type[openai.APIStatusError]
) -> None:
    """The SDK raises the same error with the same body and headers from a recording."""
    body = {"error": {"message": "slow down", "type": "requests", "code": "limit", "param": None}}
    step = recorded(server, json_reply(body, status, retry_after="7", x_ratelimit_remaining_requests="0"))
    assert step.error == StepError("limit", "slow down")
    with replaying(step), pytest.raises(kind) as caught:
        ask(client())
    assert caught.value.body == body["error"]
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.response.headers["x-ratelimit-remaining-requests"] == "0"


def test_each_try_of_the_sdk_is_a_step(server: ScriptedServer) -> None:
    """A retry is seen as what it is, live and in a replay."""
    refusal = json_reply({"error": {"message": "wait"}}, 429, retry_after_ms="1")
    server.will(refusal, json_reply(completion()))
    with session() as run:
        ask(client(server, max_retries=2))
    assert [step.attributes["status"] for step in run.steps] == [429, 200]
    with replaying(*run.steps) as replay:
        assert ask(client(max_retries=2)).choices[0].message.content == "Hello there, how are you?"
    assert [step.attributes["status"] for step in replay.steps] == [429, 200]


def test_an_error_page_that_is_no_json_is_kept(server: ScriptedServer) -> None:
    """A proxy's error page is recorded as text and given back as it was."""
    step = recorded(server, Reply(502, {"content-type": "text/html"}, b"<h1>Bad gateway</h1>"))
    assert step.error == StepError("http_502", "<h1>Bad gateway</h1>")
    with replaying(step), pytest.raises(openai.InternalServerError) as caught:
        ask(client())
    assert caught.value.response.text == "<h1>Bad gateway</h1>"
    assert caught.value.response.headers["content-type"] == "text/html"


def test_an_error_of_a_stream_request_is_an_error(server: ScriptedServer) -> None:
    """A refused stream is recorded with its status and refused again."""
    step = recorded(server, json_reply({"error": {"message": "no", "code": "denied"}}, 403), stream=True)
    assert step.error == StepError("denied", "no")
    with replaying(step), pytest.raises(openai.PermissionDeniedError):
        streamed_text(client())


def test_a_timeout_is_recorded_and_raised_again(server: ScriptedServer) -> None:
    """A call that got no answer in time is a step with the client's own error."""
    server.will(Reply(delay_s=0.5))
    with session() as run, pytest.raises(openai.APITimeoutError):
        ask(client(server, timeout=0.05))
    assert run.only.error is not None
    assert (run.only.error.type, run.only.error.module) == ("ReadTimeout", "httpx2")
    with replaying(run.only), pytest.raises(openai.APITimeoutError):
        ask(client())


def test_a_refused_connection_is_recorded_and_raised_again() -> None:
    """So is a call that never reached a server."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    with session() as run, pytest.raises(openai.APIConnectionError):
        ask(client(base_url=url))
    assert run.only.error is not None
    assert run.only.error.type == "ConnectError"
    with replaying(run.only), pytest.raises(openai.APIConnectionError) as caught:
        ask(client())
    assert isinstance(caught.value.__cause__, httpx2.ConnectError)


def test_a_stream_that_breaks_is_recorded_up_to_there(server: ScriptedServer) -> None:
    """What had come is kept with the error, and a replay breaks at the same place."""
    server.will(stream_reply(*DELTAS, finish=None, done=False, cut=True))
    with session() as run:
        assert _read_until_broken(client(server)) == "Hello wörld"
    with replaying(run.only) as replay:
        assert _read_until_broken(client()) == "Hello wörld"
    for step in (run.only, replay.only):
        assert step.output == {"role": "assistant", "content": "Hello wörld"}
        assert step.error is not None
        assert step.error.type == "RemoteProtocolError"
        assert step.attributes["ended"] == "raised"


def _read_until_broken(sdk: openai.OpenAI) -> str:
    """What came before the connection broke."""
    got: list[str] = []

    def read(stream: Any) -> None:
        got.extend(chunk.choices[0].delta.content for chunk in stream)

    with sdk:
        stream = open_stream(sdk)
        with pytest.raises(openai.APIConnectionError):
            read(stream)
    return "".join(got)


def test_a_stream_that_the_server_ends_too_early_is_no_answer(server: ScriptedServer) -> None:
    """A clean end of the connection before the end of the answer is an error in the record."""
    step = recorded(server, stream_reply(*DELTAS, finish=None, done=False), stream=True)
    assert step.error is not None
    assert step.error.type == "StreamCut"
    with replaying(step) as replay:
        assert streamed_text(client()) == "Hello wörld"
    assert replay.only.error == step.error


def test_a_stream_closed_by_the_caller_is_partial(server: ScriptedServer) -> None:
    """A caller that stops reading leaves a step with what it read, marked."""
    server.will(stream_reply(*DELTAS))
    with session() as run, client(server) as sdk:
        stream = open_stream(sdk)
        next(stream)
        stream.close()
    assert run.only.error is not None
    assert run.only.error.type == "StreamClosed"
    assert run.only.attributes["ended"] == "closed"


def test_an_error_inside_of_a_stream_comes_back(server: ScriptedServer) -> None:
    """Some servers send their error as an event; the SDK raises it, live and replayed."""
    content = b'data: {"error": {"message": "overloaded", "code": "server_error"}}\n\n'
    server.will(Reply(200, {"content-type": "text/event-stream"}, chunks=[content]))
    with session() as run, pytest.raises(openai.APIError, match="overloaded"):
        streamed_text(client(server))
    assert run.only.error == StepError("server_error", "overloaded")
    with replaying(run.only), pytest.raises(openai.APIError, match="overloaded"):
        streamed_text(client())


def test_compressed_streams_are_understood(server: ScriptedServer) -> None:
    """The bytes that pass are compressed; the step is not."""
    plain = stream_reply(*DELTAS)
    packed = gzip.compress(b"".join(plain.chunks or ()))
    headers = {**plain.headers, "content-encoding": "gzip"}
    step = recorded(server, Reply(200, headers, chunks=[packed[:20], packed[20:]]), stream=True)
    assert step.output == {"role": "assistant", "content": "Hello wörld"}


@pytest.mark.parametrize(
    "step",
    [
        Step(0, "model", "chat", error=StepError("RateLimitError", "slow down")),
        Step(0, "model", "chat", error=StepError("APITimeoutError", "too slow")),
        Step(0, "model", "chat", error=StepError("ConnectError", "down", "httpx")),
    ],
    ids=lambda step: str(step.error.type),
)
def test_an_imported_error_is_raised_as_the_sdk_raises_it(step: Step) -> None:
    """Errors from other sources, known by class name only, reach the agent as the SDK's own."""
    wanted = {"RateLimitError": openai.RateLimitError, "APITimeoutError": openai.APITimeoutError}
    assert step.error is not None
    with replaying(step), pytest.raises(wanted.get(step.error.type, openai.APIConnectionError)):
        ask(client())


def test_an_imported_answer_needs_no_http(server: ScriptedServer) -> None:
    """A model step that never was HTTP answers the SDK, streaming and not."""
    call: Any = {"id": "c1", "name": "find", "arguments": {"id": "ü"}}
    step = Step(0, "model", "chat", output={"role": "assistant", "content": None, "tool_calls": [call]})
    with replaying(step):
        whole = ask(client()).choices[0]
    assert whole.finish_reason == "tool_calls"
    assert json.loads(whole.message.tool_calls[0].function.arguments) == {"id": "ü"}
    with replaying(step), client() as sdk, sdk.chat.completions.stream(model="m", messages=QUESTION) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.tool_calls is not None
    assert json.loads(message.tool_calls[0].function.arguments) == {"id": "ü"}


@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
def test_both_libraries_are_served(server: ScriptedServer, library: ModuleType) -> None:
    """A bare client of either library is recorded and answered, sync and async, with its own Response class."""
    server.will(json_reply(completion()))
    url = f"{server.url}/chat/completions"
    body = {"model": "m", "messages": QUESTION}
    with session() as run:
        library.post(url, json=body)
        asyncio.run(_post(library, url, body))
    first, second = run.steps
    with replaying(first):
        response = library.post(CHAT, json=body)
    assert type(response) is library.Response
    assert response.json()["choices"][0]["message"]["content"] == "Hello there, how are you?"
    assert response.elapsed.total_seconds() == 0
    assert first.output == second.output
    assert first.error is None


async def _post(library: ModuleType, url: str, body: dict[str, Any]) -> None:
    async with library.AsyncClient() as sender:
        await sender.post(url, json=body)


@pytest.mark.parametrize(
    ("path", "body"),
    [("/embeddings", b'{"input":"x"}'), ("/chat/completions", b"\x00not json"), ("/chat/completions", b'{"a":1}')],
)
def test_what_is_no_model_call_passes_unrecorded(server: ScriptedServer, path: str, body: bytes) -> None:
    """Other endpoints and bodies of other forms reach the server and leave no step."""
    server.will(json_reply({"ok": True}))
    with session() as run, contextlib.suppress(httpx.HTTPError):
        httpx.post(server.url + path, content=body)
    assert run.steps == []


def test_calls_outside_of_any_session_go_straight_through(server: ScriptedServer) -> None:
    """While some session is active elsewhere, code outside of it is not recorded."""
    server.will(json_reply(completion()))
    with session() as run:
        answers: list[Any] = []
        contextvars.Context().run(lambda: answers.append(ask(client(server))))
    assert answers
    assert run.steps == []


def test_the_clients_are_put_back() -> None:
    """After the last session, both libraries are as they were; before that, they stay replaced."""
    before = [vars(owner)["send"] for owner in (httpx.Client, httpx.AsyncClient, httpx2.Client, httpx2.AsyncClient)]
    finders = list(sys.meta_path)
    with session():
        with session():
            pass
        assert vars(httpx.Client)["send"] is not before[0]
    assert [
        vars(owner)["send"] for owner in (httpx.Client, httpx.AsyncClient, httpx2.Client, httpx2.AsyncClient)
    ] == before
    assert sys.meta_path == finders
    assert current_session() is None


def test_a_patch_on_top_of_ours_survives(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who replaces the method after us keeps it, and the next recording sees each call once."""
    server.will(json_reply(completion()))
    with session():
        ours = httpx2.Client.send

        def theirs(self: httpx2.Client, request: Any, **options: Any) -> Any:
            return ours(self, request, **options)

        monkeypatch.setattr(httpx2.Client, "send", theirs)
    assert httpx2.Client.send is theirs
    with session() as run:
        ask(client(server))
    assert len(run.steps) == 1
    monkeypatch.undo()
    with session():
        pass


def test_a_library_imported_later_is_captured_and_none_is_imported_for_it(server: ScriptedServer) -> None:
    """Activation loads no HTTP library; one that the agent loads afterwards is served."""
    server.will(json_reply(completion()))
    code = f"""
import sys
from tests.capture.harness import session
with session() as run:
    assert not {{"httpx", "httpx2", "openai"}} & set(sys.modules)
    import httpx
    httpx.post({server.url!r} + "/chat/completions", json={{"model": "m", "messages": []}})
    assert "httpx2" not in sys.modules
assert run.only.output["content"] == "Hello there, how are you?"
assert httpx.Client.send.__module__ == "httpx._client" and not hasattr(httpx.Client.send, "__wrapped__")
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_recorded_stream_has_its_pieces_again(server: ScriptedServer) -> None:
    """Each chunk comes back as it was: roles, odd pieces, calls as the model spelled them, finish, usage."""
    head = {"index": 0, **tool_call("call_a", "find", "")}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "refusal": None},
        {"content": "He"},
        {"content": "llo wör"},
        {"content": "ld"},
        {"tool_calls": [head]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in ('{"id', '": ', "7}")),
    ]
    server.will(stream_reply(*deltas, finish="tool_calls"))
    with session() as run:
        real = _chunks(client(server))
    assert run.only.output["tool_calls"] == [{"id": "call_a", "name": "find", "arguments": {"id": 7}}]  # type: ignore[index,call-overload]  # JSON
    assert "wör" not in repr(run.only.attributes)
    with replaying(run.only):
        assert _chunks(client()) == real
    with replaying(run.only):
        assert ask(client()).choices[0].message.tool_calls[0].function.arguments == '{"id": 7}'


def _chunks(sdk: openai.OpenAI) -> list[dict[str, Any]]:
    """The chunks of a streamed answer, as plain data."""
    with sdk:
        return [chunk.model_dump() for chunk in open_stream(sdk)]


def test_a_sanitized_stream_is_cut_at_the_same_fractions(server: ScriptedServer) -> None:
    """A text that got another length comes in as many pieces, and none of it is lost."""
    step = recorded(server, stream_reply({"content": "Dear Z"}, {"content": "oë Sm"}, {"content": "ith!"}), stream=True)
    changed = dataclasses.replace(step, output={"role": "assistant", "content": "Dear Mr Alexander Long!"})
    with replaying(changed):
        pieces = [chunk["choices"][0]["delta"]["content"] for chunk in _chunks(client())[:3]]
    assert "".join(pieces) == "Dear Mr Alexander Long!"
    assert all(pieces)
