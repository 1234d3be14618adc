"""Logs of Anthropic's Messages API, its batches, and the events of its managed agents' sessions."""

from __future__ import annotations

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

HINT = {"cache_control": {"type": "ephemeral"}}
ASK = {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]}
USE = {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}}
THOUGHT = {"type": "thinking", "thinking": "Look it up.", "signature": "s"}
CALL = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Wait."}, USE]}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": '{"t": 3}'}]}
TOLD = {"role": "user", "content": [RESULT, {"type": "text", "text": "Hurry."}]}
SAID = {"role": "assistant", "content": [{"type": "text", "text": "3 degrees."}]}
BASE = {
    "model": "m",
    "max_tokens": 9,
    "stop_sequences": ["x"],
    "system": [{"type": "text", "text": "Be brief.", **HINT}],
    "tools": [{"name": "get_weather", "input_schema": {"type": "object"}, **HINT}],
}
USAGE = {"input_tokens": 2, "output_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 1}
SYSTEM = {"role": "system", "content": "Be brief."}
PLAIN = [
    SYSTEM,
    {"role": "user", "content": "Weather in Oslo?"},
    {
        "role": "assistant",
        "content": "Wait.",
        "tool_calls": [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
        "reasoning": "Look it up.",
    },
    {"role": "tool", "content": '{"t": 3}', "tool_call_id": "c1"},
    {"role": "user", "content": "Hurry."},
]


def response(message: dict[str, Any], number: int, **more: Any) -> dict[str, Any]:
    """A response of the Messages API."""
    ended = {"id": f"msg_{number}", "type": "message", "model": "m-1", "stop_reason": "end_turn", "usage": USAGE}
    return {**ended, **message, **more}


def request(*messages: dict[str, Any]) -> dict[str, Any]:
    """A request of the Messages API."""
    return {**BASE, "messages": [*messages]}


def test_pairs_are_joined_and_in_normal_form(tmp_path: Path) -> None:
    """System prompt, schemas, thinking, calls and results; a moved cache hint doesn't part a conversation."""
    hinted = {"role": "user", "content": [{**ASK["content"][0], **HINT}]}  # type: ignore[dict-item]  # a text block
    pairs = (
        {"request": request(hinted), "response": response(CALL, 1, stop_reason="tool_use")},
        {"request": request(ASK, CALL, TOLD), "response": response(SAID, 2, stop_reason="max_tokens")},
    )
    (trace,) = read(tmp_path, pairs)
    user, first, tool, hurry, second = trace.steps
    assert (user.output, hurry.output) == (PLAIN[1], PLAIN[4])
    tools = [{"name": "get_weather", "parameters": {"type": "object"}}]
    params = {"max_tokens": 9, "stop": ["x"]}
    assert first.input == {"messages": PLAIN[:2], "tools": tools, "params": params}
    assert (first.output, first.model, first.usage) == (PLAIN[2], "m-1", Usage(10, 5, 7))
    assert (tool.name, tool.input, tool.output) == ("get_weather", {"city": "Oslo"}, {"t": 3})
    assert second.input == {"messages": PLAIN, "tools": tools, "params": params}
    assert second.attributes["stop_reason"] == "max_tokens"
    assert (trace.dialect, trace.id, trace.output) == ("anthropic", "msg_1", "3 degrees.")


@pytest.mark.parametrize("document", [[ASK, CALL, TOLD, SAID], {"messages": [ASK, CALL, TOLD, SAID]}])
def test_a_list_of_messages_with_blocks_is_a_run(tmp_path: Path, document: Any) -> None:
    """The blocks tell whose messages they are."""
    (trace,) = read(tmp_path, document)
    assert trace.dialect == "anthropic"
    assert [kind for kind, _ in shape(trace)] == ["other", "model", "tool", "other", "model"]


def test_a_failed_tool_is_an_error_by_its_flag(tmp_path: Path) -> None:
    """``is_error`` decides, not the text; it never gets into what the model saw."""
    failed = {**RESULT, "is_error": True, "content": "no"}
    fine = {**RESULT, "is_error": False, "content": "Error is a word"}
    for block, error in ((failed, StepError("ToolError", "no")), (fine, None)):
        told = {"role": "user", "content": [block]}
        (trace,) = read(tmp_path, [{"request": request(ASK, CALL, told), "response": response(SAID, 1)}])
        assert trace.steps[2].error == error
        assert "is_error" not in repr(trace.steps)


def test_what_the_provider_runs_itself_stays_in_the_answer(tmp_path: Path) -> None:
    """Server tools, redacted thinking and images are parts of content, kept as they are."""
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "Oslo"}}
    hidden = {"type": "redacted_thinking", "data": "x"}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    ask = {"role": "user", "content": [image, {"type": "text", "text": "What is it?"}]}
    answer = {"role": "assistant", "content": [hidden, search, {"type": "text", "text": "A dot."}]}
    (trace,) = read(tmp_path, [{"request": request(ask), "response": response(answer, 1)}])
    user, model = trace.steps
    assert isinstance(user.output, dict)
    assert isinstance(model.output, dict)
    assert user.output["content"] == [image, {"type": "text", "text": "What is it?"}]
    assert model.output["content"] == [hidden, search, {"type": "text", "text": "A dot."}]
    assert "tool_calls" not in model.output


def test_batches_are_read(tmp_path: Path) -> None:
    """Results stand alone, or with their requests; one that failed says how."""
    asked = {"custom_id": "a", "params": request(ASK)}
    fine = {"custom_id": "a", "result": {"type": "succeeded", "message": response(CALL, 1)}}
    inner = {"type": "invalid_request_error", "message": "too long"}
    broken = {"custom_id": "b", "result": {"type": "errored", "error": {"type": "error", "error": inner}}}
    late = {"custom_id": "c", "result": {"type": "expired"}}
    alone = read(tmp_path, (fine, broken, late))
    assert [trace.id for trace in alone] == ["a", "b", "c"]
    assert alone[0].steps[0].output == PLAIN[2]
    assert alone[1].error == StepError("invalid_request_error", "too long")
    assert alone[2].status == "failed"
    (whole,) = read(tmp_path, (asked, fine))
    assert whole.steps[1].input == {
        "messages": PLAIN[:2],
        "tools": [{"name": "get_weather", "parameters": {"type": "object"}}],
        "params": {"max_tokens": 9, "stop": ["x"]},
    }


def test_a_model_invocation_log_is_read(tmp_path: Path) -> None:
    """Amazon Bedrock logs the bodies of a model's own API in envelopes."""
    line = {
        "schemaType": "ModelInvocationLog",
        "timestamp": "2025-01-01T00:00:00Z",
        "modelId": "anthropic.m",
        "input": {"inputBodyJson": {**request(ASK), "anthropic_version": "bedrock-2023-05-31"}},
        "output": {"outputBodyJson": response(SAID, 1)},
    }
    (trace,) = read(tmp_path, line)
    assert (trace.dialect, trace.output, trace.started_at) == ("anthropic", "3 degrees.", 1735689600.0)


def event(kind: str, second: int, **more: Any) -> dict[str, Any]:
    """An event of a session."""
    return {"id": f"e{second}", "type": kind, "processed_at": f"2025-01-01T00:00:{second:02}Z", **more}


def text(words: str) -> list[dict[str, Any]]:
    """Content of one text block."""
    return [{"type": "text", "text": words}]


EVENTS = [
    event("session.status_running", 0),
    event("user.message", 1, content=text("Delete it")),
    event("span.model_request_start", 2),
    event("agent.thinking", 3),
    event("agent.message", 4, content=text("I shall.")),
    event("agent.tool_use", 5, name="delete_file", input={"path": "a"}, evaluated_permission="ask"),
    event("span.model_request_end", 6, model_usage=USAGE),
    event("user.tool_confirmation", 7, tool_use_id="e5", result="allow"),
    event("agent.tool_result", 8, tool_use_id="e5", content=text("denied"), is_error=True),
    event("span.outcome_evaluation_end", 9, verdict="label"),
    event("agent.thread_context_compacted", 10),
    event("span.model_request_start", 11),
    event("agent.message", 12, content=text("It failed.")),
    event("span.model_request_end", 13, model_usage=USAGE),
    event("session.status_idle", 14),
]


@pytest.mark.parametrize("document", [EVENTS, tuple(EVENTS), {"data": EVENTS}], ids=["list", "lines", "page"])
def test_a_sessions_events_are_one_trace(tmp_path: Path, document: Any) -> None:
    """What was said in one request is one answer; confirmations are approvals; outcome evaluations are labels."""
    report = ReadReport()
    (trace,) = read(tmp_path, document, report)
    assert shape(trace) == [
        ("other", "user_message"),
        ("model", "chat"),
        ("tool", "delete_file"),
        ("approval", "tool_confirmation"),
        ("other", "agent.thread_context_compacted"),
        ("model", "chat"),
    ]
    _, first, tool, approval, _, second = trace.steps
    call = {"id": "e5", "name": "delete_file", "arguments": {"path": "a"}}
    assert first.output == {"role": "assistant", "content": "I shall.", "tool_calls": [call]}
    assert (first.started_at, first.ended_at, first.usage) == (1735689602.0, 1735689606.0, Usage(10, 5, 7))
    assert (tool.error, tool.effect) == (StepError("ToolError", "denied"), "write")
    assert (approval.input, approval.output) == (
        {"name": "delete_file", "arguments": {"path": "a"}},
        {"result": "allow"},
    )
    assert isinstance(second.input, dict)
    assert [message["role"] for message in second.input["messages"]] == ["user", "assistant", "tool"]  # type: ignore[index,union-attr,call-overload]  # a list of messages
    assert (trace.status, trace.output) == ("completed", "It failed.")
    assert "label" not in repr(trace)
    assert report.skipped["outcome evaluation: a label, not part of the run"] == 1


def test_an_open_session_is_unfinished(tmp_path: Path) -> None:
    """A call without its result, and a session that still runs."""
    (trace,) = read(tmp_path, EVENTS[:7])
    assert trace.status == "unfinished"
    assert trace.steps[2].attributes["unfinished"] is True


def test_a_forced_session_without_events_is_refused(tmp_path: Path) -> None:
    """Another document is no session."""
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}', "utf-8")
    with pytest.raises(UnreadableTrace, match="no event of a session"):
        list(load_traces(path, format="anthropic-session"))


@pytest.mark.corpus
@needs_corpora
def test_a_real_recording_of_a_session_is_whole() -> None:
    """The SDK's calls, recorded: instructions, tools, results and times are all there."""
    path = CORPORA / "langsmith" / "js" / "src" / "tests" / "test_data" / "anthropic_managed_custom_tools.jsonl"
    (trace,) = load_traces(path)
    assert (trace.dialect, trace.status, evidence(trace).score) == ("anthropic-session", "completed", 1.0)
    assert shape(trace) == [("other", "user_message"), ("model", "chat"), ("tool", "get_weather"), ("model", "chat")]
