"""Logs of raw model calls of OpenAI's, Google's and Amazon's APIs, and plain lists of messages."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.evidence import evidence
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Usage
from evalkit.trace.read import load_traces
from tests.corpora import CORPORA, needs_corpora
from tests.trace.logs import read, shape

SYSTEM = {"role": "system", "content": "Be brief."}
ASK = {"role": "user", "content": "Weather in Oslo?"}
CALL = {
    "role": "assistant",
    "content": None,
    "refusal": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"t": 3}'}
SAID = {"role": "assistant", "content": "3 degrees."}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
RUN: list[dict[str, Any]] = [SYSTEM, ASK, CALL, RESULT, SAID]
PLAIN_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
}
SHAPE = [
    ("other", "user_message"),
    ("model", "chat"),
    ("tool", "get_weather"),
    ("model", "chat"),
]


def completion(message: dict[str, Any], number: int = 1) -> dict[str, Any]:
    """A chat completion with one choice."""
    usage = {
        "prompt_tokens": 10 * number,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": f"r{number}", "object": "chat.completion", "model": "m-1", "choices": [choice], "usage": usage}


def request(*messages: dict[str, Any]) -> dict[str, Any]:
    """A chat completions request."""
    return {"model": "m", "messages": [*messages], "tools": TOOLS, "temperature": 0, "stream": False, "user": "u"}


FIRST = (request(SYSTEM, ASK), completion(CALL))
SECOND = (request(SYSTEM, ASK, CALL, RESULT), completion(SAID, 2))


@pytest.mark.parametrize(
    "document",
    [
        RUN,
        {"messages": RUN, "tools": TOOLS},
        [{"messages": RUN}],
        [RUN],
        ({"messages": RUN, "tools": TOOLS}, {"messages": [ASK, SAID]}),
        tuple(RUN),
    ],
    ids=["list", "object", "objects", "lists", "fine-tuning lines", "a message a line"],
)
def test_a_list_of_messages_is_a_run(tmp_path: Path, document: Any) -> None:
    """Each assistant message is a model call that saw the messages before it; its calls are tool steps."""
    trace = read(tmp_path, document)[0]
    assert shape(trace) == SHAPE
    _, first, tool, second = trace.steps
    assert first.output == PLAIN_CALL
    assert isinstance(second.input, dict)
    assert second.input["messages"] == [SYSTEM, ASK, PLAIN_CALL, RESULT]
    assert (tool.input, tool.output, tool.effect) == ({"city": "Oslo"}, {"t": 3}, "read")
    assert (trace.dialect, trace.input, trace.output) == ("openai-chat", "Weather in Oslo?", "3 degrees.")
    assert trace.status == "completed"
    assert any("messages only" in gap for gap in trace.gaps)


def wrapped(style: str) -> tuple[dict[str, Any], ...]:
    """The two calls as one log or another spells them."""
    found: list[dict[str, Any]] = []
    for number, (asked, answered) in enumerate((FIRST, SECOND), 1):
        times = {"startTime": 100.0 * number, "endTime": 100.0 * number + 1}
        own = {"messages": asked["messages"], "model": "m"}
        spelled: dict[str, dict[str, Any]] = {
            "pair": {"request": asked, "response": answered},
            "bodies": {"request_body": json.dumps(asked), "response_body": json.dumps(answered)},
            "http": {
                "request": {"method": "POST", "url": "u", "body": asked},
                "response": {"status_code": 200, "body": answered},
            },
            "openpipe": {"input": asked, "output": answered, "tags": {"a": "b"}},
            "litellm": {
                "id": f"l{number}",
                "call_type": "acompletion",
                **own,
                "response": answered,
                "model_parameters": {"temperature": 0, "tools": TOOLS},
                **times,
            },
            "spend": {
                "request_id": f"s{number}",
                "spend": 0.25,
                "model": "m",
                "proxy_server_request": json.dumps(asked),
                "messages": {},
                "response": json.dumps(answered),
            },
            "batch": {
                "custom_id": f"b{number}",
                "body": asked,
                "response": {"status_code": 200, "request_id": "q", "body": answered},
                "error": None,
            },
            "bare answer": {
                "input": asked["messages"],
                "output": answered["choices"][0]["message"],
                "model": "m-1",
                "tools": TOOLS,
            },
        }
        found.append(spelled[style])
    return tuple(found)


@pytest.mark.parametrize("style", ["pair", "bodies", "http", "openpipe", "litellm", "spend", "batch", "bare answer"])
def test_every_spelling_of_a_pair_gives_one_joined_trace(tmp_path: Path, style: str) -> None:
    """A request that goes on with the former one and its answer belongs to the same run."""
    (trace,) = read(tmp_path, wrapped(style))
    assert shape(trace) == SHAPE
    _, first, tool, second = trace.steps
    assert isinstance(second.input, dict)
    assert second.input["messages"] == [SYSTEM, ASK, PLAIN_CALL, RESULT]
    assert (tool.input, tool.output, second.output) == ({"city": "Oslo"}, {"t": 3}, SAID)
    assert first.model == "m-1"
    if style != "bare answer":
        assert second.input["params"] == {"temperature": 0}
        assert second.input["tools"] == [{"name": "get_weather", "parameters": {"type": "object"}}]
        assert first.usage is not None
        assert (first.usage.input_tokens, first.usage.cached_tokens, first.usage.reasoning_tokens) == (10, 4, 2)
    if style == "litellm":
        assert (first.started_at, first.ended_at, tool.started_at, tool.ended_at) == (100.0, 101.0, 101.0, 200.0)
        assert evidence(trace).score == 1.0
    if style == "spend":
        assert first.usage is not None
        assert first.usage.cost_usd == 0.25


def test_a_batchs_two_files_are_put_together(tmp_path: Path) -> None:
    """In one file, a request and the response of its custom_id are one call."""
    asked = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": FIRST[0]}
    answered = {"id": "x", "custom_id": "a", "response": {"status_code": 200, "body": FIRST[1]}, "error": None}
    (trace,) = read(tmp_path, (asked, answered))
    assert shape(trace) == [*SHAPE[:2], ("tool", "get_weather")]
    assert trace.status == "unfinished"
    (alone,) = read(tmp_path, (answered,))
    assert any("request of 1 model calls is not in the source" in gap for gap in alone.gaps)
    (unanswered,) = read(tmp_path, (asked,))
    assert (unanswered.status, unanswered.steps[1].output) == ("unfinished", None)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ([], "completed"),
        (["user"], "completed"),
        (["user", "user"], "unfinished"),
    ],
)
def test_the_user_may_have_the_last_word(tmp_path: Path, ending: list[str], status: str) -> None:
    """Thanks are no sign that the agent broke off; a question that nobody ever answered is."""
    messages = [{"role": role, "content": f"{role} {at}"} for at, role in enumerate(["user", "assistant", *ending])]
    (trace,) = read(tmp_path, messages)
    assert trace.status == status


def test_conversations_that_do_not_go_on_stay_apart(tmp_path: Path) -> None:
    """Interleaved chats are told apart by their messages; another question is another trace."""
    other = (request(SYSTEM, {"role": "user", "content": "Who?"}), completion({"role": "assistant", "content": "I."}))
    pairs = [{"request": asked, "response": answered} for asked, answered in (FIRST, other, SECOND)]
    traces = read(tmp_path, pairs)
    assert [len(trace.steps) for trace in traces] == [4, 2]
    assert len({trace.id for trace in traces}) == 2


def test_a_changed_system_prompt_does_not_break_a_conversation(tmp_path: Path) -> None:
    """Agents put the date into it; each model step keeps what it was really sent."""
    later = request({"role": "system", "content": "It is late."}, ASK, CALL, RESULT)
    pairs = [
        {"request": FIRST[0], "response": FIRST[1]},
        {"request": later, "response": SECOND[1]},
    ]
    (trace,) = read(tmp_path, pairs)
    assert shape(trace) == SHAPE
    assert isinstance(trace.steps[3].input, dict)
    assert trace.steps[3].input["messages"][0]["content"] == "It is late."  # type: ignore[index,call-overload]  # a list of messages


def test_a_failed_call_and_its_repetition_are_one_trace(tmp_path: Path) -> None:
    """The error is the first step's; the run goes on with the same request."""
    broken = {"request": FIRST[0], "response": {"error": {"type": "rate_limit", "message": "slow down"}}}
    (trace,) = read(tmp_path, [broken, {"request": FIRST[0], "response": completion(SAID)}])
    assert [(step.kind, step.error) for step in trace.steps] == [
        ("other", None),
        ("model", StepError("rate_limit", "slow down")),
        ("model", None),
    ]
    assert trace.status == "completed"
    (failed,) = read(tmp_path, [broken])
    assert (failed.status, failed.error) == ("failed", StepError("rate_limit", "slow down"))


@pytest.mark.parametrize(
    ("answered", "error"),
    [
        ({"status_code": 500, "content": "overloaded"}, StepError("http_500", "overloaded")),
        ({"status": 503, "body": {"detail": "later"}}, StepError("http_503", "")),
        ({"status_code": 429, "body": {"error": {"code": "slow", "message": "down"}}}, StepError("slow", "down")),
    ],
)
def test_an_http_error_is_no_answer(tmp_path: Path, answered: dict[str, Any], error: StepError) -> None:
    """The status decides where the body is no error of the API."""
    (trace,) = read(tmp_path, [{"request": FIRST[0], "response": answered}])
    assert (trace.steps[1].output, trace.steps[1].error) == (None, error)


def test_calls_known_only_from_a_later_request_are_steps_and_said(tmp_path: Path) -> None:
    """A log that holds only the last call still tells of the tool's result."""
    (trace,) = read(tmp_path, [{"request": SECOND[0], "response": SECOND[1]}])
    assert shape(trace) == SHAPE
    assert trace.steps[1].attributes["read_from"] == "the messages of a later model call"
    assert any("1 model calls are known only" in gap for gap in trace.gaps)


def test_responses_are_read_and_joined(tmp_path: Path) -> None:
    """Reasoning, text and calls of one answer are one Message; ``previous_response_id`` goes on with it."""
    asked = {"model": "m", "instructions": "Be brief.", "input": "Weather in Oslo?", "reasoning": {"effort": "low"}}
    thought = {"type": "reasoning", "id": "t", "summary": [{"type": "summary_text", "text": "Look it up."}]}
    call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}
    usage = {
        "input_tokens": 7,
        "output_tokens": 3,
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    answered = {"id": "resp_1", "object": "response", "model": "m-1", "output": [thought, call], "usage": usage}
    told = {"type": "function_call_output", "call_id": "c1", "output": '{"t": 3}'}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3 degrees."}]}
    tools = [{"type": "function", "name": "get_weather", "parameters": {}}]
    kept = {"model": "m", "previous_response_id": "resp_1", "input": [told], "tools": tools}
    repeated = {"model": "m", "input": [{"role": "user", "content": "Weather in Oslo?"}, thought, call, told]}
    for second in (kept, repeated):
        last = {"id": "resp_2", "object": "response", "output": [said]}
        (trace,) = read(tmp_path, [{"request": asked, "response": answered}, {"request": second, "response": last}])
        assert shape(trace) == SHAPE
        assert trace.steps[1].output == {**PLAIN_CALL, "reasoning": "Look it up."}
        assert trace.steps[1].usage == Usage(7, 3, 1, 2)
        assert isinstance(trace.steps[1].input, dict)
        assert trace.steps[1].input["params"] == {"reasoning": {"effort": "low"}}
        assert (trace.steps[2].output, trace.output) == ({"t": 3}, "3 degrees.")


def test_items_kept_for_the_next_turn_are_a_run(tmp_path: Path) -> None:
    """The OpenAI Agents SDK keeps a conversation as items of the Responses API."""
    call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}
    told = {"type": "function_call_output", "call_id": "c1", "output": '{"t": 3}'}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3 degrees."}]}
    (trace,) = read(tmp_path, [ASK, call, told, said])
    assert (shape(trace), trace.output) == (SHAPE, "3 degrees.")


def test_generate_content_is_read(tmp_path: Path) -> None:
    """Google's contents: calls have no ids, and are answered in order."""
    ask = {"role": "user", "parts": [{"text": "Weather in Oslo?"}]}
    call = {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}]}
    told = {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": {"t": 3}}}]}
    said = {"role": "model", "parts": [{"text": "Cold?", "thought": True}, {"text": "3 degrees."}]}
    tools = [{"functionDeclarations": [{"name": "get_weather", "parameters": {"type": "OBJECT"}}]}]
    base: dict[str, Any] = {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "tools": tools}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "cachedContentTokenCount": 1}
    pairs = [
        {
            "request": {**base, "contents": [ask], "generationConfig": {"maxOutputTokens": 9}},
            "response": {"candidates": [{"content": call, "finishReason": "STOP"}], "usageMetadata": usage},
        },
        {
            "request": {**base, "contents": [ask, call, told]},
            "response": {"candidates": [{"content": said}], "modelVersion": "g-1"},
        },
    ]
    (trace,) = read(tmp_path, pairs)
    assert (trace.dialect, shape(trace)) == ("gemini", SHAPE)
    _, first, tool, second = trace.steps
    assert isinstance(first.input, dict)
    assert first.input["messages"] == [SYSTEM, ASK]
    assert first.input["params"] == {"max_tokens": 9}
    assert first.input["tools"] == [{"name": "get_weather", "parameters": {"type": "OBJECT"}}]
    assert first.usage == Usage(9, 5, 1, 3)
    assert (tool.input, tool.output) == ({"city": "Oslo"}, {"t": 3})
    assert second.output == {"role": "assistant", "content": "3 degrees.", "reasoning": "Cold?"}


def test_converse_is_read(tmp_path: Path) -> None:
    """Amazon's blocks are named by their key; a tool result may say that it failed."""
    ask = {"role": "user", "content": [{"text": "Weather in Oslo?"}]}
    used = {"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Oslo"}}}
    call = {"role": "assistant", "content": [used]}
    result = {"toolUseId": "c1", "content": [{"text": "no such place"}], "status": "error"}
    told = {"role": "user", "content": [{"toolResult": result}]}
    said = {"role": "assistant", "content": [{"text": "Unknown."}]}
    base: dict[str, Any] = {
        "modelId": "b-1",
        "system": [{"text": "Be brief."}],
        "inferenceConfig": {"maxTokens": 5},
        "toolConfig": {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]},
    }
    usage = {"inputTokens": 4, "outputTokens": 2, "cacheReadInputTokens": 3}
    pairs = [
        {
            "request": {**base, "messages": [ask]},
            "response": {"output": {"message": call}, "stopReason": "tool_use", "usage": usage},
        },
        {
            "request": {**base, "messages": [ask, call, told]},
            "response": {"output": {"message": said}, "stopReason": "end_turn"},
        },
    ]
    (trace,) = read(tmp_path, pairs)
    assert (trace.dialect, shape(trace)) == ("bedrock", SHAPE)
    _, first, tool, second = trace.steps
    assert isinstance(first.input, dict)
    assert first.input == {
        "messages": [SYSTEM, ASK],
        "tools": [{"name": "get_weather", "parameters": {"type": "object"}}],
        "params": {"max_tokens": 5},
    }
    assert (first.model, first.usage) == ("b-1", Usage(7, 2, 3))
    assert tool.error == StepError("ToolError", "no such place")
    assert second.output == {"role": "assistant", "content": "Unknown."}


def test_labels_around_a_record_never_enter_a_trace(tmp_path: Path) -> None:
    """What a record holds beside the call is counted, not carried; a message's training weight neither."""
    report = ReadReport()
    weighed = [{**message, "weight": 0.123} for message in RUN]
    (trace,) = read(tmp_path, {"messages": weighed, "score": 0.123, "ground_truth": "0.123"}, report)
    assert "0.123" not in repr(trace)
    assert report.skipped["field score of a record: not read"] == 1


@pytest.mark.parametrize(
    "document",
    [
        [CALL, CALL],
        [ASK],
        {"messages": [SYSTEM, ASK]},
        {"input": [ASK], "ideal": "3"},
        {"input": "a", "output": "b"},
        {"messages": RUN, "info": {}, "trajectory_format": "other-1"},
        {"messages": 5},
        [],
        [[]],
    ],
)
def test_what_is_no_plain_log_is_not_claimed(tmp_path: Path, document: Any) -> None:
    """Prompts, data sets, and the messages of other frameworks are refused, not misread."""
    with pytest.raises(UnreadableTrace, match="no format reads it"):
        read(tmp_path, document)


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "user", "content": "a", "name": "bob"}, {"role": "assistant", "content": "b", "name": "amy"}],
        [{"role": "user", "content": "a"}, {"role": "tool", "content": "", "tool_responses": []}, SAID],
        [{"type": "TextMessage", "source": "user", "role": "user", "content": "a"}, SAID],
    ],
)
def test_messages_of_a_framework_are_left_to_its_reader(tmp_path: Path, document: Any) -> None:
    """AutoGen's roles are seen from one of its agents, so that a plain reading would be wrong."""
    dialects: set[str] = set()
    with suppress(UnreadableTrace):
        dialects = {trace.dialect for trace in read(tmp_path, document)}
    assert "openai-chat" not in dialects


def test_a_record_without_a_call_is_counted(tmp_path: Path) -> None:
    """A gateway's log holds embeddings too."""
    report = ReadReport()
    (trace,) = read(tmp_path, (*wrapped("litellm"), {"call_type": "aembedding", "input": ["a"]}), report)
    assert len(trace.steps) == 4
    assert report.skipped["record: no model call in it"] == 1


def test_a_forced_format_without_calls_is_refused(tmp_path: Path) -> None:
    """A file that holds no model call at all is an error, not an empty result."""
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}', "utf-8")
    with pytest.raises(UnreadableTrace, match="no model call is in it"):
        list(load_traces(path, format="openai-chat"))


@pytest.mark.corpus
@needs_corpora
def test_a_real_list_of_messages_is_read() -> None:
    """An early mini-swe-agent trajectory is nothing but messages."""
    path = CORPORA / "mini-swe-agent" / "tests" / "test_data" / "local.traj.json"
    (trace,) = load_traces(path)
    messages = json.loads(path.read_text("utf-8"))
    assert trace.dialect == "openai-chat"
    assert len(list(trace.of_kind("model"))) == sum(message["role"] == "assistant" for message in messages)
