"""SWE-agent and mini-swe-agent trajectories as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
SYSTEM, ASKED = {"role": "system", "content": "s"}, {"role": "user", "content": "Fix it"}
TEXT_RUN = {
    "environment": "main",
    "trajectory": [{"action": "ls", "observation": "a.py", "response": "Look.", "state": {"dir": "/"}}],
    "history": [
        {**SYSTEM, "agent": "main"},
        {**ASKED, "agent": "main"},
        {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.", "action": "ls", "agent": "main"},
        {"role": "user", "content": "a.py\n$", "agent": "main"},
    ],
    "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {"api_calls": 1}},
}
ANSWER = {
    "role": "assistant",
    "content": "",
    "tool_calls": [CALL],
    "reasoning_content": "hm",
    "extra": {
        "cost": 0.25,
        "timestamp": 100.5,
        "response": {"model": "m-2", "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
    },
}
RESULT = {
    "role": "tool",
    "tool_call_id": "c1",
    "content": "<output>a.py</output>",
    "extra": {"returncode": 0, "timestamp": 101.0, "exception_info": ""},
}
EXIT = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted", "submission": "diff"}}
MINI_RUN = {
    "trajectory_format": "mini-swe-agent-1.1",
    "instance_id": "i-1",
    "info": {
        "exit_status": "Submitted",
        "submission": "diff",
        "mini_version": "2.0.0",
        "config": {"model": {"model_name": "m", "model_kwargs": {"temperature": 0.0, "api_key": "k"}}},
    },
    "messages": [SYSTEM, ASKED, ANSWER, RESULT, EXIT],
}


def read(tmp_path: Path, document: Any, report: ReadReport | None = None) -> Trace:
    """The one trace of a document, through the front door."""
    path = tmp_path / "run.traj"
    path.write_text(json.dumps(document), "utf-8")
    (trace,) = load_traces(path, report=report)
    return trace


def test_a_command_in_text_is_a_tool_step(tmp_path: Path) -> None:
    """The message after a command is the tool's answer; the model's text stays as the model wrote it."""
    report = ReadReport()
    trace = read(tmp_path, TEXT_RUN, report)
    asked, model, tool = trace.steps
    assert (asked.name, model.kind, tool.kind, tool.name) == ("user_message", "model", "tool", "bash")
    assert model.output == {"role": "assistant", "content": "Look.\n```\nls\n```"}
    assert (tool.input, tool.output, tool.effect) == ({"command": "ls"}, "a.py\n$", "write")
    assert model.attributes["state"] == {"dir": "/"}
    assert (trace.input, trace.output, trace.status, trace.dialect) == ("Fix it", "diff", "completed", "swe-agent")
    assert report.steps == {"other": 1, "model": 1, "tool": 1}


def test_a_demonstration_is_neither_question_nor_model_call(tmp_path: Path) -> None:
    """What shows the agent how to work is marked, and kept before the question."""
    demo = {"role": "user", "content": "Like this", "agent": "main", "is_demo": True}
    history = TEXT_RUN["history"]
    assert isinstance(history, list)
    trace = read(tmp_path, {**TEXT_RUN, "history": [history[0], demo, *history[1:]]})
    assert trace.steps[0].attributes["is_demo"] is True
    assert trace.input == "Fix it"


def test_entries_without_history_are_read(tmp_path: Path) -> None:
    """A trajectory alone still gives model and tool steps."""
    trace = read(tmp_path, {"trajectory": TEXT_RUN["trajectory"], "info": {}})
    assert [(step.kind, step.output) for step in trace.steps] == [
        ("model", {"role": "assistant", "content": "Look."}),
        ("tool", "a.py"),
    ]
    assert trace.status == "unfinished"


def test_function_calls_find_their_results(tmp_path: Path) -> None:
    """An answer names its calls in a list, and an early end is the run's error."""
    history = [
        {**ASKED, "agent": "main"},
        {"role": "assistant", "content": "", "action": "ls", "tool_calls": [CALL], "agent": "main"},
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
    ]
    trace = read(tmp_path, {"history": history, "info": {"exit_status": "exit_cost"}})
    assert [(step.name, step.output) for step in trace.of_kind("tool")] == [("bash", "a.py")]
    assert trace.error is not None
    assert trace.error.type == "exit_cost"


def test_a_mini_run_has_times_usage_and_params(tmp_path: Path) -> None:
    """The message's extra gives what the model used; secrets and switches of the client are no parameters."""
    trace = read(tmp_path, MINI_RUN)
    _, model, tool = trace.steps
    assert model.usage == Usage(input_tokens=5, output_tokens=2, cost_usd=0.25)
    assert model.input == {"messages": [SYSTEM, ASKED], "tools": [], "params": {"temperature": 0.0}}
    assert (model.model, model.ended_at, tool.started_at, tool.ended_at) == ("m-2", 100.5, 100.5, 101.0)
    assert isinstance(model.output, dict)
    assert model.output["reasoning"] == "hm"
    assert (trace.id, trace.output, trace.status, trace.dialect) == ("i-1", "diff", "completed", "mini-swe-agent")


def test_a_mini_run_that_broke_says_so(tmp_path: Path) -> None:
    """A command that raised is the step's error; another ending than a submission is the run's."""
    broken = {**RESULT, "extra": {"exception_info": "TimeoutExpired"}}
    info = {"mini_version": "2", "exit_status": "LimitsExceeded", "exception_str": "too much"}
    trace = read(tmp_path, {"info": info, "messages": [ASKED, ANSWER, broken]})
    assert trace.steps[2].error == StepError("ToolError", "<output>a.py</output>")
    assert trace.error == StepError("LimitsExceeded", "too much")


def test_a_mini_command_that_raised_has_the_exceptions_class(tmp_path: Path) -> None:
    """The environment's exception is the tool step's error."""
    calls = [{"id": "c1", "function": {"name": "bash", "arguments": '{"command": "sleep 9"}'}}]
    raised = {"exception_info": "timed out", "exception_type": "TimeoutExpired", "returncode": -1}
    trace = read(
        tmp_path,
        {
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {},
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": None, "tool_calls": calls},
                {"role": "tool", "tool_call_id": "c1", "content": "<exception>timed out</exception>", "extra": raised},
            ],
        },
    )
    (tool,) = trace.of_kind("tool")
    assert tool.error == StepError("TimeoutExpired", "<exception>timed out</exception>")


def test_only_one_block_in_an_answer_is_a_command(tmp_path: Path) -> None:
    """An answer with two blocks ran nothing: what follows it is a message."""
    one = {"role": "assistant", "content": "```bash\nls\n```"}
    two = {"role": "assistant", "content": "```bash\nls\n```\n```bash\npwd\n```"}
    messages = [ASKED, one, {"role": "user", "content": "a.py"}, two, {"role": "user", "content": "one only"}]
    trace = read(tmp_path, {"info": {"mini_version": "1"}, "messages": messages})
    assert [step.kind for step in trace.steps] == ["other", "model", "tool", "model", "other"]


@pytest.mark.corpus
@pytest.mark.skipif(not (CORPORA / "swe-agent").is_dir(), reason="the SWE-agent corpus is not beside this checkout")
def test_every_real_trajectory_is_read_whole() -> None:
    """Every message is a step, a part of one, or counted."""
    for path in sorted((CORPORA / "swe-agent").rglob("*.traj")):
        report = ReadReport()
        (trace,) = load_traces(path, report=report)
        history = json.loads(path.read_bytes())["history"]
        calls = sum(len(message.get("tool_calls") or ()) for message in history)
        kept = report.skipped["system message: kept in the model steps"]
        merged = report.skipped["tool message: merged into its call"]
        assert len(trace.steps) - calls + kept + merged == len(history)
        assert trace.dialect == "swe-agent"


@pytest.mark.corpus
@pytest.mark.skipif(not (CORPORA / "mini-swe-agent").is_dir(), reason="the mini-swe-agent corpus is not there")
def test_every_real_mini_trajectory_is_read_whole() -> None:
    """Every answer is a model step with its usage, and every tool message ended its call."""
    for path in sorted((CORPORA / "mini-swe-agent").glob("[rs]*/*.traj.json")):
        (trace,) = load_traces(path)
        roles = [message["role"] for message in json.loads(path.read_bytes())["messages"]]
        models = list(trace.of_kind("model"))
        assert len(models) == roles.count("assistant")
        assert all(step.usage and step.usage.input_tokens for step in models)
        assert sum(not step.attributes.get("unfinished") for step in trace.of_kind("tool")) == roles.count("tool")
