"""Chat completions: bodies to plain calls and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.openai_chat import WIRE
from evalkit.wire.openai_stream import merge_stream
from evalkit.wire.protocol import WireAnswer, WireError, WireRequest, WireUsage
from tests.wire.shapes import OUTPUTS, events_in, parsed

ASKED = WireRequest({"messages": [], "tools": [], "params": {}}, model="m", stream=True)
CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "f", "input": "x y"}}
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 1}'}}


def request(**fields: Any) -> WireRequest:
    """The plain form of a request with one message and `fields`."""
    parsed = WIRE.request(dump_json({"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}))
    assert parsed is not None
    return parsed


def answer(message: dict[str, Any], **fields: Any) -> WireAnswer:
    """The plain form of a completion with `message`."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return WIRE.answer(200, {}, dump_json({"id": "x", "model": "m-1", "choices": [choice], **fields}))


def message_of(output: Any) -> dict[str, Any]:
    """The message that the API would send for `output`."""
    _, _, body = WIRE.response(WireAnswer(output), ASKED)
    return dict(parse_json(body)["choices"][0]["message"])


def test_what_was_asked_is_parted_from_what_was_not() -> None:
    """Parameters decide the answer; transport, accounting and empty ones don't."""
    parsed = request(temperature=0, top_p=None, stream=True, stream_options={"include_usage": True}, user="u", seed=3)
    assert parsed.asked["params"] == {"temperature": 0, "seed": 3}
    assert parsed.extra == {"stream_options": {"include_usage": True}, "user": "u"}
    assert (parsed.model, parsed.stream) == ("m", True)


def test_messages_take_their_normal_form() -> None:
    """Roles, tool calls, tool results, refusals and parts of a conversation."""
    parts = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    messages = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": parts, "name": "ada"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "annotations": [], "audio": None},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "assistant", "refusal": "no", "reasoning_content": "hm"},
    ]
    assert request(messages=messages).asked["messages"] == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": parts, "name": "ada"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "find", "arguments": {"id": 1}}]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "assistant", "content": None, "refusal": "no", "reasoning": "hm"},
    ]


def test_tools_lose_their_envelope_only() -> None:
    """Function tools are plain definitions; other tools stay as they are; the older form counts too."""
    function = {"name": "find", "parameters": {"type": "object"}}
    other = {"type": "custom", "custom": {"name": "run"}}
    assert request(tools=[{"type": "function", "function": function}, other]).asked["tools"] == [function, other]
    assert request(functions=[function]).asked["tools"] == [function]


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "null", '{"a": NaN}', "sure! {}"])
def test_malformed_arguments_stay_the_text_they_were(text: str) -> None:
    """What is no JSON object is kept as it is, and sent as it is."""
    call = {**CALL, "function": {"name": "find", "arguments": text}}
    output: Any = answer({"content": None, "tool_calls": [call]}).output
    assert output["tool_calls"][0]["arguments"] == text
    assert message_of(output)["tool_calls"] == [call]


def test_long_ids_in_arguments_are_exact() -> None:
    """An order number beyond 64 bits survives both ways."""
    call = {**CALL, "function": {"name": "find", "arguments": '{"id":123456789012345678901234567890}'}}
    output: Any = answer({"content": None, "tool_calls": [call]}).output
    assert output["tool_calls"][0]["arguments"] == {"id": 123456789012345678901234567890}
    assert message_of(output)["tool_calls"] == [call]


@pytest.mark.parametrize(
    "message",
    [
        {"content": "hi", "refusal": None},
        {"content": None, "refusal": "I can't"},
        {"content": "", "refusal": None, "reasoning_content": "let me see"},
        {"content": None, "refusal": None, "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "{}"}}]},
        {"content": None, "refusal": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        {"content": "x", "refusal": None, "tool_calls": [CUSTOM]},
        {"content": "x", "refusal": None, "annotations": [{"type": "url_citation"}]},
    ],
)
def test_messages_come_back_as_they_were(message: dict[str, Any]) -> None:
    """Text, refusal, reasoning, calls old and new, and unknown fields survive both ways."""
    assert message_of(answer(message).output) == {"role": "assistant", **message}


def test_a_completion_keeps_what_rebuilds_it() -> None:
    """Ids, fingerprints, usage details, log probabilities and reasoning under its other name come back."""
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 5,
        "model": "m-1",
        "system_fingerprint": "fp",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "hi", "refusal": None, "reasoning": "hm"},
                "logprobs": {"content": [{"token": "hi", "logprob": -0.5}]},
                "finish_reason": "length",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "odd_detail": 1},
    }
    found = WIRE.answer(200, {"content-type": "application/json", "set-cookie": "secret"}, dump_json(body))
    status, headers, again = WIRE.response(found, ASKED)
    assert (status, headers) == (200, {"content-type": "application/json"})
    assert parse_json(again) == body
    assert found.usage == WireUsage(3, 2)


def test_of_several_choices_the_first_is_taken_and_the_rest_counted() -> None:
    """Streams and whole answers say how many choices were dropped."""
    choices = [{"index": at, "message": {"content": str(at)}} for at in range(3)]
    whole = WIRE.answer(200, {}, dump_json({"choices": choices}))
    pieces = [{"choices": [{"index": at, "delta": {"content": str(at)}, "finish_reason": "stop"}]} for at in (1, 0, 2)]
    streamed = WIRE.answer_from_stream([b"data: " + dump_json(piece) + b"\n\n" for piece in pieces], {})
    for found in (whole, streamed):
        assert found.output == {"role": "assistant", "content": "0"}
        assert found.extra["dropped_choices"] == 2


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error": {"message": "slow", "type": "t", "code": "c"}}', WireError("c", "slow")),
        (b'{"error": {"message": "slow", "type": "t", "code": null}}', WireError("t", "slow")),
        (b'{"error": "plain"}', WireError("http_429", "plain")),
        (b'{"detail": "flat"}', WireError("http_429", "flat")),
        (b"text", WireError("http_429", "text")),
        (b'[["x"]]', WireError("http_429", '[["x"]]')),
    ],
)
def test_errors_of_every_form_are_named_and_come_back(body: bytes, error: WireError) -> None:
    """The code or type where there is one, else the status; the body and the headers that matter are kept."""
    found = WIRE.answer(429, {"retry-after": "3", "date": "now"}, body)
    assert found.error == error
    status, headers, again = WIRE.response(found, ASKED)
    assert (status, headers["retry-after"]) == (429, "3")
    assert "date" not in headers
    assert again == body or parse_json(again) == parse_json(body)


def test_an_error_that_never_was_http_gets_a_body() -> None:
    """A recorded error without a body is sent in the API's form."""
    status, _, body = WIRE.response(WireAnswer(error=WireError("limit", "slow"), status=429), ASKED)
    assert status == 429
    assert parse_json(body)["error"]["message"] == "slow"


def test_streams_of_other_servers_are_merged() -> None:
    """Tool calls without index, ids and names repeated, arguments as objects, usage in the last choice's chunk."""
    deltas = [
        {"tool_calls": [{"id": "a", "function": {"name": "find", "arguments": ""}}]},
        {"tool_calls": [{"id": "a", "function": {"name": "find", "arguments": '{"id"'}}]},
        {"tool_calls": [{"function": {"arguments": ":1}"}}]},
        {"tool_calls": [{"id": "b", "function": {"name": "ref", "arguments": None}}]},
        {"tool_calls": [{"function": {"name": "und", "arguments": {"x": 2}}}]},
    ]
    chunks: list[Any] = [{"choices": [{"delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1}})
    found = WIRE.answer_from_stream([b"data: " + dump_json(chunk) + b"\r\n\r\n" for chunk in chunks], {})
    assert found.error is None
    assert found.usage == WireUsage(1)
    assert found.output == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "name": "find", "arguments": {"id": 1}},
            {"id": "b", "name": "refund", "arguments": {"x": 2}},
        ],
    }


@given(OUTPUTS, st.integers(1, 40))
def test_every_message_survives_a_stream(output: Any, size: int) -> None:
    """A message streamed, cut anywhere and merged again is the message it was; without streaming too."""
    given_answer = WireAnswer(output, model="m", usage=WireUsage(1, 2, 3, 4))
    content = b"".join(WIRE.stream(given_answer, ASKED))
    streamed = WIRE.answer_from_stream([content[at : at + size] for at in range(0, len(content), size)], {})
    status, headers, body = WIRE.response(given_answer, ASKED)
    whole = WIRE.answer(status, headers, body)
    assert streamed.error is whole.error is None
    assert parsed(streamed.output) == parsed(whole.output) == parsed(output)
    assert whole.usage == given_answer.usage
    assert events_in(WIRE.stream(streamed, ASKED)[:-1]) == events_in(WIRE.stream(given_answer, ASKED)[:-1])


def test_a_stream_is_cut_about_as_models_cut_it() -> None:
    """Words come one by one, a long text in no more than some hundreds of pieces."""
    short = WIRE.stream(WireAnswer({"role": "assistant", "content": "one two three"}), ASKED)
    assert len(short) == 1 + 3 + 1 + 1
    long = WIRE.stream(WireAnswer({"role": "assistant", "content": "word " * 10_000}), ASKED)
    assert 100 < len(long) < 300


@pytest.mark.parametrize("upto", range(3, 8))
def test_a_stream_cut_anywhere_is_partial(upto: int) -> None:
    """A stream without its last pieces has an error and what had come; sent again, it ends at the same place."""
    answer_given = WireAnswer({"role": "assistant", "content": "a b c d e f g"})
    cut = WIRE.answer_from_stream(WIRE.stream(answer_given, ASKED)[:upto], {})
    assert cut.error is not None
    assert cut.error.type == "StreamCut"
    again = merge_stream(WIRE.stream(cut, ASKED))
    assert not again.done
    assert again.completion["choices"][0]["message"]["content"] == cut.output["content"]  # type: ignore[index,call-overload]  # JSON
