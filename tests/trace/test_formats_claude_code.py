"""Claude Code: session files and what the SDK streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

Lines = list[dict[str, Any]]
USAGE = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 10,
    "cache_read_input_tokens": 100,
    "output_tokens": 1,
}


def line(uuid: str, parent: str | None, kind: str, second: int = 0, **more: Any) -> dict[str, Any]:
    """One line with its envelope."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/repo",
        "sessionId": "s-1",
        "version": "2.1.29",
        "gitBranch": "main",
        "type": kind,
        "uuid": uuid,
        "timestamp": f"2026-01-03T10:{second // 60:02}:{second % 60:02}.000Z",
        **more,
    }


def user(uuid: str, parent: str | None, content: Any, second: int = 0, **more: Any) -> dict[str, Any]:
    """A user's line."""
    return line(uuid, parent, "user", second, message={"role": "user", "content": content}, **more)


def result(uuid: str, parent: str, call: str, content: Any, second: int = 0, **more: Any) -> dict[str, Any]:
    """A tool's result."""
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    if more.pop("failed", False):
        block["is_error"] = True
    return user(uuid, parent, [block], second, **more)


def answer(
    uuid: str, parent: str | None, message: str, block: Any, second: int = 0, out: int = 1, **more: Any
) -> dict[str, Any]:
    """A line of an answer: one content block."""
    said = {
        "id": message,
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [block],
        "stop_reason": None,
        "usage": {**USAGE, "output_tokens": out},
    }
    return line(uuid, parent, "assistant", second, message=said, requestId=f"req-{message}", **more)


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Read", **given: Any) -> dict[str, Any]:
    """A tool call block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


SNAPSHOT = {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {"trackedFileBackups": {}}}
SUMMARY = {"type": "summary", "summary": "a title", "leafUuid": "x"}
SIMPLE: Lines = [
    SNAPSHOT,
    user("u1", None, "read both", 0),
    answer("a1", "u1", "m1", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, 2),
    answer("a2", "a1", "m1", text("I look."), 3),
    answer("a3", "a2", "m1", call("t1", file_path="a"), 4, out=40),
    result("r1", "a3", "t1", '{"n": 1}', 6, toolUseResult={"type": "text"}),
    answer("a4", "a3", "m1", call("t2", file_path="b"), 5, out=50),
    result("r2", "a4", "t2", "no such file", 7, failed=True),
    answer("a5", "r2", "m2", text("done"), 9, out=7),
    line("d1", "a5", "system", 10, subtype="turn_duration", durationMs=9000),
]
"""Two parallel calls: each result hangs on the block that made the call, so that the lines fork."""


def read(lines: Lines, folder: Path, tail: str = "", report: ReadReport | None = None) -> list[Trace]:
    """The traces of the lines, written as a file."""
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines) + tail, "utf-8")
    return list(load_traces(path, report=report))


def outline(trace: Trace) -> list[tuple[str, str, int | None]]:
    """Kind, name and parent of each step."""
    return [(step.kind, step.name, step.parent) for step in trace.steps]


def test_an_answer_of_several_lines_is_one_model_step_and_its_tokens_count_once(tmp_path: Path) -> None:
    """Blocks with one message id are one answer; its usage is that of the last line, caches included."""
    report = ReadReport()
    (trace,) = read(SIMPLE, tmp_path, report=report)
    assert outline(trace) == [
        ("other", "user_message", None),
        ("model", "chat", None),
        ("tool", "Read", None),
        ("tool", "Read", None),
        ("model", "chat", None),
        ("other", "turn_duration", None),
    ]
    first = trace.steps[1]
    assert first.output == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "t1", "name": "Read", "arguments": {"file_path": "a"}},
            {"id": "t2", "name": "Read", "arguments": {"file_path": "b"}},
        ],
        "reasoning": "hm",
    }
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.cached_tokens, first.usage.output_tokens) == (113, 100, 50)
    assert (trace.id, trace.input, trace.output, trace.status) == ("s-1", "read both", "done", "completed")
    assert report.steps == {"other": 2, "model": 2, "tool": 2}
    assert report.skipped["assistant line: merged into its answer"] == 3
    assert trace.attributes["gitBranch"] == "main"


def test_parallel_results_reach_the_next_call_though_the_lines_fork(tmp_path: Path) -> None:
    """The next model step was given both results, a failed one is an error, and message objects are shared."""
    (trace,) = read(SIMPLE, tmp_path)
    tools = [step for step in trace.steps if step.kind == "tool"]
    assert tools[0].output == {"n": 1}
    assert tools[0].error is None
    assert tools[1].error is not None
    assert tools[1].error.message == "no such file"
    assert trace.steps[4].input["messages"] == [  # type: ignore[index,call-overload]
        {"role": "user", "content": "read both"},
        trace.steps[1].output,
        {"role": "tool", "content": '{"n": 1}', "tool_call_id": "t1"},
        {"role": "tool", "content": "no such file", "tool_call_id": "t2"},
    ]
    assert trace.steps[4].input["messages"][0] is trace.steps[0].output  # type: ignore[index,call-overload]
    assert all(step.started_at is not None and step.ended_at is not None for step in trace.steps[1:])


EDITED: Lines = [
    user("u1", None, "hello", 0),
    answer("a1", "u1", "m1", text("hi"), 1),
    user("u2", "a1", "delete it", 2),
    answer("a2", "u2", "m2", call("t1", "Bash", command="rm x"), 3),
    result("r1", "a2", "t1", "gone", 4),
    answer("a3", "r1", "m3", text("deleted"), 5),
    user("u3", "a1", "never asked", 6),
    user("u4", "a1", "list it", 7),
    answer("a4", "u4", "m4", text("listed"), 8),
]


def test_what_a_user_went_back_on_is_a_trace_of_its_own(tmp_path: Path) -> None:
    """The run leads to the last line; the branch that was given up keeps its steps and its whole messages."""
    report = ReadReport()
    run, given_up = read(EDITED, tmp_path, report=report)
    assert [step.name for step in run.steps] == ["user_message", "chat", "user_message", "chat"]
    assert run.output == "listed"
    assert (given_up.id, given_up.input, given_up.output) == ("s-1/given-up-1", "delete it", "deleted")
    assert [step.name for step in given_up.steps] == ["user_message", "chat", "Bash", "chat"]
    told = given_up.steps[1].input["messages"]  # type: ignore[index,call-overload]
    assert [message["content"] for message in told] == ["hello", "hi", "delete it"]  # type: ignore[index,call-overload,union-attr]
    assert given_up.attributes["given_up"] is True
    assert given_up.attributes["after_line"] == 2
    assert report.skipped["user line: taken back before it was answered"] == 1
    assert sum(report.steps.values()) == len(run.steps) + len(given_up.steps)


def agent_lines(**more: Any) -> Lines:
    """A sub-agent's side conversation."""
    side = {"isSidechain": True, **more}
    return [
        user("x1", None, "count files", 3, **side),
        answer("x2", "x1", "n1", call("k1", "Glob", pattern="*"), 4, **side),
        result("x3", "x2", "k1", "a b", 5, **side),
        answer("x4", "x3", "n2", text("two"), 6, **side),
    ]


TASK = call("t1", "Task", prompt="count files", subagent_type="explorer")
BELOW = [
    ("other", "user_message", None),
    ("model", "chat", None),
    ("tool", "Task", None),
    ("agent", "explorer", 2),
    ("other", "user_message", 3),
    ("model", "chat", 3),
    ("tool", "Glob", 3),
    ("model", "chat", 3),
    ("model", "chat", None),
]


def with_task(side: Lines, **told: Any) -> Lines:
    """A run with a sub-agent."""
    return [
        user("u1", None, "how many?", 0),
        answer("a1", "u1", "m1", TASK, 2),
        *side,
        result("r1", "a1", "t1", "two", 7, **told),
        answer("a2", "r1", "m2", text("2"), 8),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        with_task(agent_lines(agentId="abc"), toolUseResult={"agentId": "abc", "status": "completed"}),
        with_task(agent_lines()),
        with_task(
            [
                line(
                    f"p{number}",
                    "a1",
                    "progress",
                    3,
                    parentToolUseID="t1",
                    data={"type": "agent_progress", "agentId": "abc", "message": each},
                )
                for number, each in enumerate(agent_lines())
            ]
        ),
    ],
    ids=["by the agent's id", "by the prompt", "told by progress lines"],
)
def test_a_sub_agent_stands_below_the_call_that_started_it(tmp_path: Path, lines: Lines) -> None:
    """Its steps are children of an agent step under the call; the run's own messages do not hold them."""
    (trace,) = read(lines, tmp_path)
    assert outline(trace) == BELOW
    agent = trace.steps[3]
    assert (agent.input, agent.output) == ("count files", "two")
    assert len(trace.steps[8].input["messages"]) == 3  # type: ignore[index,call-overload,arg-type]


def test_a_sub_agents_own_file_is_a_trace(tmp_path: Path) -> None:
    """A file with side lines only is the sub-agent's run."""
    (trace,) = read(agent_lines(agentId="abc"), tmp_path)
    assert trace.id == "s-1/agent-abc"
    assert [step.name for step in trace.steps] == ["user_message", "chat", "Glob", "chat"]
    assert trace.status == "completed"


def test_after_a_compaction_the_model_sees_the_summary_and_what_was_kept(tmp_path: Path) -> None:
    """The messages start anew; lines that the compaction hung below its summary are no branch."""
    meta = {"trigger": "auto", "preTokens": 9, "preservedMessages": {"anchorUuid": "cs", "uuids": ["a1", "u2", "a2"]}}
    (trace,) = read(
        [
            user("u0", None, "start", 0),
            answer("a0", "u0", "m0", text("yes"), 1),
            user("u1", "a0", "plan", 1),
            answer("a1", "u1", "m1", text("planned"), 2),
            user("u2", "a1", "go on", 3),
            line(
                "cb",
                None,
                "system",
                5,
                subtype="compact_boundary",
                logicalParentUuid="a2",
                compactMetadata=meta,
            ),
            user("cs", "cb", "Summary: a plan", 5, isCompactSummary=True),
            answer("a2", "cs", "m2", text("went on"), 4),
            user("u3", "a2", "and?", 6),
            answer("a3", "u3", "m3", text("end"), 7),
        ],
        tmp_path,
    )
    told = trace.steps[-1].input["messages"]  # type: ignore[index,call-overload]
    contents = [message["content"] for message in told]  # type: ignore[index,call-overload,union-attr]
    assert contents == ["Summary: a plan", "planned", "go on", "went on", "and?"]
    (compaction,) = (step for step in trace.steps if step.name == "compaction")
    assert compaction.output == {"role": "user", "content": "Summary: a plan"}
    assert sum(step.kind == "model" for step in trace.steps) == 4


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ([], "completed"),
        ([user("u9", "a5", "more", 11)], "unfinished"),
        ([answer("a9", "a5", "m9", call("t9"), 11)], "unfinished"),
        (
            [
                answer("a9", "a5", "m9", call("t9"), 11),
                user("u9", "a9", [text("[Request interrupted by user for tool use]")], 12),
            ],
            "unfinished",
        ),
        (
            [
                line(
                    "a9",
                    "a5",
                    "assistant",
                    11,
                    isApiErrorMessage=True,
                    error="rate_limit",
                    message={"role": "assistant", "model": "<synthetic>", "content": [text("API Error: 429")]},
                )
            ],
            "failed",
        ),
    ],
    ids=["answered", "asked", "called", "interrupted", "API error"],
)
def test_the_status_is_how_the_session_ends(tmp_path: Path, last: Lines, status: str) -> None:
    """A run is complete when the model had the last word."""
    (trace,) = read([*SIMPLE, *last], tmp_path)
    assert trace.status == status
    if status == "failed":
        assert trace.error is not None
        assert (trace.error.type, trace.error.message) == ("rate_limit", "API Error: 429")
        assert trace.steps[-1].kind == "model"
        assert trace.steps[-1].output is None


def test_a_killed_session_is_read_up_to_the_torn_line(tmp_path: Path) -> None:
    """Half a line at the end is counted, and the run is unfinished; in the middle it refuses the file."""
    report = ReadReport()
    (trace,) = read(SIMPLE, tmp_path, tail='{"type":"assistant","mess', report=report)
    assert trace.status == "unfinished"
    assert len(trace.steps) == 6
    assert report.skipped["line: torn, the last one"] == 1
    with pytest.raises(UnreadableTrace, match="not JSON") as caught:
        read(SIMPLE, tmp_path, tail='{"type":"assis\n' + json.dumps(SUMMARY) + "\n")
    assert "session.jsonl:11" in str(caught.value)


def test_what_the_program_adds_is_no_users_turn(tmp_path: Path) -> None:
    """Meta lines stay in the messages; a queued prompt is a turn; an unknown line is kept as a step."""
    report = ReadReport()
    (trace,) = read(
        [
            user("u1", None, "/plan", 0),
            user("u2", "u1", [text("expanded")], 0, isMeta=True),
            answer("a1", "u2", "m1", text("ok"), 1),
            line("q1", "a1", "attachment", 2, attachment={"type": "queued_command", "prompt": "also this"}),
            line("n1", "q1", "new-kind", 2, payload=1),
            answer("a2", "n1", "m2", text("both"), 3),
            {"type": "queue-operation", "operation": "enqueue", "sessionId": "s-1"},
        ],
        tmp_path,
        report=report,
    )
    assert [step.name for step in trace.steps] == ["user_message", "chat", "user_message", "new-kind", "chat"]
    told = trace.steps[-1].input["messages"]  # type: ignore[index,call-overload]
    assert [each["content"] for each in told] == ["/plan", "expanded", "ok", "also this"]  # type: ignore[index,call-overload,union-attr]
    assert report.skipped["queue-operation line: no part of the conversation"] == 1
    assert report.skipped["user line of the program: kept in the model steps"] == 1


def test_a_refused_tool_is_an_approval_that_was_denied(tmp_path: Path) -> None:
    """Who denied the call stands in the session; the call itself failed."""
    (trace,) = read(
        [
            user("u1", None, "write", 0),
            answer("a1", "u1", "m1", call("t1", "Write", file_path="x"), 1),
            result("r1", "a1", "t1", "The user doesn't want this.", 2, failed=True, toolDenialKind="user-rejected"),
        ],
        tmp_path,
    )
    assert trace.steps[2].error is not None
    assert trace.steps[3].kind == "approval"
    assert trace.steps[3].output == {"decision": "denied", "by": "user-rejected"}


def test_a_file_without_a_conversation_gives_no_trace(tmp_path: Path) -> None:
    """Title lines alone are counted: such files stand among the sessions of a project."""
    report = ReadReport()
    assert read([SUMMARY, SUMMARY], tmp_path, report=report) == []
    assert report.skipped["summary line: no part of the conversation"] == 2


def stream(*messages: dict[str, Any], end: bool = True) -> Lines:
    """What ``--output-format stream-json`` prints."""
    session = {"session_id": "s-2"}
    start = {"type": "system", "subtype": "init", "tools": ["Read"], "model": "claude-x", "cwd": "/", **session}
    done = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "two files",
        "total_cost_usd": 0.5,
        "permission_denials": [{"tool_name": "Bash", "tool_use_id": "t7", "tool_input": {"command": "rm"}}],
        **session,
    }
    told = [{"parent_tool_use_id": None, "uuid": f"{at}", **session, **each} for at, each in enumerate(messages)]
    return [start, *told, *([done] if end else [])]


def said(*blocks: Any, kind: str = "assistant", message: str = "m1", **more: Any) -> dict[str, Any]:
    """A message of the stream."""
    body = {"role": kind, "content": [*blocks], "id": message, "model": "claude-x", "usage": USAGE}
    return {"type": kind, "message": body, **more}


STREAM = (
    said(text("I count"), message="m1"),
    said(TASK, message="m1"),
    said(text("count files"), kind="user", parent_tool_use_id="t1"),
    said(text("two"), message="n1", parent_tool_use_id="t1"),
    said({"type": "tool_result", "tool_use_id": "t1", "content": "two"}, kind="user"),
    said(text("two files"), message="m2"),
)


def test_the_sdks_stream_is_a_session_too(tmp_path: Path) -> None:
    """Its first and last lines are the run's facts; a denied call is an approval step."""
    (trace,) = read(stream(*STREAM), tmp_path)
    assert outline(trace) == [
        ("model", "chat", None),
        ("tool", "Task", None),
        ("agent", "explorer", 1),
        ("other", "user_message", 2),
        ("model", "chat", 2),
        ("model", "chat", None),
        ("approval", "Bash", None),
    ]
    assert (trace.id, trace.status, trace.output) == ("s-2", "completed", "two files")
    assert trace.attributes["total_cost_usd"] == 0.5
    assert trace.attributes["tools"] == ["Read"]


def test_a_stream_without_its_last_line_is_unfinished(tmp_path: Path) -> None:
    """The last line says how it ended: without it the run was killed, with an error it failed."""
    (killed,) = read(stream(*STREAM, end=False), tmp_path)
    assert killed.status == "unfinished"
    lines = stream(*STREAM)
    lines[-1] = {**lines[-1], "subtype": "error_max_turns", "is_error": True, "result": None}
    (failed,) = read(lines, tmp_path)
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.type == "error_max_turns"


FULL: Lines = [
    *EDITED,
    user("b0", "a4", "how many?", 10),
    answer("b1", "b0", "m5", {**TASK, "id": "t5"}, 11),
    *agent_lines(agentId="abc"),
    result("b2", "b1", "t5", "two", 17, toolUseResult={"agentId": "abc"}),
    answer("b3", "b2", "m6", text("2"), 18),
    SUMMARY,
]


def test_the_long_example_has_a_run_with_a_sub_agent_and_a_branch(tmp_path: Path) -> None:
    """What the properties below are tried on."""
    run, given_up = read(FULL, tmp_path)
    kinds = [step.kind for step in run.steps]
    assert kinds == ["other", "model", "other", "model", "other", "model", "tool", "agent", "other", "model", "tool",
                     "model", "model"]  # fmt: skip
    assert [step.name for step in given_up.steps] == ["user_message", "chat", "Bash", "chat"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_copied_lines_change_nothing(tmp_path: Path, data: st.DataObject) -> None:
    """A resumed session copies lines; wherever a copy stands behind its line, the traces are the same."""
    plain = read(FULL, tmp_path)
    lines = [*FULL]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines.insert(data.draw(st.integers(at + 1, len(lines))), lines[at])
    copied = read(lines, tmp_path)
    assert [outline(trace) for trace in copied] == [outline(trace) for trace in plain]
    assert [[step.input for step in trace.steps] for trace in copied] == [
        [step.input for step in trace.steps] for trace in plain
    ]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.integers(0, 4), min_size=4, max_size=4).map(sorted))
def test_side_lines_may_stand_anywhere(tmp_path: Path, places: list[int]) -> None:
    """A sub-agent writes while the run does: where its lines stand between the run's makes no difference."""
    told = {"toolUseResult": {"agentId": "abc"}}
    main = with_task([], **told)
    for place, side in reversed([*zip(places, agent_lines(agentId="abc"), strict=True)]):
        main.insert(place, side)
    (trace,) = read(main, tmp_path)
    assert outline(trace) == BELOW


def written(lines: Lines, path: Path) -> None:
    """Lines as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")


@pytest.mark.parametrize("place", ["agent-abc.jsonl", "s-1/subagents/agent-abc.jsonl"])
def test_a_folder_of_sessions_has_sub_agents_below_their_calls(tmp_path: Path, place: str) -> None:
    """A sub-agent's own file belongs to its session, beside it or in its folder; other sessions stay apart."""
    written(with_task([], toolUseResult={"agentId": "abc"}), tmp_path / "s-1.jsonl")
    written(agent_lines(agentId="abc"), tmp_path / place)
    written([{**each, "sessionId": "s-9"} for each in SIMPLE[1:]], tmp_path / "s-9.jsonl")
    report = ReadReport()
    first, second = load_traces(tmp_path, report=report)
    assert outline(first) == BELOW
    assert (first.id, second.id) == ("s-1", "s-9")


def test_the_file_beside_a_sub_agents_names_its_call(tmp_path: Path) -> None:
    """``.meta.json`` ties the two where no line does; what else stands in the session's folder is counted."""
    lines = with_task([])
    lines[1]["message"]["content"] = [call("t1", "Agent", prompt="another prompt", subagent_type="explorer")]
    written(lines, tmp_path / "s-1.jsonl")
    inside = tmp_path / "s-1" / "subagents"
    written(agent_lines(agentId="abc"), inside / "agent-abc.jsonl")
    (inside / "agent-abc.meta.json").write_text(json.dumps({"agentType": "explorer", "toolUseId": "t1"}), "utf-8")
    report = ReadReport()
    (trace,) = load_traces(tmp_path, report=report)
    assert [step.name for step in trace.steps][2:5] == ["Agent", "explorer", "user_message"]
    assert report.skipped["file in a session's folder: no part of the conversation"] == 1


def test_a_folder_with_another_file_is_read_file_by_file(tmp_path: Path) -> None:
    """A stranger among the sessions is never passed over: it is read by its own format, or refused."""
    written(with_task([], toolUseResult={"agentId": "abc"}), tmp_path / "s-1.jsonl")
    written(agent_lines(agentId="abc"), tmp_path / "agent-abc.jsonl")
    (tmp_path / "z.json").write_text('{"who": "knows"}', "utf-8")
    with pytest.raises(UnreadableTrace, match="no format reads it"):
        list(load_traces(tmp_path))
