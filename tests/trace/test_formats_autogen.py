"""AutoGen: results and states of AgentChat, model contexts, recorded model clients, chats of 0.2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from tests.corpora import CORPORA, needs_corpora


def said(kind: str, source: str, content: Any, used: tuple[int, int] | None = None, **more: Any) -> dict[str, Any]:
    """A message or event of AgentChat as ``model_dump`` writes it."""
    usage = None if used is None else {"prompt_tokens": used[0], "completion_tokens": used[1]}
    return {
        "id": "0",
        "source": source,
        "models_usage": usage,
        "metadata": {},
        "created_at": "2026-01-02T03:04:05Z",
        "content": content,
        "type": kind,
        **more,
    }


CALLS = [
    {"id": "c1", "arguments": '{"city": "Bonn"}', "name": "get_weather"},
    {"id": "c2", "arguments": "{}", "name": "get_time"},
]
RESULTS = [
    {"content": "dry", "name": "get_weather", "call_id": "c1", "is_error": False},
    {"content": "no clock", "name": "get_time", "call_id": "c2", "is_error": True},
]
TALK = [
    said("TextMessage", "user", "Plan a walk."),
    said("ThoughtEvent", "planner", "first the weather"),
    said("ToolCallRequestEvent", "planner", CALLS, (10, 2)),
    said("ToolCallExecutionEvent", "planner", RESULTS),
    said("TextMessage", "planner", "It is dry.", (20, 3)),
    said("ModelClientStreamingChunkEvent", "critic", "Fi"),
    said("TextMessage", "critic", "Fine. TERMINATE", (30, 4)),
]
TASK_RESULT = {"messages": TALK, "stop_reason": "Text 'TERMINATE' mentioned"}
CONTEXT = [
    {"content": "You help.", "type": "SystemMessage"},
    {"content": "Weather?", "source": "user", "type": "UserMessage"},
    {"content": [CALLS[0]], "thought": "look", "source": "bot", "type": "AssistantMessage"},
    {"content": [RESULTS[0]], "type": "FunctionExecutionResultMessage"},
    {"content": "Dry.", "thought": None, "source": "bot", "type": "AssistantMessage"},
]
RECORDS = [
    {
        "mode": "create",
        "messages": CONTEXT[:2],
        "response": {"finish_reason": "function_calls", "content": [CALLS[0]], "cached": False,
                     "usage": {"prompt_tokens": 5, "completion_tokens": 1}},
        "stream": [],
    },
    {
        "mode": "create_stream",
        "messages": CONTEXT[:4],
        "response": {},
        "stream": ["Dr", "y.", {"finish_reason": "stop", "content": "Dry.", "cached": False,
                                "usage": {"prompt_tokens": 9, "completion_tokens": 2}}],
    },
]  # fmt: skip
STATE = {
    "type": "TeamState",
    "version": "1.0.0",
    "agent_states": {
        "bot": {
            "type": "ChatAgentContainerState",
            "agent_state": {"type": "AssistantAgentState", "llm_context": {"messages": CONTEXT[1:]}},
            "message_buffer": [],
        },
        "RoundRobinGroupChatManager": {"type": "RoundRobinManagerState", "message_thread": TALK, "current_turn": 0},
    },
}
OLD_CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Bonn"}'}}
OLD = [
    {"content": "Weather, and run it.", "role": "assistant", "name": "user_proxy"},
    {"content": None, "role": "user", "name": "bot", "tool_calls": [OLD_CALL]},
    {
        "content": "dry",
        "role": "tool",
        "name": "user_proxy",
        "tool_responses": [{"tool_call_id": "c1", "role": "tool", "content": "dry"}],
    },
    {"content": "```python\nprint(1)\n```", "role": "user", "name": "bot"},
    {"content": "exitcode: 1 (execution failed)\nCode output: boom", "role": "assistant", "name": "user_proxy"},
    {"content": "It failed. TERMINATE", "role": "user", "name": "bot"},
]
CHAT_RESULT = {"chat_id": 1, "chat_history": OLD, "summary": "failed", "cost": {"total": 0.1}, "human_input": []}


def read(document: Any, folder: Path, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a document."""
    path = folder / "run.json"
    path.write_text(json.dumps(document), "utf-8")
    return list(load_traces(path, report=report))


def seen(trace: Trace, seq: int) -> list[tuple[str, Any]]:
    """Role and content of the messages of a model step."""
    given: Any = trace.steps[seq].input
    return [(each["role"], each["content"]) for each in given["messages"]]


def test_a_teams_talk_gives_each_agent_its_own_view(tmp_path: Path) -> None:
    """An agent's own answers and calls are its; what the others said is a user's; their calls it never saw."""
    report = ReadReport()
    (trace,) = read(TASK_RESULT, tmp_path, report)
    kinds = [(step.kind, step.name, step.attributes.get("agent")) for step in trace.steps if step.kind != "tool"]
    assert kinds == [("other", "user_message", "user"), ("model", "chat", "planner"), ("model", "chat", "planner"),
                     ("model", "chat", "critic")]  # fmt: skip
    assert [step.name for step in trace.steps if step.kind == "tool"] == ["get_weather", "get_time"]
    assert trace.steps[1].output == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "name": "get_weather", "arguments": {"city": "Bonn"}},
            {"id": "c2", "name": "get_time", "arguments": {}},
        ],
        "reasoning": "first the weather",
    }
    assert trace.steps[3].error is not None
    assert seen(trace, 4) == [("user", "Plan a walk."), ("assistant", None), ("tool", "dry"), ("tool", "no clock")]
    assert seen(trace, 5) == [("user", "Plan a walk."), ("user", "It is dry.")]
    assert [step.usage and step.usage.input_tokens for step in trace.steps if step.kind == "model"] == [10, 20, 30]
    assert report.skipped["streamed chunk: a part of a later message"] == 1
    assert trace.attributes["stop_reason"] == "Text 'TERMINATE' mentioned"
    assert (trace.input, trace.output, trace.status) == ("Plan a walk.", "Fine. TERMINATE", "completed")


def test_messages_one_a_line_are_the_same_talk(tmp_path: Path) -> None:
    """A stream of messages, written line by line, is read as their list is."""
    path = tmp_path / "run.json"
    path.write_text("".join(json.dumps(each) + "\n" for each in TALK), "utf-8")
    (trace,) = load_traces(path)
    (listed,) = read(TALK, tmp_path)
    assert trace.steps == listed.steps


def test_what_no_model_said_is_no_model_step(tmp_path: Path) -> None:
    """Handoffs, summaries of calls, memories, speakers and code runs are steps of their own kinds."""
    (trace,) = read(
        [
            said("UserInputRequestedEvent", "boss", "", request_id="r"),
            said("TextMessage", "boss", "go"),
            said("MemoryQueryEvent", "bot", [{"content": "likes tea", "mime_type": "text/plain"}]),
            said("CodeGenerationEvent", "bot", "```\nx\n```", (1, 1), retry_attempt=0,
                 code_blocks=[{"code": "x", "language": "python"}]),
            said("CodeExecutionEvent", "bot", None, retry_attempt=0, result={"exit_code": 1, "output": "boom"}),
            said("ToolCallSummaryMessage", "bot", "dry", tool_calls=[], results=[]),
            said("HandoffMessage", "bot", "over to you", target="boss", context=[]),
            said("SelectSpeakerEvent", "manager", ["boss"]),
        ],
        tmp_path,
    )  # fmt: skip
    assert [(step.kind, step.name) for step in trace.steps] == [
        ("other", "UserInputRequestedEvent"),
        ("other", "user_message"),
        ("retrieval", "memory"),
        ("model", "chat"),
        ("tool", "code_executor"),
        ("other", "assistant_message"),
        ("other", "handoff"),
        ("other", "SelectSpeakerEvent"),
    ]
    assert trace.steps[2].output == [{"id": "0", "content": "likes tea", "mime_type": "text/plain"}]
    assert trace.steps[4].error is not None
    assert trace.steps[4].input == {"code": [{"code": "x", "language": "python"}]}
    assert trace.steps[6].input == {"from_agent": "bot", "to_agent": "boss"}


@pytest.mark.parametrize("document", [CONTEXT, {"messages": CONTEXT}], ids=["a list", "a saved context"])
def test_a_models_context_is_a_conversation(tmp_path: Path, document: Any) -> None:
    """System, user and assistant messages and function results are what the model saw."""
    (trace,) = read(document, tmp_path)
    assert [step.name for step in trace.steps] == ["user_message", "chat", "get_weather", "chat"]
    assert seen(trace, 1) == [("system", "You help."), ("user", "Weather?")]
    assert trace.steps[2].output == "dry"
    assert seen(trace, 3)[-1] == ("tool", "dry")


def test_a_teams_saved_state_is_read_from_its_agents_contexts(tmp_path: Path) -> None:
    """They hold the calls; the manager's thread is read where no agent has a context."""
    (trace,) = read(STATE, tmp_path)
    assert [step.name for step in trace.steps] == ["user_message", "chat", "get_weather", "chat"]
    threads = {"RoundRobinGroupChatManager": STATE["agent_states"]["RoundRobinGroupChatManager"]}  # type: ignore[index]
    (trace,) = read({**STATE, "agent_states": threads}, tmp_path)
    assert trace.output == "Fine. TERMINATE"


def test_a_recorded_client_has_each_calls_exact_messages(tmp_path: Path) -> None:
    """The tool step is made from the call and the result that the next call was given."""
    (trace,) = read(RECORDS, tmp_path)
    assert [(step.kind, step.name) for step in trace.steps] == [
        ("model", "chat"),
        ("tool", "get_weather"),
        ("model", "chat"),
    ]
    assert trace.steps[1].output == "dry"
    assert trace.steps[2].output == {"role": "assistant", "content": "Dry."}
    assert [step.usage and step.usage.output_tokens for step in trace.steps if step.kind == "model"] == [1, 2]
    assert trace.input == "Weather?"


@pytest.mark.parametrize("document", [CHAT_RESULT, OLD], ids=["a ChatResult", "a history"])
def test_names_and_not_roles_tell_who_spoke_in_0_2(tmp_path: Path, document: Any) -> None:
    """The history is the proxy's, so its own words are the assistant's; the proxy asks and runs, the other answers."""
    (trace,) = read(document, tmp_path)
    assert [step.name for step in trace.steps] == [
        "user_message",
        "chat",
        "get_weather",
        "chat",
        "code_executor",
        "chat",
    ]
    assert trace.steps[2].output == "dry"
    assert trace.steps[4].input == {"code": ["print(1)\n"]}
    assert trace.steps[4].error is not None
    assert (trace.input, trace.output) == ("Weather, and run it.", "It failed. TERMINATE")


@needs_corpora
@pytest.mark.corpus
def test_every_real_file_is_read() -> None:
    """Each of the project's own samples gives one trace with answers and nothing unknown."""
    found = sorted((CORPORA / "autogen").rglob("*.json"))
    assert found
    for path in found:
        (trace,) = load_traces(path)
        models = [step for step in trace.steps if step.kind == "model"]
        assert models
        assert all(step.output and step.input["messages"] for step in models)  # type: ignore[index,call-overload]
        assert trace.dialect == "autogen"
