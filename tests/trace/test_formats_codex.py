"""OpenAI Codex: rollout files of several versions, and the streams of ``codex exec --json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.trace.evidence import evidence
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

Lines = list[dict[str, Any]]


def at(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    """One line of a rollout."""
    stamp = f"2026-01-02T03:{second // 60:02}:{second % 60:02}.000Z"
    return {"timestamp": stamp, "type": kind, "payload": payload}


def item(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    """A response item."""
    return at(second, "response_item", type=kind, **payload)


def event(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    """An event message."""
    return at(second, "event_msg", type=kind, **payload)


def message(second: int, role: str, words: str) -> dict[str, Any]:
    """A message item."""
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": words}
    return item(second, "message", role=role, content=[part])


def called(second: int, call_id: str, name: str = "shell", **given: Any) -> dict[str, Any]:
    """A function call item."""
    return item(second, "function_call", name=name, arguments=json.dumps(given), call_id=call_id)


def returned(second: int, call_id: str, output: Any) -> dict[str, Any]:
    """A function call's output item."""
    return item(second, "function_call_output", call_id=call_id, output=output)


def tokens(second: int, total: int, given: int = 100, made: int = 9) -> dict[str, Any]:
    """A token count after a response."""
    last = {
        "input_tokens": given,
        "cached_input_tokens": 40,
        "output_tokens": made,
        "reasoning_output_tokens": 3,
        "total_tokens": given + made,
    }
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last, "model_context_window": 272000}
    return event(second, "token_count", info=info, rate_limits=None)


META = at(0, "session_meta", id="th-1", timestamp="2026-01-02T03:00:00Z", cwd="/repo", originator="codex_cli_rs",
          cli_version="0.46.0", source="cli", base_instructions={"text": "You are Codex."})  # fmt: skip
CONTEXT = at(1, "turn_context", cwd="/repo", approval_policy="on-request", sandbox_policy={"mode": "workspace-write"},
             model="gpt-5-codex", effort="medium", summary="auto")  # fmt: skip
FAILED = "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno such file"
ROLLOUT: Lines = [
    META,
    message(1, "developer", "<permissions instructions>"),
    message(1, "user", "<environment_context><cwd>/repo</cwd></environment_context>"),
    CONTEXT,
    event(2, "task_started", model_context_window=272000),
    message(2, "user", "read both"),
    event(2, "user_message", message="read both"),
    event(3, "agent_reasoning", text="**Looking**"),
    item(3, "reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}], encrypted_content="gAAA"),
    event(4, "agent_message", message="I look."),
    message(4, "assistant", "I look."),
    called(4, "c1", command=["cat", "a"]),
    called(5, "c2", command=["cat", "b"]),
    tokens(5, 109),
    returned(6, "c1", json.dumps({"output": "A", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})),
    event(7, "exec_command_end", call_id="c2", exit_code=1, stdout="", stderr="no such file"),
    returned(7, "c2", FAILED),
    tokens(7, 109),
    item(8, "custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c3", status="completed"),
    tokens(8, 218, made=20),
    item(9, "custom_tool_call_output", call_id="c3", output="Success"),
    message(10, "assistant", "done"),
    tokens(10, 327, made=30),
    event(10, "task_complete", last_agent_message="done"),
]


def read(lines: Lines, folder: Path, tail: str = "", report: ReadReport | None = None) -> Trace:
    """The trace of the lines, written as a file."""
    path = folder / "rollout.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines) + tail, "utf-8")
    (trace,) = load_traces(path, report=report)
    return trace


def names(trace: Trace) -> list[str]:
    """The steps' names."""
    return [step.name for step in trace.steps]


def seen(trace: Trace, seq: int) -> list[Any]:
    """The contents of the messages of a model step."""
    given: Any = trace.steps[seq].input
    return [each["content"] for each in given["messages"]]


def test_items_of_one_response_are_one_model_step(tmp_path: Path) -> None:
    """Reasoning, words and parallel calls up to the token count are one answer, with its usage; events repeat it."""
    report = ReadReport()
    trace = read(ROLLOUT, tmp_path, report=report)
    assert names(trace) == ["user_message", "chat", "shell", "shell", "chat", "apply_patch", "chat"]
    first = trace.steps[1]
    assert first.output == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "name": "shell", "arguments": {"command": ["cat", "a"]}},
            {"id": "c2", "name": "shell", "arguments": {"command": ["cat", "b"]}},
        ],
        "reasoning": "**Looking**",
    }
    assert first.model == "gpt-5-codex"
    assert first.attributes["approval_policy"] == "on-request"
    assert first.attributes["sandbox_policy"] == {"mode": "workspace-write"}
    usages = [step.usage for step in trace.steps if step.kind == "model"]
    assert [usage and (usage.input_tokens, usage.output_tokens) for usage in usages] == [(100, 9), (100, 20), (100, 30)]
    assert usages[0] is not None
    assert (usages[0].cached_tokens, usages[0].reasoning_tokens) == (40, 3)
    assert report.skipped["token_count event: nothing new"] == 1
    assert report.skipped["agent_message event: says an item again"] == 1
    assert (trace.id, trace.input, trace.output, trace.status) == ("th-1", "read both", "done", "completed")


def test_the_messages_are_all_that_was_said_before(tmp_path: Path) -> None:
    """Base instructions, what the program adds, the user's words, and each result in its order."""
    trace = read(ROLLOUT, tmp_path)
    assert seen(trace, 1)[:2] == ["You are Codex.", "<permissions instructions>"]
    assert seen(trace, 1)[3:] == ["read both"]
    assert seen(trace, 4)[4:] == ["I look.", json.dumps({"output": "A", "metadata": {"exit_code": 0,
                                                                                     "duration_seconds": 0.1}}),
                                  FAILED]  # fmt: skip
    assert trace.gaps == ("Codex does not record the definitions of its tools",)


def test_a_command_that_exits_with_an_error_failed(tmp_path: Path) -> None:
    """The exit code stands in the result's head, in its object, or in an event."""
    trace = read(ROLLOUT, tmp_path)
    good, bad = trace.steps[2], trace.steps[3]
    assert good.error is None
    assert good.output == {"output": "A", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}
    assert bad.error is not None
    assert "no such file" in bad.error.message
    assert bad.attributes["exec_command_end"]["exit_code"] == 1
    broken = json.dumps({"output": "boom", "metadata": {"exit_code": 2}})
    trace = read([META, called(1, "c", command=["x"]), returned(2, "c", broken)], tmp_path)
    assert trace.steps[1].error is not None
    assert trace.steps[1].error.message == "boom"


def test_calls_and_results_in_turn_as_older_versions_write_them(tmp_path: Path) -> None:
    """There the token count stands before the response that it is of."""
    lines = [META, message(1, "user", "q"), tokens(2, 109, made=5), called(3, "c1"), returned(3, "c1", "1"),
             tokens(4, 220, made=6), message(5, "assistant", "a")]  # fmt: skip
    trace = read(lines, tmp_path)
    assert names(trace) == ["user_message", "chat", "shell", "chat"]
    assert [step.usage and step.usage.output_tokens for step in trace.steps if step.kind == "model"] == [5, 6]


def test_the_oldest_rollouts_are_bare_items(tmp_path: Path) -> None:
    """A header without a type, state records, and items without an envelope."""
    bare = [each["payload"] for each in ROLLOUT if each["type"] == "response_item"]
    header = {"id": "old-1", "timestamp": "2025-06-01T09:00:00.000Z", "instructions": None, "git": {"branch": "main"}}
    trace = read([header, {"record_type": "state"}, *bare], tmp_path)
    assert trace.id == "old-1"
    assert trace.input == "read both"
    assert names(trace) == ["user_message", "chat", "shell", "shell", "chat", "apply_patch", "chat"]


def test_after_a_compaction_the_model_sees_what_replaced_its_history(tmp_path: Path) -> None:
    """With the replacement the messages are exact, without it a gap says that they are not."""
    kept = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "read both"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Summary"}]}]  # fmt: skip
    after = [message(12, "user", "more"), message(13, "assistant", "yes")]
    trace = read([*ROLLOUT, at(11, "compacted", message="", replacement_history=kept), *after], tmp_path)
    assert seen(trace, -1) == ["You are Codex.", "read both", "Summary", "more"]
    assert "compaction" in names(trace)
    trace = read([*ROLLOUT, at(11, "compacted", message="Summary"), *after], tmp_path)
    assert seen(trace, -1) == ["You are Codex.", "Summary", "more"]
    assert any("compaction" in gap for gap in trace.gaps)


def test_a_rolled_back_turn_leaves_the_messages_but_not_the_trace(tmp_path: Path) -> None:
    """What ran, ran; the model does not see it again."""
    lines = [META, message(1, "user", "q1"), message(2, "assistant", "a1"), message(3, "user", "q2"),
             message(4, "assistant", "a2"), event(5, "thread_rolled_back", num_turns=1), message(6, "user", "q3"),
             message(7, "assistant", "a3")]  # fmt: skip
    trace = read(lines, tmp_path)
    assert seen(trace, -1) == ["You are Codex.", "q1", "a1", "q3"]
    assert [step.output["content"] for step in trace.steps if step.kind == "model"] == ["a1", "a2", "a3"]  # type: ignore[call-overload,index]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (ROLLOUT[:-1], "completed"),
        (ROLLOUT[:14], "unfinished"),
        ([*ROLLOUT, event(11, "turn_aborted", reason="interrupted")], "unfinished"),
        ([*ROLLOUT, event(11, "task_started")], "unfinished"),
        ([*ROLLOUT[:-1], event(11, "error", message="quota exceeded")], "failed"),
    ],
    ids=["answered", "called", "aborted", "turn begun", "error"],
)
def test_the_status_is_how_the_thread_ends(tmp_path: Path, lines: Lines, status: str) -> None:
    """A thread is complete when its last turn is, or the model had the last word."""
    assert read(lines, tmp_path).status == status


def test_a_killed_thread_is_read_up_to_the_torn_line(tmp_path: Path) -> None:
    """Half a line at the end is counted, and the run is unfinished."""
    report = ReadReport()
    trace = read(ROLLOUT, tmp_path, tail='{"timestamp":"2026-01', report=report)
    assert trace.status == "unfinished"
    assert len(trace.steps) == 7
    assert report.skipped["line: torn, the last one"] == 1


def test_approvals_searches_and_the_unknown_are_steps(tmp_path: Path) -> None:
    """An approval keeps its decision where one stands; a search at the provider has no result; the rest is `other`."""
    lines = [
        META,
        message(1, "user", "q"),
        event(1, "exec_approval_request", call_id="c", command=["rm"], reason="network"),
        event(2, "guardian_assessment", id="g", status="denied", risk_level="high"),
        item(3, "web_search_call", id="ws1", status="completed", action={"type": "search", "query": "x"}),
        event(3, "web_search_end", call_id="ws1", query="x"),
        message(4, "assistant", "found"),
        at(5, "future_record", safe=True),
    ]
    trace = read(lines, tmp_path)
    kinds = [(step.kind, step.name) for step in trace.steps]
    assert kinds == [("other", "user_message"), ("approval", "exec_approval_request"),
                     ("approval", "guardian_assessment"), ("model", "chat"), ("tool", "web_search"),
                     ("model", "chat"), ("other", "future_record")]  # fmt: skip
    assert trace.steps[2].output == {"decision": "denied"}
    assert trace.steps[4].input == {"type": "search", "query": "x"}
    assert trace.steps[4].attributes["web_search_end"] == {"query": "x"}


EXEC: Lines = [
    {"type": "thread.started", "thread_id": "th-2"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "I look."}},
    *(
        {
            "type": f"item.{when}",
            "item": {
                "id": "item_2",
                "type": "command_execution",
                "command": "bash -lc ls",
                "aggregated_output": "" if when == "started" else "a.txt\n",
                "exit_code": None if when == "started" else 0,
                "status": "in_progress" if when == "started" else "completed",
            },
        }
        for when in ("started", "completed")
    ),
    {
        "type": "item.completed",
        "item": {
            "id": "item_3",
            "type": "mcp_tool_call",
            "server": "db",
            "tool": "query",
            "arguments": {"q": 1},
            "result": None,
            "error": {"message": "no table"},
            "status": "failed",
        },
    },
    {"type": "item.completed", "item": {"id": "item_4", "type": "agent_message", "text": "one file"}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 2, "output_tokens": 3}},
]
OLD_EXEC: Lines = [
    {"model": "o4-mini", "sandbox": "read-only"},
    {"prompt": "list the files"},
    {"id": "0", "msg": {"type": "task_started"}},
    {"id": "0", "msg": {"type": "agent_reasoning", "text": "hm"}},
    {"id": "0", "msg": {"type": "exec_command_begin", "call_id": "c", "command": ["ls"], "cwd": "/"}},
    {"id": "0", "msg": {"type": "exec_command_end", "call_id": "c", "stdout": "", "stderr": "denied", "exit_code": 1}},
    {"id": "0", "msg": {"type": "agent_message", "message": "I may not"}},
    {"id": "0", "msg": {"type": "task_complete", "last_agent_message": "I may not"}},
]


def test_an_exec_stream_is_a_thread(tmp_path: Path) -> None:
    """A turn is an agent step with its usage; a command stands once, though it starts and ends."""
    trace = read(EXEC, tmp_path)
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("agent", "turn", None),
        ("model", "chat", 0),
        ("tool", "shell", 0),
        ("model", "chat", 0),
        ("tool", "mcp__db__query", 0),
        ("model", "chat", 0),
    ]
    turn, _, shell, _, query, _ = trace.steps
    assert turn.usage is not None
    assert (turn.usage.input_tokens, turn.usage.cached_tokens, turn.usage.output_tokens) == (10, 2, 3)
    assert (shell.input, shell.output) == ({"command": "bash -lc ls"}, "a.txt\n")
    assert query.error is not None
    assert query.error.message == "no table"
    assert (trace.id, trace.output, trace.status) == ("th-2", "one file", "completed")
    assert any("messages missing" in gap for gap in evidence(trace).gaps)


def test_a_failed_turn_fails_the_run(tmp_path: Path) -> None:
    """The turn's error is the run's."""
    trace = read([*EXEC[:4], {"type": "turn.failed", "error": {"message": "no quota"}}], tmp_path)
    assert trace.status == "failed"
    assert trace.error is not None
    assert trace.error.message == "no quota"


def test_an_old_exec_stream_is_read_alike(tmp_path: Path) -> None:
    """``{"id", "msg"}`` events are the items that they became later; the prompt stands in the file."""
    trace = read(OLD_EXEC, tmp_path)
    assert names(trace) == [
        "user_message",
        "turn",
        "chat",
        "shell",
        "chat",
    ]
    assert trace.input == "list the files"
    assert trace.steps[3].error is not None
    assert trace.steps[3].error.message == "denied"
    assert (trace.output, trace.status) == ("I may not", "completed")
    assert trace.attributes["model"] == "o4-mini"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_events_that_say_an_item_again_change_nothing(tmp_path: Path, data: st.DataObject) -> None:
    """However often and wherever behind its item an event repeats it, the steps are the same."""
    plain = read(ROLLOUT, tmp_path)
    again = [each for each in ROLLOUT if each["payload"].get("type") in ("agent_message", "agent_reasoning")]
    lines = [*ROLLOUT]
    for _ in range(data.draw(st.integers(1, 4))):
        lines.insert(data.draw(st.integers(7, len(lines))), data.draw(st.sampled_from(again)))
    assert read(lines, tmp_path).steps == plain.steps
