"""Spans of agent frameworks and tracing products that keep content in attributes of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.errors import EvalkitError
from evalkit.trace.model import Step, StepError, Usage
from tests.trace.otlp_builders import read_spans, span, step_of

CALL = {"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
TOOL = {"name": "weather", "description": "d", "parameters": {"type": "object"}}
SYSTEM = {"role": "system", "content": "be brief"}
USER = {"role": "user", "content": "Weather in Oslo?"}
RESULT = {"role": "tool", "content": '{"degrees":4}', "tool_call_id": "c1"}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FINAL = {"role": "assistant", "content": "4 degrees"}
OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
OPENAI_TOOL = {"type": "function", "function": TOOL}


def check_model(step: Any, messages: list[Any], answer: Any) -> None:
    """A model step with these messages, the weather tool, and a complete answer."""
    assert step.kind == "model"
    assert step.input["messages"] == messages
    assert step.input["tools"] == [TOOL]
    assert step.output == answer
    assert "missing" not in step.attributes


# Pydantic AI and Logfire

PART_CALL = {"type": "tool_call", **CALL}
PART_RESULT = {"type": "tool_call_response", "id": "c1", "name": "weather", "result": {"degrees": 4}}
SAID: list[dict[str, Any]] = [
    {"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
    {"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]},
    {"role": "assistant", "parts": [{"type": "thinking", "content": "hm"}, PART_CALL]},
    {"role": "user", "parts": [PART_RESULT]},
    {"role": "assistant", "parts": [{"type": "text", "content": "4 degrees"}]},
]
EVENTS = [
    {"event.name": "gen_ai.system.message", "role": "system", "content": "be brief", "gen_ai.message.index": 0},
    {"event.name": "gen_ai.user.message", "role": "user", "content": "Weather in Oslo?", "gen_ai.message.index": 0},
    {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [OPENAI_CALL]},
    {"event.name": "gen_ai.tool.message", "role": "tool", "content": {"degrees": 4}, "id": "c1", "name": "weather"},
    {"event.name": "gen_ai.assistant.message", "role": "assistant", "content": "4 degrees"},
]
PARAMETERS = {"function_tools": [{"name": "weather", "description": "d", "parameters_json_schema": TOOL["parameters"]}]}
PYDANTIC: dict[str, Any] = {"logfire.msg": "chat m", "model_request_parameters": json.dumps(PARAMETERS)}


def test_version_1_of_pydantic_ai_keeps_events_in_an_attribute(tmp_path: Path) -> None:
    """The events of a model call are its messages and its answer."""
    choice = {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "4 degrees"}}
    held = {
        **PYDANTIC,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "events": json.dumps([*EVENTS[:4], choice]),
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.details.cache_read_tokens": 4,
        "operation.cost": 0.25,
    }
    step = step_of(tmp_path, "chat m", held)
    check_model(step, [SYSTEM, USER, CALLING, RESULT], FINAL)
    assert step.usage == Usage(input_tokens=9, cached_tokens=4, cost_usd=0.25)


def test_later_versions_of_pydantic_ai_keep_parts(tmp_path: Path) -> None:
    """Thinking is reasoning, instructions stand first, a tool's result is a message of its own."""
    held = {
        **PYDANTIC,
        "gen_ai.operation.name": "chat",
        "gen_ai.system_instructions": json.dumps(SAID[0]["parts"]),
        "gen_ai.input.messages": json.dumps(SAID[1:4]),
        "gen_ai.output.messages": json.dumps(SAID[4:]),
    }
    check_model(step_of(tmp_path, "chat m", held), [SYSTEM, USER, {**CALLING, "reasoning": "hm"}, RESULT], FINAL)


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("agent run", {"agent_name": "forecaster", "all_messages_events": json.dumps(EVENTS)}),
        ("agent run", {"agent_name": "forecaster", "pydantic_ai.all_messages": json.dumps(SAID)}),
        (
            "invoke_agent forecaster",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "forecaster",
                "pydantic_ai.all_messages": json.dumps([USER, FINAL, *SAID]),
                "pydantic_ai.new_message_index": 2,
                "gen_ai.aggregated_usage.input_tokens": 9,
            },
        ),
    ],
    ids=["1", "2", "5"],
)
def test_an_agents_run_has_what_it_was_asked_and_its_result(tmp_path: Path, name: str, held: dict[str, Any]) -> None:
    """All versions give name, opening messages, final result and the conversation; older messages open it too."""
    trace = read_spans(
        tmp_path, span(name, {"logfire.msg": "x", "model_name": "m", "final_result": "4 degrees", **held})
    )
    (step,) = trace.steps
    before = [USER, FINAL] if "pydantic_ai.new_message_index" in held else []
    assert (step.kind, step.name, step.output) == ("agent", "forecaster", "4 degrees")
    assert step.input == [*before, SYSTEM, USER]
    assert step.attributes["conversation"][-1] == FINAL
    assert (trace.name, trace.output) == ("forecaster", "4 degrees")


def test_an_agents_instructions_stand_before_what_it_was_asked(tmp_path: Path) -> None:
    """Instructions are an attribute of their own and no part of the conversation."""
    held = {"agent_name": "a", "pydantic_ai.all_messages": json.dumps(SAID[1:])}
    held["gen_ai.system_instructions"] = json.dumps(SAID[0]["parts"])
    assert step_of(tmp_path, "agent run", held).input == [SYSTEM, USER]


def test_a_structured_result_is_an_object(tmp_path: Path) -> None:
    """A result that is no text stands as JSON; without one the last answer is the agent's."""
    held = {"agent_name": "a", "pydantic_ai.all_messages": json.dumps(SAID)}
    assert step_of(tmp_path, "agent run", {**held, "final_result": '{"degrees": 4}'}).output == {"degrees": 4}
    assert step_of(tmp_path, "agent run", held).output == FINAL


@pytest.mark.parametrize(
    "held",
    [
        {"tool_arguments": '{"city": "Oslo"}', "tool_response": '{"degrees":4}', "gen_ai.tool.name": "weather"},
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "weather",
            "gen_ai.tool.call.arguments": '{"city": "Oslo"}',
            "gen_ai.tool.call.result": '{"degrees":4}',
        },
    ],
    ids=["2", "3"],
)
def test_a_running_tool_is_a_tool_step(tmp_path: Path, held: dict[str, Any]) -> None:
    """Both spellings of arguments and result give the same step."""
    told = {"logfire.msg": "running tool: weather", "gen_ai.tool.call.id": "c1"}
    step = step_of(tmp_path, "running tool", {**told, **held})
    assert (step.kind, step.name, step.input, step.output) == ("tool", "weather", {"city": "Oslo"}, {"degrees": 4})
    assert step.attributes["tool_call_id"] == "c1"


def test_logfires_integration_keeps_the_bodies(tmp_path: Path) -> None:
    """Messages, tools, settings and the answer come out of a model library's own request and response."""
    request: dict[str, Any] = {
        "model": "m",
        "messages": [SYSTEM, USER],
        "tools": [OPENAI_TOOL],
        "temperature": 0.5,
        "stream": False,
    }
    response: dict[str, Any] = {
        "message": {"role": "assistant", "tool_calls": [OPENAI_CALL]},
        "usage": {"prompt_tokens": 9},
    }
    held = {"logfire.msg": "x", "request_data": json.dumps(request), "response_data": json.dumps(response)}
    step = step_of(tmp_path, "Chat Completion with {request_data[model]!r}", held)
    check_model(step, [SYSTEM, USER], CALLING)
    assert (step.model, step.usage, step.input["params"]) == ("m", Usage(input_tokens=9), {"temperature": 0.5})
    streamed = {"logfire.msg": "x", "request_data": json.dumps(request)}
    streamed["response_data"] = json.dumps({"combined_chunk_content": "4 degrees", "chunk_count": 2})
    assert step_of(tmp_path, "streaming response", streamed).output == FINAL


def test_a_span_that_only_announces_another_is_no_call(tmp_path: Path) -> None:
    """Logfire sends a pending span at the start with all that the span itself says again at its end."""
    held = {**PYDANTIC, "gen_ai.operation.name": "chat", "logfire.span_type": "pending_span"}
    assert step_of(tmp_path, "chat m", held).kind == "other"


# Strands

STRANDS = {"gen_ai.system": "strands-agents"}


def block(*blocks: dict[str, Any]) -> str:
    """Bedrock's content blocks as Strands writes them."""
    return json.dumps(blocks)


USE = {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}}
RESULT_BLOCK = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"json": {"degrees": 4}}]}}


def test_strands_messages_are_blocks_in_events(tmp_path: Path) -> None:
    """Calls, results, reasoning and text come out of Bedrock's blocks."""
    events = [
        ("gen_ai.system.message", {"content": block({"text": "be brief"})}),
        ("gen_ai.user.message", {"content": block({"text": "Weather in Oslo?"})}),
        ("gen_ai.assistant.message", {"content": block({"reasoningContent": {"reasoningText": {"text": "hm"}}}, USE)}),
        ("gen_ai.tool.message", {"content": block(RESULT_BLOCK)}),
        ("gen_ai.choice", {"finish_reason": "end_turn", "message": block({"text": "4 degrees"})}),
    ]
    definitions = json.dumps([TOOL])
    held: dict[str, Any] = {**STRANDS, "gen_ai.operation.name": "chat", "gen_ai.tool.definitions": definitions}
    held |= {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.input_tokens": 9}
    step = step_of(tmp_path, "chat", held, events=events)
    check_model(step, [SYSTEM, USER, {**CALLING, "reasoning": "hm"}, RESULT], FINAL)
    assert step.usage == Usage(input_tokens=9)


def test_strands_tools_and_agents_are_read_in_both_styles(tmp_path: Path) -> None:
    """A tool's arguments and result, and an agent's answer as text, are events or the conventions' messages."""
    events = [
        ("gen_ai.tool.message", {"role": "tool", "content": '{"city": "Oslo"}', "id": "c1"}),
        ("gen_ai.choice", {"message": block({"text": '{"degrees": 4}'}), "id": "c1"}),
    ]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"}
    old = step_of(tmp_path, "execute_tool weather", {**STRANDS, **tool}, events=events)
    response = {"type": "tool_call_response", "id": "c1", "response": [{"json": {"degrees": 4}}]}
    details = [
        {"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [PART_CALL]}])},
        {"gen_ai.output.messages": json.dumps([{"role": "tool", "parts": [response]}])},
    ]
    named = "gen_ai.client.inference.operation.details"
    held = {"gen_ai.provider.name": "strands-agents", **tool}
    new = step_of(tmp_path, "execute_tool weather", held, events=[(named, each) for each in details])
    for step in (old, new):
        assert (step.kind, step.name, step.input, step.output) == ("tool", "weather", {"city": "Oslo"}, {"degrees": 4})
    agent = {**STRANDS, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "forecaster"}
    said = [("gen_ai.user.message", {"content": block({"text": "Weather in Oslo?"})})]
    step = step_of(tmp_path, "invoke_agent", agent, events=[*said, ("gen_ai.choice", {"message": "4 degrees"})])
    assert (step.kind, step.name, step.input, step.output) == ("agent", "forecaster", [USER], FINAL)


# Products that keep what a function was given and gave

REQUEST = {"model": "m", "messages": [SYSTEM, USER], "tools": [OPENAI_TOOL], "temperature": 0.5}


def test_langfuses_generation_is_a_model_call(tmp_path: Path) -> None:
    """Input, output, model, parameters and counts are attributes of their own."""
    held = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps({"messages": REQUEST["messages"], "tools": [OPENAI_TOOL]}),
        "langfuse.observation.output": json.dumps({"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]}),
        "langfuse.observation.model.name": "m",
        "langfuse.observation.model.parameters": '{"temperature": 0.5}',
        "langfuse.observation.usage_details": '{"input": 7, "output": 3, "input_cached_tokens": 2}',
        "langfuse.observation.cost_details": '{"total": 0.5}',
        "langfuse.trace.name": "t",
    }
    step = step_of(tmp_path, "openai", held)
    check_model(step, [SYSTEM, USER], CALLING)
    assert (step.model, step.input["params"]) == ("m", {"temperature": 0.5})
    assert step.usage == Usage(9, 3, cached_tokens=2, cost_usd=0.5)
    assert step.attributes["langfuse.trace.name"] == "t"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("tool", "tool"), ("agent", "agent"), ("retriever", "retrieval"), ("guardrail", "policy"), ("chain", "other")],
)
def test_langfuses_types_are_kinds(tmp_path: Path, kind: str, wanted: str) -> None:
    """Each type of observation is its kind of step, with what went in and came out."""
    given, gave = "langfuse.observation.input", "langfuse.observation.output"
    step = step_of(tmp_path, "f", {"langfuse.observation.type": kind, given: '{"a": 1}', gave: "[2]"})
    assert (step.kind, step.name, step.output) == (wanted, "f", [2])
    assert step.input == ({"query": {"a": 1}} if kind == "retriever" else {"a": 1})


def test_a_decorated_tools_keywords_are_its_arguments(tmp_path: Path) -> None:
    """Langfuse's decorator writes the call of a function."""
    given = json.dumps({"args": [], "kwargs": {"city": "Oslo"}})
    held = {"langfuse.observation.type": "tool", "langfuse.observation.input": given}
    assert step_of(tmp_path, "weather", held).input == {"city": "Oslo"}


def test_mlflows_attributes_are_json_text(tmp_path: Path) -> None:
    """A chat model's request and response are read as bodies; a tool has arguments and result."""
    response = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]}}]}
    held = {
        "mlflow.traceRequestId": '"tr-1"',
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": json.dumps(REQUEST),
        "mlflow.spanOutputs": json.dumps(response),
        "mlflow.chat.tools": json.dumps([OPENAI_TOOL]),
        "mlflow.chat.tokenUsage": '{"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}',
        "mlflow.llm.cost": '{"total_cost": 0.5}',
    }
    step = step_of(tmp_path, "Completions", held)
    check_model(step, [SYSTEM, USER], CALLING)
    assert (step.model, step.usage) == ("m", Usage(9, 3, cost_usd=0.5))
    assert step.input["params"] == {"temperature": 0.5}
    tool = {
        "mlflow.spanType": '"TOOL"',
        "mlflow.spanInputs": '{"city": "Oslo"}',
        "mlflow.spanOutputs": '{"degrees": 4}',
    }
    step = step_of(tmp_path, "weather", tool)
    assert (step.kind, step.name, step.input, step.output) == ("tool", "weather", {"city": "Oslo"}, {"degrees": 4})
    other = step_of(tmp_path, "f", {"mlflow.spanType": '"PARSER"', "mlflow.spanInputs": '"x"'})
    assert (other.kind, other.input, other.attributes["mlflow.spanType"]) == ("other", "x", "PARSER")


ADK = {"gen_ai.system": "gcp.vertex.agent"}


def test_googles_adk_keeps_request_and_response(tmp_path: Path) -> None:
    """Contents, the system instruction, declared functions, settings and counts come out of Google's bodies."""
    request = {
        "model": "gemini",
        "config": {
            "system_instruction": "be brief",
            "temperature": 0.5,
            "max_output_tokens": 10,
            "tools": [{"function_declarations": [TOOL]}],
        },
        "contents": [{"role": "user", "parts": [{"text": "Weather in Oslo?"}]}],
    }
    call = {"function_call": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}}
    response = {
        "content": {"role": "model", "parts": [call]},
        "usage_metadata": {"prompt_token_count": 9, "candidates_token_count": 3, "thoughts_token_count": 1},
    }
    held = {**ADK, "gen_ai.request.model": "gemini", "gcp.vertex.agent.llm_request": json.dumps(request)}
    step = step_of(tmp_path, "call_llm", {**held, "gcp.vertex.agent.llm_response": json.dumps(response)})
    check_model(step, [SYSTEM, USER], CALLING)
    assert step.model == "gemini"
    assert step.input["params"] == {"temperature": 0.5, "max_tokens": 10}
    assert (step.usage.input_tokens, step.usage.reasoning_tokens) == (9, 1)


def test_adks_tool_is_a_tool_and_its_merged_answers_are_not(tmp_path: Path) -> None:
    """A tool's span has empty bodies beside; parallel answers in one span are no call of their own."""
    held = {
        **ADK,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": "c1",
        "gcp.vertex.agent.tool_call_args": '{"city": "Oslo"}',
        "gcp.vertex.agent.tool_response": '{"degrees": 4}',
        "gcp.vertex.agent.llm_request": "{}",
        "gcp.vertex.agent.llm_response": "{}",
    }
    step = step_of(tmp_path, "execute_tool weather", held)
    assert (step.kind, step.name, step.input, step.output) == ("tool", "weather", {"city": "Oslo"}, {"degrees": 4})
    merged = {**held, "gen_ai.tool.name": "(merged tools)", "gcp.vertex.agent.tool_call_args": "N/A"}
    assert step_of(tmp_path, "execute_tool (merged)", merged).kind == "other"
    agent = {**ADK, "gcp.vertex.agent.event_id": "e", "gen_ai.operation.name": "invoke_agent"}
    assert step_of(tmp_path, "invoke_agent forecaster", {**agent, "gen_ai.agent.name": "forecaster"}).kind == "agent"


def test_openlits_prompt_is_split_into_its_messages(tmp_path: Path) -> None:
    """Lines of role and text are messages, said to be split; a setting that was not given is none."""
    events = [
        ("gen_ai.content.prompt", {"gen_ai.prompt": "system: be brief\nuser: Weather in Oslo?"}),
        ("gen_ai.content.completion", {"gen_ai.completion": "4 degrees"}),
    ]
    held = {"telemetry.sdk.name": "openlit", "gen_ai.operation.name": "chat", "gen_ai.usage.cost": 0.5}
    held |= {"gen_ai.request.max_tokens": -1, "gen_ai.request.seed": "", "gen_ai.request.temperature": 1.0}
    step = step_of(tmp_path, "openai.chat.completions", held, events=events)
    assert (step.input["messages"], step.output) == ([SYSTEM, USER], FINAL)
    assert step.input["params"] == {"temperature": 1.0}
    assert step.attributes["text_messages"] is True


FAILING: list[dict[str, Any]] = [
    {"langfuse.observation.type": "tool", "langfuse.observation.input": "{}"},
    {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": "{}"},
    {**ADK, "gen_ai.tool.name": "f", "gcp.vertex.agent.tool_call_args": "{}"},
    {**STRANDS, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"},
    {"logfire.msg": "x", "tool_arguments": "{}", "gen_ai.tool.name": "f"},
]


@pytest.mark.parametrize("held", FAILING, ids=["langfuse", "mlflow", "adk", "strands", "pydantic"])
def test_a_failed_span_has_its_exception_in_every_dialect(tmp_path: Path, held: dict[str, Any]) -> None:
    """The exception's event says what was raised; a failed call lacks no output."""
    event = ("exception", {"exception.type": "builtins.ValueError", "exception.message": "no city"})
    step = step_of(tmp_path, "f", held, events=[event], error="no city")
    assert step.error == StepError("ValueError", "no city", "builtins")
    assert "output" not in step.attributes.get("missing", [])


JUNK = st.sampled_from(
    [None, True, 0, -1, 2**62, 1.5, "", "x", "{", "[1]", "null", '{"a": 1}', '[{"role": 5}]', [], [1]]
)
SAMPLES: list[dict[str, Any]] = [
    *FAILING,
    {
        **PYDANTIC,
        "gen_ai.operation.name": "chat",
        "events": json.dumps(EVENTS),
        "request_data": "{}",
        "final_result": 1,
    },
    {"agent_name": "a", "all_messages_events": json.dumps(EVENTS), "pydantic_ai.new_message_index": 1},
    {"logfire.msg": "x", "request_data": json.dumps(REQUEST), "response_data": '{"message": {"content": "x"}}'},
    {**ADK, "gcp.vertex.agent.llm_request": '{"contents": []}', "gcp.vertex.agent.llm_response": "{}"},
    {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": "{}"},
    {"mlflow.spanType": '"LLM"', "mlflow.spanOutputs": "[]", "mlflow.chat.tools": "[]", "mlflow.llm.cost": "{}"},
    {**STRANDS, "gen_ai.operation.name": "chat", "gen_ai.input.messages": "[]"},
    {"telemetry.sdk.name": "openlit", "gen_ai.operation.name": "chat", "gen_ai.request.seed": ""},
]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_junk_in_any_attribute_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """No value of an attribute or an event raises anything but a typed error."""
    held = dict(data.draw(st.sampled_from(SAMPLES)))
    for key in data.draw(st.lists(st.sampled_from(sorted(held)), min_size=1, max_size=3)):
        held[key] = data.draw(JUNK)
    name = data.draw(st.sampled_from(["gen_ai.user.message", "gen_ai.choice", "gen_ai.content.prompt"]))
    fields = dict.fromkeys(["content", "message", "gen_ai.prompt"], data.draw(JUNK))
    try:
        steps: tuple[Step, ...] = read_spans(tmp_path, span("f", held, events=[(name, fields)])).steps
    except EvalkitError:
        return
    assert [step.seq for step in steps] == list(range(len(steps)))
