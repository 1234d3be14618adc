"""Documents of every format with junk in random places: read, or refused with a typed error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.errors import EvalkitError
from evalkit.trace.evidence import evidence
from evalkit.trace.file import encode_trace
from evalkit.trace.read import load_traces

CALL = {"id": "c", "type": "function", "function": {"name": "get_x", "arguments": '{"a": [1]}'}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL], "function_call": None}
TAU = [
    {
        "task_id": 1,
        "trial": 0,
        "traj": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "u"}]},
            ASKS,
            {"role": "tool", "tool_call_id": "c", "name": "get_x", "content": '{"b": 1}'},
            {"role": "assistant", "content": "a"},
        ],
    }
]
TAU2 = {
    "info": {
        "agent_info": {"llm": "m", "llm_args": {"temperature": 0}, "implementation": "i"},
        "environment_info": {"policy": "p", "domain_name": "d", "tool_defs": [{"name": "f", "input_schema": {}}]},
    },
    "tasks": [{"id": 1}],
    "simulations": [
        {
            "task_id": 1,
            "trial": 0,
            "termination_reason": "user_stop",
            "start_time": "2025-01-01T00:00:00",
            "messages": [
                {"role": "user", "content": "u", "timestamp": "2025-01-01T00:00:00"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}, "requestor": "assistant"}],
                    "usage": {
                        "prompt_tokens": 1,
                        "completion_tokens": 2,
                        "prompt_tokens_details": {"cached_tokens": 1},
                    },
                    "cost": 0.1,
                },
                {"role": "tool", "id": "c", "content": "[1]", "error": False, "requestor": "assistant"},
            ],
        }
    ],
}
MESSAGES = [
    {
        "role": "user",
        "parts": [{"type": "text", "content": "u"}, {"type": "tool_call_response", "id": "c", "response": 1}],
    },
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]},
]
OTLP = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "t",
                            "spanId": "s",
                            "parentSpanId": "p",
                            "name": "chat",
                            "startTimeUnixNano": "1",
                            "endTimeUnixNano": "2",
                            "status": {"code": 2, "message": "m"},
                            "events": [{"name": "exception", "attributes": []}],
                            "attributes": [
                                {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                                {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "3"}},
                                {"key": "gen_ai.input.messages", "value": {"arrayValue": {"values": []}}},
                                {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps(MESSAGES)}},
                                {"key": "gen_ai.system_instructions", "value": {"kvlistValue": {"values": []}}},
                            ],
                        }
                    ]
                }
            ],
        }
    ]
}
LANGCHAIN = {
    "type": "ai",
    "content": "",
    "tool_calls": [{"id": "c", "name": "f", "args": {"a": 1}}],
    "usage_metadata": {},
}
STEPFORK = {
    "manifest": {"format": "stepfork", "run_id": "r", "agent_name": "a", "status": "failed", "failure": {"type": "E"}},
    "events": [
        {"id": "0", "type": "run_start", "parent_id": None, "timestamp": "2025-01-01T00:00:00Z", "input": 1},
        {
            "id": "1",
            "type": "llm_request",
            "parent_id": "0",
            "input": {
                "method": "chat.completions.create",
                "request": {"messages": [ASKS], "tools": [CALL]},
            },
        },
        {"id": "2", "type": "llm_response", "parent_id": "1", "output": {"generations": [{"message": LANGCHAIN}]}},
        {
            "id": "3",
            "type": "llm_request",
            "parent_id": "0",
            "input": {"messages": [LANGCHAIN], "kwargs": {"tools": []}},
        },
        {"id": "4", "type": "tool_call", "parent_id": "3", "name": "f", "input": {}},
        {
            "id": "5",
            "type": "tool_result",
            "parent_id": "4",
            "name": "f",
            "status": "error",
            "output": {"error_type": "E"},
        },
        {"id": "6", "type": "error", "parent_id": "5", "error_type": "E", "message": "m"},
        {"id": "7", "type": "state_change", "parent_id": "0", "key": "k", "before": 1, "after": 2},
    ],
}
REPLY = {
    "choices": [{"message": ASKS, "finish_reason": "length"}, {"message": {}}],
    "usage": {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 1}},
}
OPENAI_CHAT = [
    {"request": {"model": "m", "messages": TAU[0]["traj"], "tools": [CALL], "top_p": 1}, "response": REPLY},
    {
        "request_body": {"instructions": "s", "input": [{"role": "user", "content": "u"}], "previous_response_id": "r"},
        "response_body": {
            "id": "r",
            "object": "response",
            "output": [
                {"type": "reasoning", "summary": [{"text": "t"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "web_search_call", "id": "w"},
            ],
        },
        "start_time": "2025-01-01T00:00:00Z",
        "error": None,
    },
]
BLOCKS = [
    {"type": "thinking", "thinking": "t"},
    {"type": "text", "text": "t", "cache_control": {}},
    {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
]
RESULTS = [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "t"}], "is_error": True}]
ANTHROPIC = [
    {
        "request": {
            "system": [{"type": "text", "text": "s"}],
            "messages": [
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": BLOCKS},
                {"role": "user", "content": RESULTS},
            ],
            "tools": [{"name": "f", "input_schema": {}}],
            "max_tokens": 1,
        },
        "response": {"type": "message", "role": "assistant", "content": BLOCKS, "usage": {"input_tokens": 1}},
    },
    {"custom_id": "b", "result": {"type": "errored", "error": {"type": "error", "error": {"message": "m"}}}},
]
SESSION = [
    {"type": "user.message", "content": BLOCKS[1:2], "processed_at": "2025-01-01T00:00:00Z"},
    {"type": "span.model_request_start", "processed_at": "2025-01-01T00:00:01Z"},
    {"type": "agent.tool_use", "id": "c", "name": "f", "input": {"a": 1}, "processed_at": 1},
    {"type": "span.model_request_end", "model_usage": {"input_tokens": 1}, "is_error": False, "processed_at": ""},
    {"type": "user.tool_confirmation", "tool_use_id": "c", "result": "deny", "processed_at": None},
    {"type": "agent.tool_result", "tool_use_id": "c", "content": BLOCKS[1:2], "is_error": True, "processed_at": ""},
    {"type": "session.error", "error": {"type": "t", "message": "m"}, "processed_at": ""},
]
GEMINI = {
    "request": {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "u"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"b": 1}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
        "generationConfig": {"topP": 1},
    },
    "response": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "t"}]}}],
        "usageMetadata": {"promptTokenCount": 1},
    },
}
BEDROCK = {
    "request": {
        "system": [{"text": "s"}],
        "messages": [
            {"role": "user", "content": [{"text": "u"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"json": {}}]}}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
    },
    "response": {"output": {"message": {"role": "assistant", "content": [{"text": "t"}]}}, "stopReason": "end_turn"},
}
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "t"},
    "samples": [
        {
            "id": 1,
            "epoch": 1,
            "input": "u",
            "messages": [{"role": "user", "content": "u"}],
            "limit": {"type": "token", "limit": 1},
            "error": {"message": "E('m')", "traceback": "t"},
            "attachments": {"a": "long"},
            "events_data": {"messages": [{"role": "user", "content": "attachment://a"}]},
            "events": [
                {"event": "span_begin", "id": "s", "parent_id": None, "type": "agent", "name": "n"},
                {"event": "sample_init", "sample": {"input": "u", "target": "g"}},
                {
                    "event": "model",
                    "span_id": "s",
                    "timestamp": "2025-01-01T00:00:00Z",
                    "input_refs": [[0, 1]],
                    "tools": [{"name": "f", "parameters": {}}],
                    "config": {"top_p": 1},
                    "output": {
                        "choices": [
                            {"message": {"content": "t", "tool_calls": [{"id": "c", "function": "f", "arguments": {}}]}}
                        ],
                        "usage": {"input_tokens": 1, "total_tokens": 3, "input_tokens_cache_read": 1},
                    },
                },
                {"event": "span_begin", "id": "t", "parent_id": "s", "type": "tool", "name": "f"},
                {"event": "tool", "span_id": "s", "id": "c", "function": "f", "arguments": {}, "result": "r"},
                {"event": "store", "span_id": "t", "changes": [{"op": "add", "path": "/a", "value": 1}]},
                {"event": "approval", "call": {"id": "c", "function": "f", "arguments": {}}, "decision": "approve"},
                {"event": "step", "action": "begin", "name": "n", "type": "scorer"},
                {"event": "subtask", "name": "n", "input": {}, "events": [{"event": "info", "data": 1}]},
                {"event": "span_end", "id": "s"},
            ],
        }
    ],
}
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 2**70, 1.5, "", "x", "{", "[1]", "\x00", [], [1], ["a", None], {}, {"a": 1}, {"role": 5}, [[]]]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged(document: Any, data: st.DataObject) -> Any:
    """A copy of `document` with junk in one to three places."""
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        found = sorted(places(document), key=str)
        if not found:
            break
        *way, last = data.draw(st.sampled_from(found))
        holder = document
        for key in way:
            holder = holder[key]
        holder[last] = copy.deepcopy(data.draw(JUNK))
    return document


def written(document: Any, format_name: str, folder: Path) -> Path:
    """The document on disk in its format's shape."""
    if format_name != "stepfork":
        path = folder / "document.json"
        path.write_text(json.dumps(document), "utf-8")
        return path
    (folder / "manifest.json").write_text(json.dumps(document["manifest"]), "utf-8")
    events = document["events"] if isinstance(document["events"], list) else [document["events"]]
    (folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("format_name", "document"),
    [
        ("tau-bench", TAU),
        ("tau2-bench", TAU2),
        ("otlp", OTLP),
        ("stepfork", STEPFORK),
        ("openai-chat", OPENAI_CHAT),
        ("anthropic", ANTHROPIC),
        ("anthropic-session", SESSION),
        ("gemini", GEMINI),
        ("bedrock", BEDROCK),
        ("inspect", INSPECT),
    ],
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_junk_anywhere_is_read_or_refused(tmp_path: Path, format_name: str, document: Any, data: st.DataObject) -> None:
    """No foreign value at any place raises anything but a typed error; what is read can be judged and written."""
    path = written(damaged(document, data), format_name, tmp_path)
    try:
        for trace in load_traces(path, format=format_name):
            assert [step.seq for step in trace.steps] == list(range(len(trace.steps)))
            assert 0.0 <= evidence(trace).score <= 1.0
            assert b"".join(encode_trace(trace)).endswith(b"\n")
    except EvalkitError:
        return
