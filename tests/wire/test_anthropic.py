"""The Messages API: bodies to plain calls and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.trace.formats.loose_messages import answer_in, messages_in
from evalkit.wire.anthropic import WIRE
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.protocol import WireAnswer, WireError, WireRequest, WireUsage
from tests.wire.shapes import OUTPUTS, events_in, parsed

ASKED = WireRequest({"messages": [], "tools": [], "params": {}}, model="m", stream=True)


def request(**fields: Any) -> WireRequest:
    """The plain form of a request with `fields`."""
    whole = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **fields}
    found = WIRE.request(dump_json(whole))
    assert found is not None
    return found


def answer(*blocks: Any, **fields: Any) -> WireAnswer:
    """The plain form of a message of `blocks`."""
    return WIRE.answer(
        200, {}, dump_json({"id": "x", "model": "m-1", "role": "assistant", "content": blocks, **fields})
    )


def rebuilt(given_answer: WireAnswer) -> Any:
    """The body that the API would send for it."""
    return parse_json(WIRE.response(given_answer, ASKED)[2])


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"role": "user", "content": "x"}', b'{"messages": []}', b'{"messages": [], "max_tokens": 1}'],
)
def test_what_asks_no_model_is_none_of_ours(body: bytes) -> None:
    """A message added to a thread, or to a chat room, goes to a path that ends alike."""
    assert WIRE.request(body) is None


def test_what_was_asked_is_parted_from_what_was_not() -> None:
    """Parameters have their usual names; markers of caching are no part of what was asked."""
    marked = {"cache_control": {"type": "ephemeral"}}
    tool = {"name": "find", "input_schema": {"type": "object"}, **marked}
    own = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
    found = request(
        system=[{"type": "text", "text": "be kind", **marked}],
        tools=[tool, {"type": "custom", **tool, "description": None}, own],
        stop_sequences=["x"],
        tool_choice={"type": "any"},
        temperature=0,
        metadata={"user_id": "u"},
        stream=True,
    )
    assert found.asked["messages"] == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hi"},
    ]
    plain = {"name": "find", "parameters": {"type": "object"}}
    assert found.asked["tools"] == [plain, plain, own]
    assert found.asked["params"] == {"max_tokens": 9, "stop": ["x"], "tool_choice": {"type": "any"}, "temperature": 0}
    assert found.extra == {"metadata": {"user_id": "u"}}
    assert (found.model, found.stream) == ("m", True)


def test_a_thread_is_gone_on_with_by_its_last_message_alone() -> None:
    """The provider holds what was said before; that it is to hold this takes nothing away."""
    goes_on = {"type": "continue", "previous_message_id": "msg_1"}
    assert request(thread=goes_on).partial
    assert request(thread=goes_on).asked["params"]["thread"] == goes_on  # type: ignore[index,call-overload]  # JSON
    assert not request(thread={"type": "create"}).partial


def test_how_it_is_served_is_not_asked() -> None:
    """What decides on speed, bill and diagnostics decides no answer."""
    told = {"speed": "fast", "diagnostics": {"previous_message_id": "msg_1"}, "billing_policy": {"type": "x"}}
    found = request(**told)
    assert (found.asked, found.extra) == (request().asked, {**request().extra, **told})


def test_images_and_results_have_the_normal_form() -> None:
    """What is no text stays as it is; each result of a tool is a message, before what the user says with it."""
    image = {"type": "image", "source": {"type": "url", "url": "https://x"}}
    content = [
        {"type": "text", "text": "see"},
        image,
        {"type": "tool_result", "tool_use_id": "t1", "content": [image, {"type": "text", "text": "that"}]},
    ]
    assert request(messages=[{"role": "user", "content": content}]).asked["messages"] == [
        {"role": "tool", "content": [image, {"type": "text", "text": "that"}], "tool_call_id": "t1"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
    ]


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [{"type": "text", "text": ""}],
        [
            {"type": "thinking", "thinking": "a\n\nb", "signature": "s1"},
            {"type": "text", "text": "x", "citations": [{"n": 1}]},
            {"type": "tool_use", "id": "t1", "name": "find", "input": {"id": 123456789012345678901234567890}},
            {"type": "thinking", "thinking": "c", "signature": "s2"},
            {"type": "redacted_thinking", "data": "d"},
            {"type": "text", "text": "y", "citations": None},
            {"type": "tool_use", "id": "t2", "name": "find", "input": {}, "caller": {"type": "direct"}},
        ],
        [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]},
            {"type": "text", "text": "z", "citations": [{"n": 1}, {"n": 2}]},
        ],
    ],
)
def test_blocks_come_back_as_they_were(blocks: list[Any]) -> None:
    """Order, ids, signatures, citations and parts survive both ways, beside a Message that says it once."""
    assert rebuilt(answer(*blocks))["content"] == blocks


def test_a_changed_message_is_what_is_sent() -> None:
    """The Message leads: a layout that does not fit it any more is left."""
    found = answer({"type": "tool_use", "id": "t1", "name": "f", "input": {}})
    changed = WireAnswer({"role": "assistant", "content": "sorry"}, model="m", extra=found.extra)
    assert rebuilt(changed)["content"] == [{"type": "text", "text": "sorry"}]
    sent = b"".join(WIRE.stream(changed, ASKED))
    assert WIRE.answer_from_stream([sent], {}).output == changed.output


def test_usage_is_told_as_the_api_counts() -> None:
    """Tokens read from the cache are a part of the input here, and stand beside it there."""
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4, "output_tokens": 8}
    assert answer(usage=usage).usage == WireUsage(7, 8, 4)
    assert answer(usage={"input_tokens": 1, "output_tokens": 8}).usage == WireUsage(1, 8)
    imported = rebuilt(WireAnswer({"role": "assistant", "content": "x"}, usage=WireUsage(7, 8, 4)))
    assert imported["usage"] == {"input_tokens": 3, "output_tokens": 8, "cache_read_input_tokens": 4}


def test_an_error_that_never_was_http_gets_a_body() -> None:
    """A recorded error without a body is sent in the API's form."""
    status, _, body = WIRE.response(WireAnswer(error=WireError("overloaded_error", "x"), status=529), ASKED)
    assert status == 529
    assert parse_json(body) == {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}


def _plain(output: Any) -> Any:
    """A message as this API can say it: without a place of its own for a refusal, and no arguments are none."""
    found = parsed(output)
    refusal = found.pop("refusal", None)
    if refusal is not None:
        before = [] if found["content"] is None else [{"type": "text", "text": found["content"]}]
        found["content"] = [*before, {"type": "text", "text": refusal}] if before else refusal
    calls = [{**call, "arguments": call["arguments"] or {}} for call in found["tool_calls"]]
    return {**found, "tool_calls": calls}


@given(OUTPUTS, st.integers(1, 40))
def test_every_message_survives_a_stream(output: Any, size: int) -> None:
    """A message streamed, cut anywhere and merged again is the message it was; without streaming too; and again."""
    given_answer = WireAnswer(output, model="m", usage=WireUsage(7, 2, 3))
    content = b"".join(WIRE.stream(given_answer, ASKED))
    streamed = WIRE.answer_from_stream([content[at : at + size] for at in range(0, len(content), size)], {})
    status, headers, body = WIRE.response(given_answer, ASKED)
    whole = WIRE.answer(status, headers, body)
    assert streamed.error is whole.error is None
    assert _plain(streamed.output) == _plain(whole.output) == _plain(output)
    assert whole.usage == streamed.usage == given_answer.usage
    assert events_in(WIRE.stream(streamed, ASKED)) == events_in([content])
    assert rebuilt(whole) == parse_json(body)


def test_an_import_reads_a_body_as_the_wire_does() -> None:
    """A run from a tracing product is matched by calls made through the SDK."""
    said: list[Any] = [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "t1", "name": "find", "input": {"id": 1}},
    ]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "7"}]}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": said},
        {"role": "user", "content": [result, {"type": "text", "text": "go on"}]},
    ]
    found = request(system="be kind", messages=messages).asked["messages"]
    assert messages_in({"system": "be kind", "messages": messages}) == found
    assert answer_in({"role": "assistant", "content": said}) == answer(*said).output
