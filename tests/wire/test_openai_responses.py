"""The Responses API: bodies to plain calls and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.trace.formats.loose_messages import answer_in, messages_in
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.openai_responses import WIRE
from evalkit.wire.protocol import WireAnswer, WireError, WireRequest, WireUsage
from tests.wire.shapes import OUTPUTS, events_in, parsed

ASKED = WireRequest({"messages": [], "tools": [], "params": {}}, model="m", stream=True)
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": '{"id": 1}'}


def request(**fields: Any) -> WireRequest:
    """The plain form of a request with `fields`."""
    found = WIRE.request(dump_json({"model": "m", "input": "hi", **fields}))
    assert found is not None
    return found


def answer(*items: Any, **fields: Any) -> WireAnswer:
    """The plain form of a response with output `items`."""
    return WIRE.answer(
        200, {}, dump_json({"id": "r", "model": "m-1", "status": "completed", "output": items, **fields})
    )


def rebuilt(given_answer: WireAnswer) -> Any:
    """The body that the API would send for it."""
    return parse_json(WIRE.response(given_answer, ASKED)[2])


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"answers": [1]}', b'{"model": "m"}'])
def test_what_asks_no_model_is_none_of_ours(body: bytes) -> None:
    """Other services have paths that end alike."""
    assert WIRE.request(body) is None


def test_what_was_asked_is_parted_from_what_was_not() -> None:
    """Parameters decide the answer; transport, accounting and empty ones don't."""
    found = request(
        instructions="be kind",
        temperature=0,
        top_p=None,
        max_output_tokens=9,
        store=False,
        include=["x"],
        stream=True,
        reasoning={"effort": "low"},
        text={"format": {"type": "text"}},
    )
    assert found.asked["messages"] == [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    assert found.asked["params"] == {
        "temperature": 0,
        "max_tokens": 9,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "text"}},
    }
    assert found.extra == {"store": False, "include": ["x"]}
    assert (found.stream, found.partial) == (True, False)


def test_tools_lose_their_type_only() -> None:
    """Function tools are plain definitions, as in a chat; the provider's own stay as they are."""
    function = {"name": "find", "parameters": {"type": "object"}, "strict": True}
    own = {"type": "web_search"}
    assert request(tools=[{"type": "function", "description": None, **function}, own]).asked["tools"] == [function, own]


def test_input_items_have_the_normal_form() -> None:
    """Every kind of item: messages short and long, calls of both sorts, results, what the provider did, references."""
    image = {"type": "input_image", "image_url": "data:"}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    computer = {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c3",
        "status": "completed",
        "action": {"type": "wait"},
    }
    items: list[Any] = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}, image]},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "a"}],
            "encrypted_content": "x",
        },
        search,
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        CALL,
        {"type": "custom_tool_call", "call_id": "c2", "name": "run", "input": "ls -l"},
        computer,
        {"type": "function_call_output", "call_id": "c1", "output": "7"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "."}]},
        {"type": "item_reference", "id": "msg_0"},
    ]
    found = request(input=items)
    assert found.partial
    assert found.asked["messages"] == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, image]},
        {
            "role": "assistant",
            "content": [{key: value for key, value in search.items() if key != "id"}, {"type": "text", "text": "so"}],
            "reasoning": "a",
            "tool_calls": [
                {"id": "c1", "name": "find", "arguments": {"id": 1}},
                {"id": "c2", "type": "custom", "name": "run", "arguments": "ls -l"},
                {
                    "id": "c3",
                    "type": "computer_call",
                    "name": "computer_call",
                    "arguments": {"action": {"type": "wait"}},
                },
            ],
        },
        {"role": "tool", "content": "7", "tool_call_id": "c1"},
        {"role": "tool", "content": ".", "tool_call_id": "c2"},
        {"role": "other", "content": {"type": "item_reference", "id": "msg_0"}},
    ]


@pytest.mark.parametrize("key", ["previous_response_id", "conversation", "prompt"])
def test_what_the_provider_keeps_makes_a_request_partial(key: str) -> None:
    """It decides the answer, so that it stands among the parameters."""
    found = request(**{key: "x_1"})
    assert found.partial
    assert found.asked["params"] == {key: "x_1"}


@pytest.mark.parametrize(
    "items",
    [
        [],
        [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": []}],
        [
            {
                "type": "message",
                "id": "m",
                "role": "assistant",
                "phase": "commentary",
                "content": [
                    {
                        "type": "output_text",
                        "text": "a",
                        "annotations": [{"type": "url_citation", "url": "u"}],
                        "logprobs": [],
                    },
                    {"type": "output_text", "text": "", "annotations": []},
                    {"type": "refusal", "refusal": "no\n\nnever"},
                ],
            },
            CALL,
            {
                "type": "message",
                "id": "n",
                "role": "assistant",
                "content": [
                    {"type": "refusal", "refusal": "and no"},
                    {"type": "output_text", "text": "b", "annotations": [{"n": 1}, {"n": 2}]},
                ],
            },
        ],
        [
            {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "gAAA"},
            {
                "type": "reasoning",
                "id": "r2",
                "summary": [{"type": "summary_text", "text": "x\n\ny"}],
                "content": [{"type": "reasoning_text", "text": ""}, {"type": "reasoning_text", "text": "z"}],
            },
            {"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "output": "4", "server_label": "s"},
            {**CALL, "arguments": '{"id":\t1}', "namespace": "shop"},
            {**CALL, "arguments": "no json"},
            {"type": "custom_tool_call", "id": "ct", "call_id": "c2", "name": "run", "input": "ls"},
            {
                "type": "local_shell_call",
                "id": "ls",
                "call_id": "c3",
                "status": "completed",
                "action": {"type": "exec"},
            },
        ],
    ],
)
def test_output_items_come_back_as_they_were(items: list[Any]) -> None:
    """Order, ids, marks, annotations, parts and spellings survive both ways, beside a Message that says it once."""
    assert rebuilt(answer(*items))["output"] == items


def test_a_changed_message_is_what_is_sent() -> None:
    """The Message leads: a layout that does not fit it any more is left."""
    found = answer(CALL, usage={"input_tokens": 1})
    changed = WireAnswer({"role": "assistant", "content": "sorry"}, model="m", extra=found.extra)
    (item,) = rebuilt(changed)["output"]
    assert (item["type"], item["content"][0]["text"]) == ("message", "sorry")
    sent = b"".join(WIRE.stream(changed, ASKED))
    assert WIRE.answer_from_stream([sent], {}).output == changed.output


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error": {"message": "slow", "type": "t", "code": "c"}}', WireError("c", "slow")),
        (b"text", WireError("http_429", "text")),
    ],
)
def test_errors_are_named_and_come_back(body: bytes, error: WireError) -> None:
    """The code where there is one, else the status; the body and the headers that matter are kept."""
    found = WIRE.answer(429, {"retry-after": "3", "date": "now"}, body)
    assert found.error == error
    status, headers, again = WIRE.response(found, ASKED)
    assert (status, headers["retry-after"]) == (429, "3")
    assert again == body or parse_json(again) == parse_json(body)


def test_pieces_of_unknown_kinds_are_counted_and_not_kept() -> None:
    """A piece of a text that stands nowhere else could hold half of a name."""
    events = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.audio.transcript.delta", "delta": "Zo"},
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws"},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
    ]
    found = WIRE.answer_from_stream([b"data: " + dump_json(event) + b"\n\n" for event in events], {})
    assert found.extra["dropped_events"] == 1
    sent = b"".join(WIRE.stream(found, ASKED))
    assert b"searching" in sent
    assert b"Zo" not in sent
    assert b"sequence_number" not in sent  # this server numbers nothing


@given(OUTPUTS, st.integers(1, 40))
def test_every_message_survives_a_stream(output: Any, size: int) -> None:
    """A message streamed, cut anywhere and merged again is the message it was; without streaming too; and again."""
    given_answer = WireAnswer(output, model="m", usage=WireUsage(1, 2, 3, 4))
    content = b"".join(WIRE.stream(given_answer, ASKED))
    streamed = WIRE.answer_from_stream([content[at : at + size] for at in range(0, len(content), size)], {})
    status, headers, body = WIRE.response(given_answer, ASKED)
    whole = WIRE.answer(status, headers, body)
    assert streamed.error is whole.error is None
    assert parsed(streamed.output) == parsed(whole.output) == parsed(output)
    assert whole.usage == streamed.usage == given_answer.usage
    assert events_in(WIRE.stream(streamed, ASKED)) == events_in([content])
    assert rebuilt(whole) == parse_json(body)


def test_an_import_reads_a_body_as_the_wire_does() -> None:
    """A run from a tracing product is matched by calls made through the SDK."""
    items: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text} for text in "ab"]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so", "annotations": []}]},
        CALL,
        {**CALL, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "7"},
        {"type": "function_call_output", "call_id": "c2", "output": "8"},
    ]
    assert messages_in({"instructions": "be kind", "input": items}) == _messages(instructions="be kind", input=items)
    assert answer_in({"output": items[1:5]}) == answer(*items[1:5]).output


def _messages(**fields: Any) -> Any:
    return request(**fields).asked["messages"]
