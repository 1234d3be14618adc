"""The gateway's model APIs with the real SDKs: recorded answers, misses, and a live model behind it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anthropic
import openai
import pytest

from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.endpoint.budget import NO_LIMITS
from evalkit.playback.endpoint.local import account, local_caller
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.miss_rules import parse_rule
from evalkit.playback.overrides import Overrides
from tests.build import a_case, a_trace
from tests.capture.scripted_apis import message
from tests.capture.scripted_server import (
    ScriptedServer,
    completion,
    json_reply,
    stream_reply,
)
from tests.gateway.conversations import ASKED, model_step
from tests.gateway.serving import Served, serving


def case_of(wire: str, message: Any = "Hi there.", **fields: Any) -> Case:
    """A case of one model call."""
    trace = a_trace(model_step(0, wire, ASKED[wire], message, **fields), output="Hi there.")
    return a_case(trace, checks=[Check("repeated_effect", {})])


def openai_client(served: Served) -> openai.OpenAI:
    """The real SDK, led to the session."""
    assert served.around is not None
    return openai.OpenAI(base_url=served.around.address.openai, api_key="dummy", max_retries=2)


def anthropic_client(served: Served) -> anthropic.Anthropic:
    """The real SDK, led to the session."""
    assert served.around is not None
    return anthropic.Anthropic(base_url=served.around.address.url, api_key="dummy", max_retries=2)


def chat(served: Served, stream: bool) -> str:
    """OpenAI's chat completions."""
    with openai_client(served) as client:
        if stream:
            chunks = client.chat.completions.create(**ASKED["openai_chat"], stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        return str(client.chat.completions.create(**ASKED["openai_chat"]).choices[0].message.content)


def responses(served: Served, stream: bool) -> str:
    """OpenAI's responses."""
    with openai_client(served) as client:
        if stream:
            events = client.responses.create(**ASKED["openai_responses"], stream=True)
            return "".join(event.delta for event in events if event.type == "response.output_text.delta")
        return str(client.responses.create(**ASKED["openai_responses"]).output_text)


def messages(served: Served, stream: bool) -> str:
    """Anthropic's messages."""
    with anthropic_client(served) as client:
        if stream:
            with client.messages.stream(**ASKED["anthropic"]) as events:
                return "".join(events.text_stream)
        (block,) = client.messages.create(**ASKED["anthropic"]).content
        assert block.type == "text"
        return str(block.text)


APIS: dict[str, Callable[[Served, bool], str]] = {
    "openai_chat": chat,
    "openai_responses": responses,
    "anthropic": messages,
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", list(APIS))
def test_every_sdk_gets_the_recorded_answer(wire: str, stream: bool) -> None:
    """Also of a step that never was HTTP; the session counts it as an in-process replay does."""
    with serving(case_of(wire)) as served:
        assert APIS[wire](served, stream) == "Hi there."
    done = served.done
    assert (done.counts.substituted, done.counts.live_model, done.recorded) == (1, 0, 1)
    (step,) = done.trace.steps
    assert (step.kind, step.output, step.usage and step.usage.input_tokens) == (
        "model", {"role": "assistant", "content": "Hi there."}, 12,
    )  # fmt: skip
    assert done.trace.output == "Hi there."


@pytest.mark.parametrize("wire", list(APIS))
def test_a_miss_names_the_path_and_is_not_asked_again(wire: str) -> None:
    """The SDK raises at once with what differs; the replay is missed, neither passed nor failed."""
    body = {key: "other" if key == "input" else value for key, value in ASKED[wire].items()}
    if "messages" in body:
        body["messages"] = [{"role": "user", "content": "other"}]
    asked: dict[str, Any] = {**ASKED[wire], **body}
    with serving(case_of(wire)) as served, openai_client(served) as gpt, anthropic_client(served) as claude:
        create: Any = {
            "openai_chat": gpt.chat.completions.create,
            "openai_responses": gpt.responses.create,
            "anthropic": claude.messages.create,
        }[wire]
        with pytest.raises((openai.BadRequestError, anthropic.BadRequestError), match="recorded 'hello', got 'other'"):
            create(**asked)
    assert served.done.status == "missed"
    assert len(served.done.misses) == 1
    assert "/messages/0/content" in served.done.reason


def test_a_session_goes_on_after_a_miss() -> None:
    """A person who tries something is not left without a session; the replay stays missed."""
    with serving(case_of("openai_chat")) as served:
        status, body = served.caller.ask("/v1/chat/completions", {**ASKED["openai_chat"], "model": "other"})
        assert (status, body["error"]["code"]) == (400, "evalkit")
        assert chat(served, False) == "Hi there."
    assert (served.done.status, served.done.counts.substituted) == ("missed", 1)


def test_a_recorded_refusal_comes_back_with_its_status_and_headers() -> None:
    """What the agent's error handling met is what it meets."""
    extra = {"headers": {"retry-after": "7"}}
    case = case_of(
        "openai_chat", None, error=("RateLimitError", "slow down"),
        attributes={"status": 429, "wire": "openai_chat", "extra": extra},
    )  # fmt: skip
    with (
        serving(case) as served,
        openai_client(served).with_options(max_retries=0) as client,
        pytest.raises(openai.RateLimitError, match="slow down") as raised,
    ):
        client.chat.completions.create(**ASKED["openai_chat"])
    assert raised.value.response.headers["retry-after"] == "7"


def test_a_call_that_got_no_response_gets_none() -> None:
    """The connection is closed, which the SDK takes for what it is."""
    case = case_of("openai_chat", None, error=("ConnectError", "no route", "httpx"))
    with (
        serving(case) as served,
        openai_client(served).with_options(max_retries=0) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        client.chat.completions.create(**ASKED["openai_chat"])
    assert served.done.counts.substituted == 1


def test_a_stream_that_broke_breaks_again() -> None:
    """After the pieces that had come."""
    case = case_of(
        "openai_chat", "Hi the", error=("RemoteProtocolError", "cut", "httpx"),
        attributes={"status": 200, "ended": "raised"},
    )  # fmt: skip
    came: list[str] = []

    def read(client: openai.OpenAI) -> None:
        with client.chat.completions.create(**ASKED["openai_chat"], stream=True) as chunks:
            for chunk in chunks:
                came.append(chunk.choices[0].delta.content or "")  # noqa: PERF401  # what came before the break counts

    with (
        serving(case) as served,
        openai_client(served).with_options(max_retries=0) as client,
        pytest.raises(Exception, match=r"Connection error|incomplete|closed"),
    ):
        read(client)
    assert "".join(came) == "Hi the"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_live_model_is_asked_with_the_real_key(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    """The agent has a dummy; the gateway's own process has the key. The attempt is counted, and the step kept."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    server.will(
        stream_reply({"content": "Live "}, {"content": "hello."}) if stream else json_reply(completion("Live."))
    )
    with serving(case_of("openai_chat"), mode="live-model", endpoint=server.url) as served:
        said = chat(served, stream)
    assert said == ("Live hello." if stream else "Live.")
    (request,) = server.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["body"]["messages"] == ASKED["openai_chat"]["messages"]
    done = served.done
    assert (done.counts.live_model, done.counts.substituted) == (1, 0)
    (step,) = done.trace.steps
    assert isinstance(step.output, dict)
    assert step.output["content"] == said
    assert step.attributes["endpoint"] == f"{server.url}/chat/completions"


def test_a_prompt_swap_changes_the_request_on_its_way(server: ScriptedServer) -> None:
    """The agent does not know."""
    server.will(json_reply(completion("Live.")))
    overrides = Overrides(model="m-2", system_prompt="Be brief.", extra_body={"top_k": 3})
    with serving(case_of("openai_chat"), mode="prompt-swap", endpoint=server.url, overrides=overrides) as served:
        chat(served, False)
    (request,) = server.requests
    assert (request["body"]["model"], request["body"]["top_k"]) == ("m-2", 3)
    assert request["body"]["messages"][0] == {"role": "system", "content": "Be brief."}


def test_the_anthropic_api_goes_to_the_endpoint_too(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its own path, below the same base URL."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    server.will(json_reply(message({"type": "text", "text": "Live."})))
    with serving(case_of("anthropic"), mode="live-model", endpoint=server.url) as served:
        assert messages(served, False) == "Live."
    assert server.requests[0]["path"] == "/v1/messages"


def test_an_endpoint_that_fails_is_no_verdict(server: ScriptedServer) -> None:
    """Neither one that answers with an error, nor one that is not there."""
    server.will(json_reply({"error": {"message": "out of order"}}, 500))
    for url in (server.url, "http://127.0.0.1:9/v1"):
        endpoint = Endpoint(url, tries=2)
        with (
            account(endpoint, NO_LIMITS) as ledger,
            local_caller(endpoint, ledger) as caller,
            serving(case_of("openai_chat"), mode="live-model", endpoint=url, caller=caller) as served,
        ):
            status, body = served.caller.ask("/v1/chat/completions", ASKED["openai_chat"])
            assert status in (500, 502), body
        assert (served.done.status, served.done.counts.live_model) == ("errored", 1)


def test_a_live_call_does_not_outlive_its_replay(server: ScriptedServer) -> None:
    """An agent that is stopped while the model thinks is not waited for; the call is in the trace, unfinished."""
    server.will(replace(json_reply(completion("Late.")), delay_s=3.0))
    with (
        serving(case_of("openai_chat"), mode="live-model", endpoint=server.url) as served,
        socket.create_connection(("127.0.0.1", served.caller.port)) as agent,
    ):
        body = json.dumps(ASKED["openai_chat"]).encode()
        path, host = f"{served.caller.prefix}/v1/chat/completions", f"localhost:{served.caller.port}"
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
        agent.sendall(head.encode() + body)
        while not server.requests:
            time.sleep(0.01)
    (step,) = served.done.trace.steps
    assert step.error is not None
    assert (served.done.counts.live_model, step.error.type) == (1, "GivenUp")


def test_equal_replays_are_equal_traces() -> None:
    """Neither port nor token is in them, so that a deterministic agent is seen to be one."""
    digests = set()
    for token in ("one", "two"):
        with serving(case_of("openai_chat"), token=token) as served:
            chat(served, False)
        digests.add(served.done.digest)
    assert len(digests) == 1


def test_the_answer_is_told_or_the_last_text(project: Any) -> None:
    """An agent that is started by somebody else may tell its answer."""
    with serving(case_of("openai_chat")) as served:
        assert served.caller.ask("/output", {"done": True})[0] == 204
    assert served.done.trace.output == {"done": True}
    assert json.loads(served.done.text)["output"] == {"done": True}


def test_the_models_are_those_of_the_recording() -> None:
    """Some agents look for theirs before they ask it; both SDKs read the list, and one of them by its name."""
    with serving(case_of("openai_chat")) as served, openai_client(served) as gpt, anthropic_client(served) as claude:
        (name,) = [model.id for model in gpt.models.list()]
        assert name == ASKED["openai_chat"]["model"]
        assert [model.id for model in claude.models.list()] == [name]
        assert gpt.models.retrieve(name).object == "model"
        assert claude.models.retrieve(name).display_name == name
        with pytest.raises(openai.NotFoundError, match="recorded no call of model 'other'"):
            gpt.models.retrieve("other")
        assert served.caller.ask("/v1/models", {})[0] == 405
        assert chat(served, False) == "Hi there."
    assert (served.done.status, served.done.counts.substituted) == ("passed", 1)


def test_embeddings_are_a_miss_that_says_so() -> None:
    """No recording holds them: the SDK raises at once, and the replay is missed, not failed."""
    with (
        serving(case_of("openai_chat")) as served,
        openai_client(served) as client,
        pytest.raises(openai.BadRequestError, match="embeddings are not recorded") as raised,
    ):
        client.embeddings.create(model="e-1", input="hello", encoding_format="float")
    assert raised.value.code == "embeddings_not_recorded"
    assert served.done.status == "missed"
    assert "retrieval embeddings has no recorded answer" in served.done.reason


def test_embeddings_may_be_stubbed_by_a_rule() -> None:
    """A whole response, for an agent that goes on only with vectors; the sample is missed all the same."""
    body = {"object": "list", "model": "e-1", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 1.0]}]}
    rule = parse_rule(f"embeddings=stub:{json.dumps(body)}")
    with serving(case_of("openai_chat"), on_miss=[rule]) as served, openai_client(served) as client:
        found = client.embeddings.create(model="e-1", input="hello", encoding_format="float")
        assert found.data[0].embedding == [0.5, 1.0]
        assert served.caller.ask("/v1/embeddings", b"{")[0] == 400
    assert served.done.status == "missed"
    with serving(case_of("openai_chat"), on_miss=[parse_rule("embeddings=error")]) as served:
        status, said = served.caller.ask("/v1/embeddings", {"model": "e-1", "input": "hello"})
    assert (status, said["error"]["code"]) == (400, "embeddings_not_recorded")
