"""Model calls over requests, recorded and answered: the response is the library's own in every way of reading it."""

from __future__ import annotations

import gc
import gzip
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("requests", reason="the extra dev is older than these tests")

import requests

from evalkit.trace.model import Step, StepError, Usage
from tests.capture.harness import replaying, session
from tests.capture.scripted_server import Reply, ScriptedServer, completion, events, json_reply, stream_reply

NOWHERE = "https://nowhere.invalid/v1"
DELTAS = ({"role": "assistant", "content": ""}, {"content": "Hello "}, {"content": "wörld"})


def post(url: str, *, stream: bool = False, **options: Any) -> requests.Response:
    """One question."""
    body: dict[str, Any] = {"model": "gpt-test", "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        body["stream"] = True
    return requests.post(f"{url}/chat/completions", json=body, stream=stream, **options)


def recorded(server: ScriptedServer, read: Callable[[str], Any], *replies: Reply) -> tuple[Step, Any]:
    """The step of one call, and what its caller got."""
    server.will(*replies)
    with session() as run:
        got = read(server.url)
    return run.only, got


def both(server: ScriptedServer, read: Callable[[str], Any], *replies: Reply) -> tuple[Step, Any]:
    """The same, when a replay of the step gives its caller the same."""
    step, got = recorded(server, read, *replies)
    with replaying(step) as replay:
        assert read(NOWHERE) == got
    assert (replay.only.output, replay.only.error) == (step.output, step.error)
    return step, got


def test_a_call_is_recorded_and_substituted(server: ScriptedServer) -> None:
    """Body, status, headers and what a response says of itself; the step holds the plain call."""

    def read(url: str) -> Any:
        seen: list[int] = []
        with post(url, hooks={"response": lambda response, **_: seen.append(response.status_code)}) as response:
            message = response.json()["choices"][0]["message"]["content"]
            said = (
                response.ok,
                response.reason,
                response.encoding,
                response.headers["x-request-id"],
                response.is_redirect,
            )
            return message, said, response.request.method, response.raw.version, seen, response.elapsed is None

    step, got = both(server, read, json_reply(completion(), x_request_id="req_1"))
    assert got[0] == "Hello there, how are you?"
    assert got[4] == [200]
    assert step.input == {"messages": [{"role": "user", "content": "hi"}], "tools": [], "params": {}}
    assert (step.usage, step.model, step.attributes["wire"]) == (Usage(12, 7, 4, 2), "gpt-test-2025", "openai_chat")
    assert step.attributes["endpoint"] == f"{server.url}/chat/completions"


@pytest.mark.parametrize("stream", [False, True])
def test_a_recorded_response_goes_with_its_last_user(server: ScriptedServer, stream: bool) -> None:
    """It refers to itself as little as one that is not recorded, so that its connection is let go of at once."""
    server.will(json_reply(completion()))
    gc.disable()
    try:
        with session() as run:
            response = post(server.url, stream=stream)
            raw = weakref.ref(response.raw)
            assert response.json()["object"] == "chat.completion"
            del response
            assert raw() is None
    finally:
        gc.enable()
    assert run.only.usage is not None


def lines(url: str) -> Any:
    with post(url, stream=True) as response:
        return [line for line in response.iter_lines() if line.startswith(b"data: [") or b"content" in line][-1:]


def contents(url: str) -> Any:
    return events(b"".join(post(url, stream=True).iter_content(None)))


def one_by_one(url: str) -> Any:
    return events(b"".join(post(url, stream=True).iter_content(7)))


def raw_read(url: str) -> Any:
    return events(post(url, stream=True).raw.read(decode_content=True))


def raw_stream(url: str) -> Any:
    return events(b"".join(post(url, stream=True).raw.stream(16, decode_content=True)))


def whole(url: str) -> Any:
    return events(post(url, stream=True).content)


@pytest.mark.parametrize("read", [lines, contents, one_by_one, raw_read, raw_stream, whole])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_stream_is_read_in_every_way(server: ScriptedServer, read: Callable[[str], Any], zipped: bool) -> None:
    """`iter_lines`, `iter_content`, `raw` and `content` give the same live and replayed; the step is whole."""
    reply = stream_reply(*DELTAS)
    if zipped:
        headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
        reply = Reply(200, headers, chunks=[gzip.compress(b"".join(reply.chunks or ()))])
    step, got = both(server, read, reply)
    assert got
    assert (step.output, step.error) == ({"role": "assistant", "content": "Hello wörld"}, None)
    assert step.attributes["stream"] is True


def test_a_stream_flows_through_as_it_comes(server: ScriptedServer) -> None:
    """An endless stream is read up to where its caller stops: nothing is gathered first."""
    first = b"".join(stream_reply({"content": "on "}).chunks or ()).split(b"\n\n")[0] + b"\n\n"

    def read(url: str) -> Any:
        with post(url, stream=True) as response:
            return next(response.iter_content(None))[:20]

    endless = Reply(200, {"content-type": "text/event-stream"}, chunks=itertools.repeat(first))
    step, _ = recorded(server, read, endless)
    assert step.error == StepError("StreamClosed", "the caller closed the stream before its end")
    assert step.attributes["ended"] == "closed"


def test_a_stream_that_breaks_breaks_again(server: ScriptedServer) -> None:
    """requests' own error, after what had come."""

    def read(url: str) -> Any:
        got: list[bytes] = []
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            got.extend(post(url, stream=True).iter_content(None))
        return events(b"".join(got))

    server.will(stream_reply(*DELTAS, finish=None, done=False, cut=True))
    with session() as run:
        assert read(server.url) == ["", "Hello ", "wörld"]
    assert run.only.attributes["ended"] == "raised"
    with replaying(run.only):
        assert read(NOWHERE) == ["", "Hello ", "wörld"]


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_status_is_an_answer(server: ScriptedServer, status: int) -> None:
    """With its body and headers; ``raise_for_status`` raises live and replayed."""

    def read(url: str) -> Any:
        response = post(url)
        with pytest.raises(requests.HTTPError):
            response.raise_for_status()
        return response.json(), response.headers["retry-after"]

    body = {"error": {"message": "slow down", "type": "requests", "code": "limit", "param": None}}
    step, _ = both(server, read, json_reply(body, status, retry_after="7"))
    assert step.error == StepError("limit", "slow down")


def test_failures_are_raised_again(server: ScriptedServer) -> None:
    """A timeout and a refused connection are steps, and the library's own errors in a replay."""
    server.will(Reply(delay_s=0.5))
    with session() as run, pytest.raises(requests.ReadTimeout):
        post(server.url, timeout=0.05)
    with replaying(run.only), pytest.raises(requests.ReadTimeout):
        post(NOWHERE)
    with session() as run, pytest.raises(requests.ConnectionError):
        post("http://127.0.0.1:9/v1")
    with replaying(run.only), pytest.raises(requests.ConnectionError):
        post(NOWHERE)


def test_what_another_library_recorded_is_raised_as_its_own() -> None:
    """A step of httpx answers requests."""
    for kind, raised in (("ReadTimeout", requests.ReadTimeout), ("ConnectError", requests.ConnectionError)):
        step = Step(0, "model", "chat", {}, error=StepError(kind, "no", "httpx"))
        with replaying(step), pytest.raises(raised):
            post(NOWHERE)


def test_other_requests_go_straight_through(server: ScriptedServer) -> None:
    """What is no model call is no step."""
    server.will(json_reply({"ok": True}))
    with session() as run:
        assert requests.get(f"{server.url}/other").json() == {"ok": True}
        assert requests.post(f"{server.url}/chat/completions", data=iter([b"{}"])).json() == {"ok": True}
    assert run.steps == []
