"""tau-bench and tau2-bench results as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.canonical import canonical
from evalkit.errors import UnreadableTrace
from evalkit.trace.file import encode_trace, read_trace_lines
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Step, StepError, Trace
from evalkit.trace.read import load_traces

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
TAU, TAU2 = CORPORA / "tau-bench", CORPORA / "tau2-bench"
LABEL = "SECRET-LABEL"


def call(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    """A tool call in OpenAI's form."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tau_run(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A tau-bench run whose labels all hold one tell-tale word."""
    labels = {"reward": 1.0, "info": {"task": {"instruction": LABEL, "actions": [{"name": LABEL}]}}}
    return {"task_id": 7, "trial": 2, **labels, "traj": list(messages), **more}


def tau2_run(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A tau2-bench document of one simulation whose labels all hold one tell-tale word."""
    simulation = {"id": "s", "task_id": "t", "trial": 0, "reward_info": {"note": LABEL}, "messages": list(messages)}
    info = {
        "agent_info": {"implementation": "llm_agent", "llm": "m-1", "llm_args": {"temperature": 0.0, "api_key": LABEL}},
        "user_info": {"global_simulation_guidelines": LABEL},
        "environment_info": {"domain_name": "airline", "policy": "Be kind.", "tool_defs": None},
    }
    return {"info": info, "tasks": [{"id": "t", "user_scenario": LABEL}], "simulations": [{**simulation, **more}]}


def read(tmp_path: Path, document: Any, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a document, through the front door."""
    path = tmp_path / "results"
    path.write_text(json.dumps(document), "utf-8")
    return list(load_traces(path, report=report))


SYSTEM, USER = {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}


def test_a_conversation_becomes_user_model_and_tool_steps(tmp_path: Path) -> None:
    """User turns, model calls with the messages before them, and tool calls with their parsed results, in order."""
    asks = {"role": "assistant", "content": None, "tool_calls": [call("get_user", '{"id": "u1"}')]}
    answer = {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": '{"name": "Ada"}'}
    (trace,) = read(tmp_path, [tau_run(SYSTEM, USER, asks, answer, {"role": "assistant", "content": "Hi Ada"})])
    assert [(step.kind, step.name) for step in trace.steps] == [
        ("other", "user_message"),
        ("model", "chat"),
        ("tool", "get_user"),
        ("model", "chat"),
    ]
    user, first, tool, last = trace.steps
    assert user.output == USER
    assert first.input == {"messages": [SYSTEM, USER], "tools": [], "params": {}}
    assert (tool.input, tool.output, tool.error) == ({"id": "u1"}, {"name": "Ada"}, None)
    assert (tool.effect, tool.effect_source) == ("read", "guessed")
    assert last.input["messages"][2:] == [first.output, answer]  # type: ignore[index,call-overload]  # as above
    assert (trace.id, trace.input, trace.output) == ("task-7/trial-2", "Hello", "Hi Ada")
    assert trace.attributes == {"task_id": 7, "trial": 2}


@pytest.mark.parametrize("document", [[tau_run(SYSTEM, USER)], tau2_run(USER)], ids=["tau", "tau2"])
def test_labels_never_enter_a_trace(tmp_path: Path, document: Any) -> None:
    """Neither reward nor task nor instruction nor action nor a key in the model's arguments is carried over."""
    report = ReadReport()
    (trace,) = read(tmp_path, document, report)
    assert LABEL not in repr(trace)
    assert "reward" not in repr(trace)
    assert any(reason.startswith("labels:") for reason in report.skipped)


@pytest.mark.parametrize(
    ("text", "output", "failed"),
    [
        ("Error: user not found", None, True),
        ("Error executing tool book", None, True),
        ("ValueError: no such seat", None, True),
        ("Errors found: 0", "Errors found: 0", False),
        ("Transfer successful", "Transfer successful", False),
        ("300.0", "300.0", False),
        ('["a"]', ["a"], False),
        ("", "", False),
    ],
)
def test_a_tools_text_is_a_result_or_an_error(tmp_path: Path, text: str, output: Any, failed: bool) -> None:
    """JSON objects and arrays are parsed, plain errors become errors with the text that the agent saw."""
    asks = {"role": "assistant", "content": "", "tool_calls": [call("book_seat", "{}")]}
    (trace,) = read(tmp_path, [tau_run(USER, asks, {"role": "tool", "tool_call_id": "c1", "content": text})])
    tool = trace.steps[2]
    assert tool.output == output
    assert tool.error == (StepError("ToolError", text) if failed else None)


def test_parallel_calls_and_repeated_ids_find_their_answers(tmp_path: Path) -> None:
    """Answers in another order go to their call by id; an id that is used again means the call that still waits."""
    both = {"role": "assistant", "content": "", "tool_calls": [call("f", "{}", "a"), call("g", "{}", "b")]}
    again = {"role": "assistant", "content": "", "tool_calls": [call("h", "{}", "a")]}
    answers = [{"role": "tool", "tool_call_id": each, "content": f"for {each}"} for each in ("b", "a")]
    later = {"role": "tool", "tool_call_id": "a", "content": "second a"}
    (trace,) = read(tmp_path, [tau_run(USER, both, *answers, again, later)])
    assert [(step.name, step.output) for step in trace.of_kind("tool")] == [
        ("f", "for a"),
        ("g", "for b"),
        ("h", "second a"),
    ]


def test_a_call_without_answer_is_marked(tmp_path: Path) -> None:
    """A run that was cut off after a call leaves a tool step that says so; an answer without call is kept too."""
    asks = {"role": "assistant", "content": "", "tool_calls": [call("pay", "not json")]}
    (trace,) = read(tmp_path, [tau_run({"role": "tool", "tool_call_id": "z", "content": "lost"}, USER, asks)])
    assert trace.steps[0].name == "tool_result"
    pay = trace.steps[-1]
    assert (pay.input, pay.output, pay.attributes["unfinished"]) == ("not json", None, True)


def test_steps_share_their_messages(tmp_path: Path) -> None:
    """The same message is one object in every step's history, so that a long chat stays linear in memory."""
    turns = [{"role": role, "content": f"{role} {at}"} for at in range(20) for role in ("user", "assistant")]
    (trace,) = read(tmp_path, [tau_run(SYSTEM, *turns)])
    histories: list[Any] = [step.input for step in trace.of_kind("model")]
    assert len({id(given["messages"][1]) for given in histories}) == 1
    assert histories[-1]["messages"][2] is trace.steps[1].output


def test_runs_of_one_task_and_trial_keep_apart(tmp_path: Path) -> None:
    """Two runs with one number have two ids, and what is no object is counted."""
    report = ReadReport()
    traces = read(tmp_path, [tau_run(USER, "noise"), tau_run(USER)], report)  # type: ignore[arg-type]  # noise is meant
    assert [trace.id for trace in traces] == ["task-7/trial-2", "task-7/trial-2/2"]
    assert report.skipped["message: no object"] == 1


def test_a_broken_run_is_refused_by_its_place(tmp_path: Path) -> None:
    """A later item that is no run is an error, not a gap in the list."""
    with pytest.raises(UnreadableTrace, match="no run") as caught:
        read(tmp_path, [tau_run(USER), {"task_id": 1}])
    assert caught.value.where.endswith("[1]")


def test_tau2_times_usage_and_policy_are_kept(tmp_path: Path) -> None:
    """The policy is the system prompt, the greeting is no model call, and a step spans from one message to the next."""
    greeting = {"role": "assistant", "content": "Hi!", "timestamp": "2025-01-01T00:00:00", "cost": 0.0, "usage": None}
    asked = {**USER, "timestamp": "2025-01-01T00:00:01.5"}
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    said = {"role": "assistant", "content": "Yes", "timestamp": "2025-01-01T00:00:03", "cost": 0.5, "usage": usage}
    (trace,) = read(tmp_path, tau2_run(greeting, asked, said, termination_reason="user_stop"))
    scripted, _, model = trace.steps
    assert (scripted.kind, scripted.attributes["scripted"]) == ("other", True)
    assert model.input == {
        "messages": [SYSTEM, {"role": "assistant", "content": "Hi!"}, USER],
        "tools": [],
        "params": {"temperature": 0.0},
    }
    assert (model.started_at, model.ended_at) == (1735689601.5, 1735689603.0)
    assert model.usage is not None
    assert (model.usage.input_tokens, model.usage.output_tokens, model.usage.cost_usd) == (10, 3, 0.5)
    assert (trace.status, trace.output, model.model) == ("completed", "Yes", "m-1")


def test_the_users_own_tools_are_not_the_agents(tmp_path: Path) -> None:
    """A call by the simulated user is a tool step of that requestor, and the agent's model never sees it."""
    does = {
        "role": "user",
        "content": None,
        "tool_calls": [{"id": "u", "name": "toggle_data", "arguments": {}, "requestor": "user"}],
    }
    seen = {"role": "tool", "id": "u", "content": "on", "requestor": "user", "error": False}
    (trace,) = read(tmp_path, tau2_run(USER, does, seen, {"role": "assistant", "content": "Works?", "cost": 1}))
    user, tool, model = trace.steps
    assert user.name == "user_message"
    assert (tool.kind, tool.output, tool.attributes["requestor"]) == ("tool", "on", "user")
    assert model.input["messages"] == [SYSTEM, USER]  # type: ignore[index,call-overload]  # normal form of a model step


def test_tau2s_own_verdict_on_a_call_decides(tmp_path: Path) -> None:
    """``error`` says whether a call failed, whatever its text looks like; an abort of the run is the run's error."""
    calls = [{"id": each, "name": "get_x", "arguments": {"n": 2**70}, "requestor": "assistant"} for each in "ab"]
    asks = {"role": "assistant", "content": "", "tool_calls": calls}
    fine = {"role": "tool", "id": "a", "content": "Error: none", "error": False, "requestor": "assistant"}
    bad = {"role": "tool", "id": "b", "content": "gone", "error": True, "requestor": "assistant"}
    (trace,) = read(tmp_path, tau2_run(USER, asks, fine, bad, termination_reason="too_many_errors"))
    first, second = trace.of_kind("tool")
    assert (first.output, first.error) == ("Error: none", None)
    assert second.error == StepError("ToolError", "gone")
    assert first.input == {"n": 2**70}
    assert (trace.status, trace.error and trace.error.type) == ("failed", "too_many_errors")


def test_reasoning_that_tau2_keeps_beside_a_message_is_read(tmp_path: Path) -> None:
    """An answer's thinking is the agent's reasoning; what the simulated user thought stays off the messages."""
    thought = {"thinking_blocks": [{"type": "thinking", "thinking": "hm"}, {"type": "thinking", "thinking": "so"}]}
    run = tau2_run(
        {"role": "user", "content": "Hi", "raw_data": {"message": {"reasoning_content": "I am a user"}}},
        {"role": "assistant", "content": "Hello", "raw_data": thought},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": "Bye", "raw_data": {"message": {"reasoning_content": "done"}}},
    )
    (trace,) = read(tmp_path, run)
    first, second = trace.of_kind("model")
    assert [step.output["reasoning"] for step in (first, second)] == ["hm\nso", "done"]  # type: ignore[call-overload,index]
    assert trace.steps[0].attributes["reasoning"] == "I am a user"
    assert b"I am a user" not in words(first) + words(second)


def test_a_call_for_which_tau2_wrote_words_is_kept(tmp_path: Path) -> None:
    """The harness ends a run on a call that it shows as text: the call stands beside the answer."""
    done = {"id": "c9", "type": "function", "function": {"name": "done", "arguments": "{}"}}
    ended = {"role": "assistant", "content": "###STOP###", "raw_data": {"message": {"tool_calls": [done]}}}
    (trace,) = read(tmp_path, tau2_run(USER, ended))
    assert trace.steps[-1].attributes["answered_with"] == [{"id": "c9", "name": "done", "arguments": {}}]


def words(step: Step) -> bytes:
    """All that a step holds, as text."""
    return canonical([step.input, step.output, dict(step.attributes)])


@pytest.mark.corpus
@pytest.mark.skipif(not TAU.is_dir(), reason="the tau-bench corpus is not beside this checkout")
def test_every_real_tau_run_is_read_whole() -> None:
    """Every run of the real files becomes a trace, every message a step or a part of one, and no instruction leaks."""
    for path in sorted(TAU.glob("*.json")):
        source, report = json.loads(path.read_bytes()), ReadReport()
        traces = list(load_traces(path, report=report))
        assert len(traces) == len(source)
        for run, trace in zip(source, traces, strict=True):
            roles = [message["role"] for message in run["traj"]]
            assert sum(1 for _ in trace.of_kind("model")) == roles.count("assistant")
            assert sum(1 for _ in trace.of_kind("tool")) == roles.count("tool")
            assert run["info"]["task"]["instruction"].encode() not in b"".join(map(words, trace.steps))
        assert report.skipped["tool message: merged into its call"] == report.steps["tool"]


@pytest.mark.corpus
@pytest.mark.skipif(not TAU2.is_dir(), reason="the tau2-bench corpus is not beside this checkout")
def test_every_real_tau2_run_is_read_whole() -> None:
    """Every simulation becomes a trace whose tool steps are all answered, and survives evalkit's own file."""
    for path in sorted(TAU2.glob("*.json")):
        source = json.loads(path.read_bytes())["simulations"]
        traces = list(load_traces(path))
        assert len(traces) == len(source)
        for run, trace in zip(source, traces, strict=True):
            calls = [each for message in run["messages"] for each in message.get("tool_calls") or ()]
            tools = list(trace.of_kind("tool"))
            assert [(step.name, step.input) for step in tools] == [(each["name"], each["arguments"]) for each in calls]
            failed = [message["error"] for message in run["messages"] if message["role"] == "tool"]
            assert sum(step.error is not None for step in tools) == sum(failed)
        assert list(read_trace_lines(iter(encode_trace(traces[0])), "t")) == [traces[0]]
