"""What every wire promises, whatever API it speaks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.wire.body import dump_json
from evalkit.wire.protocol import Wire, WireAnswer, WireError, WireRequest
from evalkit.wire.registry import WIRES, find_wire
from tests.wire.shapes import ANY

ASKED = WireRequest({"messages": [], "tools": [], "params": {}}, model="m", stream=True)
EXTRAS = "top layout choice usage headers body stream_error reasoning_key spellings script first_number".split()


def _typed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


SHAPED: dict[str, Any] = {
    "openai_chat": st.one_of(
        ANY,
        st.builds(lambda v: {"messages": [v], "tools": [v]}, ANY),
        st.builds(lambda v: {"choices": [{"message": v, "delta": v}], "usage": v}, ANY),
        st.builds(lambda v: {"choices": [{"delta": {"tool_calls": [v]}, "message": {"tool_calls": v}}]}, ANY),
    ),
    "openai_responses": st.one_of(
        ANY,
        st.builds(lambda v: {"input": [v], "tools": [v], "instructions": v}, ANY),
        st.builds(lambda v: {"output": [v], "usage": v, "status": "failed", "error": v}, ANY),
        st.builds(lambda v: {"output": [_typed("message", content=[v]), _typed("reasoning", summary=v)]}, ANY),
        st.builds(
            lambda kind, v: _typed(kind, output_index=0, item=v, part=v, content_index=0),
            st.sampled_from(["response.output_item.added", "response.content_part.added"]),
            ANY,
        ),
        st.builds(lambda v: _typed("response.output_text.delta", output_index=0, content_index=0, delta=v), ANY),
        st.builds(
            lambda v, at: _typed(
                "response.output_text.annotation.added", output_index=0, content_index=at, annotation=v
            ),
            ANY,
            ANY,
        ),
    ),
    "anthropic": st.one_of(
        ANY,
        st.builds(lambda v: {"messages": [v], "max_tokens": 1, "tools": [v], "system": v}, ANY),
        st.builds(lambda v: {"content": [v], "usage": v}, ANY),
        st.builds(lambda v: _typed("message_start", message=v), ANY),
        st.builds(lambda v: _typed("content_block_start", index=0, content_block=v), ANY),
        st.builds(lambda v, at: _typed("content_block_delta", index=at, delta=v), ANY, ANY | st.just(0)),
    ),
}
"""Bodies and events of each wire that are nearly sound, by its name."""


@pytest.fixture(params=SHAPED)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Each of them."""
    return WIRES.get(request.param)


def test_no_wire_is_left_out() -> None:
    """One that is added promises the same."""
    assert {name for name, _ in WIRES.items()} == {*SHAPED}


@pytest.mark.parametrize(
    ("name", "method", "url"),
    [
        ("openai_chat", "POST", "https://api.openai.com/v1/chat/completions"),
        ("openai_chat", "POST", "https://x.azure.com/openai/deployments/d/chat/completions?api-version=1"),
        ("openai_responses", "POST", "https://api.openai.com/v1/responses"),
        ("openai_responses", "POST", "https://x.azure.com/openai/responses?api-version=1"),
        ("openai_responses", "POST", "https://x.azure.com/openai/v1/responses"),
        ("anthropic", "POST", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "POST", "https://api.anthropic.com/v1/messages?beta=true"),
        (
            "anthropic",
            "POST",
            "https://x.googleapis.com/v1/projects/p/publishers/anthropic/models/c@1:streamRawPredict",
        ),
        ("anthropic", "POST", "https://bedrock-runtime.us.amazonaws.com/model/c/invoke"),
        ("", "GET", "https://api.openai.com/v1/chat/completions"),
        ("", "POST", "https://api.openai.com/v1/embeddings"),
        ("", "POST", "https://evil.example/?q=/chat/completions"),
        ("", "GET", "https://api.openai.com/v1/responses/resp_1"),
        ("", "POST", "https://api.openai.com/v1/responses/resp_1/cancel"),
        ("", "POST", "https://api.openai.com/v1/responses/input_tokens"),
        ("", "GET", "https://api.anthropic.com/v1/messages"),
        ("", "POST", "https://api.anthropic.com/v1/messages/count_tokens"),
        ("", "POST", "https://api.anthropic.com/v1/messages/batches"),
        ("", "POST", "https://x.googleapis.com/v1/projects/p/publishers/mistralai/models/m@1:rawPredict"),
        ("", "POST", "https://bedrock-runtime.us.amazonaws.com/model/c/invoke-with-response-stream"),
    ],
)
def test_the_endpoint_is_known_by_its_path(name: str, method: str, url: str) -> None:
    """Any host may speak an API; its path and method tell, and only creating an answer is a model call."""
    assert find_wire(method, url) is (WIRES.get(name) if name else None)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [1]}', b'{"output": null}', b'{"content": null}'],
)
def test_a_body_that_is_no_answer_is_an_error_that_comes_back(wire: Wire, body: bytes) -> None:
    """It is never taken for an empty answer."""
    found = wire.answer(200, {"content-type": "text/html"}, body)
    assert found.error is not None
    assert found.error.type == "UnreadableAnswer"
    assert wire.response(found, ASKED) == (200, {"content-type": "text/html"}, body)


@pytest.mark.parametrize("name", SHAPED)
@given(st.data())
def test_no_body_breaks_the_reader(name: str, data: st.DataObject) -> None:
    """Whatever a server or a caller sends is read, and can be sent again; the agent never meets our exception."""
    wire = WIRES.get(name)
    sent = [dump_json(data.draw(SHAPED[name])) for _ in range(3)]
    asked = wire.request(sent[0]) or ASKED
    for found in (
        wire.answer(200, {}, sent[0]),
        wire.answer(400, {}, sent[0]),
        wire.answer_from_stream([b"data: " + one + b"\n\n" for one in sent], {}),
    ):
        wire.response(found, asked)
        wire.stream(found, asked)


@pytest.mark.parametrize("name", SHAPED)
@given(ANY, st.dictionaries(st.sampled_from(EXTRAS), ANY))
def test_no_recorded_answer_breaks_the_builder(name: str, output: Any, extra: dict[str, Any]) -> None:
    """Recorded files are hostile: any output and any extras give a response."""
    wire = WIRES.get(name)
    for error in (None, WireError("x")):
        answer = WireAnswer(output, error=error, extra=extra)
        assert isinstance(wire.response(answer, ASKED)[2], bytes)
        assert isinstance(wire.stream(answer, ASKED), list)
