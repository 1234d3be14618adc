"""Documents of the providers' own logs, of Inspect and of sessions: a part of `samples`."""

from __future__ import annotations

from typing import Any

__all__ = ["ANTHROPIC", "BEDROCK", "GEMINI", "INSPECT", "OPENAI_CHAT", "SESSION", "SESSION_CALLS"]

CALL = {"id": "c", "type": "function", "function": {"name": "get_x", "arguments": '{"a": [1]}'}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL], "function_call": None}
CHAT: list[Any] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [{"type": "text", "text": "u"}]},
    ASKS,
    {"role": "tool", "tool_call_id": "c", "name": "get_x", "content": '{"b": 1}'},
    {"role": "assistant", "content": "a"},
]
REPLY: dict[str, Any] = {
    "choices": [{"message": ASKS, "finish_reason": "length"}, {"message": {}}],
    "usage": {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 1}},
}
OPENAI_CHAT: list[Any] = [
    {"request": {"model": "m", "messages": CHAT, "tools": [CALL], "top_p": 1}, "response": REPLY},
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
BLOCKS: list[Any] = [
    {"type": "thinking", "thinking": "t"},
    {"type": "text", "text": "t", "cache_control": {}},
    {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
]
RESULTS: list[Any] = [
    {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "t"}], "is_error": True}
]
ANTHROPIC: list[Any] = [
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
SESSION: list[Any] = [
    {"type": "user.message", "content": BLOCKS[1:2], "processed_at": "2025-01-01T00:00:00Z"},
    {"type": "span.model_request_start", "processed_at": "2025-01-01T00:00:01Z"},
    {"type": "agent.tool_use", "id": "c", "name": "f", "input": {"a": 1}, "processed_at": 1},
    {"type": "span.model_request_end", "model_usage": {"input_tokens": 1}, "is_error": False, "processed_at": ""},
    {"type": "user.tool_confirmation", "tool_use_id": "c", "result": "deny", "processed_at": None},
    {"type": "agent.tool_result", "tool_use_id": "c", "content": BLOCKS[1:2], "is_error": True, "processed_at": ""},
    {"type": "session.error", "error": {"type": "t", "message": "m"}, "processed_at": ""},
]
GEMINI: dict[str, Any] = {
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
BEDROCK: dict[str, Any] = {
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
INSPECT: dict[str, Any] = {
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
SESSION_CALLS: list[Any] = [
    [
        "client.beta.sessions.create",
        {"type": "session", "id": "s", "agent": {"id": "a", "name": "n", "system": "s", "tools": [{"name": "f"}]}},
    ],
    ["client.beta.sessions.events.send", ["s", {"events": SESSION[:1]}]],
    *(["client.beta.sessions.events.stream", event] for event in SESSION[1:]),
    ["client.beta.sessions.events.stream", {"type": "agent.thread_context_compacted", "processed_at": 2}],
]
