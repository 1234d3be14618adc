"""What OpenAI's Responses API and Anthropic's Messages API answer, as their documentation shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.capture.scripted_server import Reply

RESPONSE: dict[str, Any] = {
    "id": "resp_67ccd2bed1ec8190",
    "object": "response",
    "created_at": 1741476542,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "model": "gpt-test-2025-04-14",
    "output": [],
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": "low", "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "usage": {
        "input_tokens": 36,
        "input_tokens_details": {"cached_tokens": 8},
        "output_tokens": 87,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 123,
    },
    "user": None,
    "metadata": {},
}
REASONING: dict[str, Any] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [
        {"type": "summary_text", "text": "**Looking**\n\nat the order"},
        {"type": "summary_text", "text": "then the refund"},
    ],
    "encrypted_content": "gAAAAAB0",
    "status": None,
}
SAID: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Let me refund  Zoë.", "annotations": [], "logprobs": []}],
}
CALLS: list[dict[str, Any]] = [
    {
        "id": f"fc_{name}",
        "type": "function_call",
        "status": "completed",
        "arguments": arguments,
        "call_id": f"call_{name}",
        "name": name,
    }
    for name, arguments in (("find", '{"id": "ü 7"}'), ("refund", '{"amount":2.50,"to":"Zoë"}'))
]

MESSAGE: dict[str, Any] = {
    "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
    "type": "message",
    "role": "assistant",
    "model": "claude-test-4",
    "content": [{"type": "text", "text": "Hi! My name is Claude."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
        "output_tokens": 25,
        "service_tier": "standard",
    },
}
BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "They want\n\na refund.", "signature": "EqQBCgIYAhIM"},
    {"type": "redacted_thinking", "data": "EmwKAhgBEgy3"},
    {"type": "text", "text": "Let me refund  Zoë.", "citations": None},
    {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"id": "ü 7"}},
    {"type": "tool_use", "id": "toolu_2", "name": "refund", "input": {"amount": 2.5, "to": "Zoë"}},
    {"type": "tool_use", "id": "toolu_3", "name": "close", "input": {}},
]
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_9"}


def response(*items: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A response with these output items."""
    return {**RESPONSE, "output": list(items), **fields}


def message(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A message with these content blocks."""
    return {**MESSAGE, "content": list(blocks), **fields}


def events_reply(events: Sequence[dict[str, Any]], *, cut: bool = False, size: int = 90, **headers: str) -> Reply:
    """A stream of events, in pieces that do not end where events do."""
    content = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    named = {"content-type": "text/event-stream", **{key.replace("_", "-"): value for key, value in headers.items()}}
    return Reply(200, named, chunks=pieces, cut=cut)


def response_events() -> list[dict[str, Any]]:
    """A streamed response: a reasoning, a text, and two calls, in pieces of odd sizes."""
    whole = response(REASONING, SAID, *CALLS)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "service_tier": "auto"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**REASONING, "summary": []}},
    ]
    for at, part in enumerate(REASONING["summary"]):
        place = {"item_id": "rs_1", "output_index": 0, "summary_index": at}
        events += [
            {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}},
            *_deltas("response.reasoning_summary_text", place, part["text"], "text", 7),
            {"type": "response.reasoning_summary_part.done", **place, "part": part},
        ]
    place, part = {"item_id": "msg_1", "output_index": 1, "content_index": 0}, SAID["content"][0]
    events += [
        {"type": "response.output_item.done", "output_index": 0, "item": REASONING},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**SAID, "content": [], "status": "in_progress"},
        },
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *_deltas("response.output_text", {**place, "logprobs": []}, part["text"], "text", 3),
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 1, "item": SAID},
    ]
    for at, call in enumerate(CALLS, 2):
        begun_call = {**call, "arguments": "", "status": "in_progress"}
        events += [
            {"type": "response.output_item.added", "output_index": at, "item": begun_call},
            *_deltas(
                "response.function_call_arguments",
                {"item_id": call["id"], "output_index": at},
                call["arguments"],
                "arguments",
                4,
            ),
            {"type": "response.output_item.done", "output_index": at, "item": call},
        ]
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _deltas(kind: str, place: dict[str, Any], text: str, name: str, size: int) -> list[dict[str, Any]]:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    deltas = [{"type": f"{kind}.delta", **place, "delta": piece, "obfuscation": "xYz"} for piece in pieces]
    return [*deltas, {"type": f"{kind}.done", **place, name: text}]


def message_events() -> list[dict[str, Any]]:
    """A streamed message: thinking, a text and three calls (one without arguments), with pings."""
    begun = message(stop_reason=None, usage={**MESSAGE["usage"], "output_tokens": 1})
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    texts = ("", "", "", '{"id": "ü 7"}', '{"amount":2.5,"to":"Zoë"}', "")
    for at, (block, text) in enumerate(zip(BLOCKS, texts, strict=True)):
        empty: dict[str, Any] = {key: "" for key in ("text", "thinking", "signature") if key in block}
        empty |= {"input": {}} if "input" in block else {}
        events.append({"type": "content_block_start", "index": at, "content_block": {**block, **empty}})
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(block.get("thinking", ""), 6)]
        deltas += [{"type": "signature_delta", "signature": block[key]} for key in ("signature",) if key in block]
        deltas += [{"type": "text_delta", "text": piece} for piece in _cut(block.get("text", ""), 4)]
        if "input" in block:
            deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *_cut(text, 5))]
        events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        if at == 0:
            events.append({"type": "ping"})
        events.append({"type": "content_block_stop", "index": at})
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": end, "usage": {"output_tokens": 25}}, {"type": "message_stop"}]


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
