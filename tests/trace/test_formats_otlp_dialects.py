"""The dialects of OTLP sources: one run told in each of them is one trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.errors import EvalkitError
from evalkit.trace.formats.answered_calls import with_answered_calls
from evalkit.trace.formats.attributes import Attributes
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Step, Trace, Usage
from evalkit.trace.read import load_traces
from tests.trace.otlp_builders import any_value, pairs

CALL = {"id": "c1", "name": "get_x", "arguments": {"a": 1}}
TOOL = {"name": "get_x", "description": "d", "parameters": {"type": "object"}}
MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
ANSWER = {"role": "assistant", "content": None, "tool_calls": [CALL]}
JUNK = st.sampled_from([None, True, 0, 2**70, 1.5, "", "x", "{", "[1]", '{"a": 1}', [], [1, None], {}, {"role": 5}])


def read(
    folder: Path,
    *spans: dict[str, Any],
    logs: list[dict[str, Any]] | None = None,
    events: list[dict[str, Any]] | None = None,
    report: ReadReport | None = None,
) -> Trace:
    """The trace of some spans, given by their attributes, with log records, and events of the first span."""
    raw: list[dict[str, Any]] = [
        {"traceId": "t", "spanId": str(at), "name": "n", "startTimeUnixNano": str(at), "attributes": pairs(each)}
        for at, each in enumerate(spans, 1)
    ]
    raw[0]["events"] = events or []
    document = {"resourceSpans": [{"scopeSpans": [{"spans": raw}]}]}
    if logs is not None:
        document["resourceLogs"] = [{"scopeLogs": [{"logRecords": logs}]}]
    (folder / "x.json").write_text(json.dumps(document), "utf-8")
    (trace,) = load_traces(folder / "x.json", report=report)
    return trace


def log(name: str, body: dict[str, Any], span_id: str = "1") -> dict[str, Any]:
    """A log record of the event style."""
    return {"eventName": name, "traceId": "t" if span_id else "", "spanId": span_id, "body": any_value(body)}


ASKED_EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.system.message", {"content": "be brief"}),
    ("gen_ai.user.message", {"content": "hi"}),
]
OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "get_x", "arguments": '{"a": 1}'}}
CHOICE: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "tool_calls": [OPENAI_CALL]}}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 3}
MESSAGE_STYLE = {
    **CHAT,
    "gen_ai.system_instructions": '[{"type": "text", "content": "be brief"}]',
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]',
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", **CALL}]}]),
}
INDEXED: dict[str, Any] = {
    "llm.request.type": "chat",
    "gen_ai.response.model": "m",
    "gen_ai.usage.prompt_tokens": 3,
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "be brief",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "hi",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "get_x",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
}
OPENINFERENCE: dict[str, Any] = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "m",
    "llm.token_count.prompt": 3,
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "be brief",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.content": "hi",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_x",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 1}',
}


def test_one_call_in_five_dialects_is_one_step(tmp_path: Path) -> None:
    """Messages, answer, model and usage are the same whichever way the span holds them."""
    events = [{"name": name, "attributes": pairs(fields)} for name, fields in ASKED_EVENTS]
    chosen = {"message": json.dumps(CHOICE["message"])}
    traces = [
        read(tmp_path, MESSAGE_STYLE),
        read(tmp_path, CHAT, logs=[*(log(*each) for each in ASKED_EVENTS), log("gen_ai.choice", CHOICE)]),
        read(
            tmp_path,
            CHAT,
            events=[
                *events,
                {"name": "gen_ai.choice", "attributes": pairs({"gen_ai.event.content": json.dumps(chosen | CHOICE)})},
            ],
        ),
        read(tmp_path, INDEXED),
        read(tmp_path, OPENINFERENCE),
    ]
    for trace in traces:
        (step,) = trace.steps
        assert step.input == {"messages": MESSAGES, "tools": [], "params": {}}
        assert (step.kind, step.model, step.usage) == ("model", "m", Usage(input_tokens=3))
        assert step.output == ANSWER
        assert "missing" not in step.attributes


def test_the_dialect_is_chosen_span_by_span(tmp_path: Path) -> None:
    """One source may hold spans of several instrumentations."""
    trace = read(tmp_path, OPENINFERENCE, MESSAGE_STYLE, INDEXED, {"http.route": "/"})
    assert [step.kind for step in trace.steps] == ["model", "model", "model", "other"]
    assert trace.steps[0].output == trace.steps[1].output == trace.steps[2].output


def test_a_record_without_a_span_belongs_to_the_only_model_call(tmp_path: Path) -> None:
    """Where two calls could hold it, nobody guesses: it is counted and a gap."""
    record = log("gen_ai.user.message", {"content": "hi"}, "")
    assert read(tmp_path, CHAT, logs=[record]).steps[0].input["messages"] == [MESSAGES[1]]  # type: ignore[index, call-overload]  # JSON
    report = ReadReport()
    trace = read(tmp_path, CHAT, CHAT, logs=[record], report=report)
    assert trace.gaps == ("1 messages stand in log records of no span in the source",)
    assert report.skipped == {"log record gen_ai.user.message: its span is not in the source": 1}


def test_events_without_content_are_counted_and_missing(tmp_path: Path) -> None:
    """Content capture that is off leaves roles and names: no messages, and the step says so."""
    report = ReadReport()
    logs = [log("gen_ai.user.message", {}), log("gen_ai.choice", {"index": 0, "message": {"role": "assistant"}})]
    (step,) = read(tmp_path, CHAT, logs=logs, report=report).steps
    assert step.attributes["missing"] == ["input", "output"]
    assert report.skipped.total() == 2
    assert all("its content was not captured" in reason for reason in report.skipped)


def test_anthropics_blocks_are_one_answer(tmp_path: Path) -> None:
    """A choice a block is one message with its reasoning; several choices of others stay several."""
    logs = [
        log("gen_ai.choice", {"index": 0, "message": {"content": {"type": "thinking", "content": "hm"}}}),
        log("gen_ai.choice", {"index": 1, "message": {"content": {"type": "text", "text": "yes"}}}),
    ]
    (step,) = read(tmp_path, CHAT, logs=logs).steps
    assert step.output == {"role": "assistant", "content": "yes", "reasoning": "hm"}
    several = [log("gen_ai.choice", {"index": at, "message": {"content": text}}) for at, text in enumerate("ab")]
    (step,) = read(tmp_path, CHAT, logs=several).steps
    assert step.output == {"role": "assistant", "content": "a"}
    assert step.attributes["other_choices"] == [{"role": "assistant", "content": "b"}]


def test_tools_of_openllmetry_are_read(tmp_path: Path) -> None:
    """Definitions in numbered attributes; a tool span's input and output without its callback's wrapping."""
    functions = {f"llm.request.functions.0.{key}": TOOL[key] for key in ("name", "description")}
    functions["llm.request.functions.0.parameters"] = json.dumps(TOOL["parameters"])
    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "get_x",
        "traceloop.entity.input": json.dumps({"input_str": "{'a': 1}", "tags": [], "inputs": {"a": 1}}),
        "traceloop.entity.output": json.dumps({"output": "[1]", "kwargs": {}}),
    }
    model, step = read(tmp_path, {**INDEXED, **functions}, tool).steps
    assert isinstance(model.input, dict)
    assert model.input["tools"] == [TOOL]
    assert (step.kind, step.name, step.input, step.output) == ("tool", "get_x", {"a": 1}, [1])


def test_a_decorated_tools_keywords_are_its_arguments(tmp_path: Path) -> None:
    """OpenLLMetry's decorator writes a call of a function; positions have no names and stay as they are."""
    tool = {"traceloop.span.kind": "tool", "traceloop.entity.name": "get_x", "traceloop.entity.output": "[1]"}
    call = [{"args": [], "kwargs": {"a": 1}}, {"args": [1], "kwargs": {}}]
    steps = read(tmp_path, *({**tool, "traceloop.entity.input": json.dumps(each)} for each in call)).steps
    assert [step.input for step in steps] == [{"a": 1}, call[1]]


def test_a_task_keeps_its_input_and_output(tmp_path: Path) -> None:
    """What is neither model, tool nor agent is another step with what went in and came out."""
    task = {
        "traceloop.span.kind": "task",
        "traceloop.entity.input": '{"q": 1}',
        "traceloop.entity.output": "x",
        "k": "v",
    }
    (step,) = read(tmp_path, task).steps
    assert (step.kind, step.input, step.output, step.attributes["k"]) == ("other", {"q": 1}, "x", "v")


def test_an_openinference_handoff_is_no_tool(tmp_path: Path) -> None:
    """The tracer of OpenAI Agents marks handoffs as tools with the agents' names as values."""
    document = [{"openinference.span.kind": "TOOL", "tool.name": "handoff to B"}, {"openinference.span.kind": "TOOL"}]
    assert [step.kind for step in read(tmp_path, *document).steps] == ["tool", "tool"]
    agents = {"openinference.span.kind": "TOOL", "input.value": "A", "output.value": "B"}
    spans = [{"traceId": "t", "spanId": "1", "name": "handoff to B", "attributes": pairs(agents)}]
    (tmp_path / "x.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}), "utf-8")
    (trace,) = load_traces(tmp_path / "x.json")
    assert [(step.kind, step.name, step.input) for step in trace.steps] == [
        ("other", "handoff", {"from_agent": "A", "to_agent": "B"})
    ]


def test_what_openinference_says_of_the_response_is_no_parameter(tmp_path: Path) -> None:
    """The tracer of OpenAI Agents writes the whole response as parameters: its id, time and instructions are none."""
    stated = {"id": "resp_1", "created_at": 1.0, "instructions": "Be brief.", "temperature": 1, "max_output_tokens": 9}
    span = {
        "openinference.span.kind": "LLM",
        "llm.invocation_parameters": json.dumps(stated),
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be brief.",
    }
    (step,) = read(tmp_path, span).steps
    assert step.input["params"] == {"temperature": 1, "max_tokens": 9}  # type: ignore[call-overload,index]
    assert step.attributes["response"] == {"id": "resp_1", "created_at": 1.0}


def test_an_openllmetry_handoff_is_the_same_step(tmp_path: Path) -> None:
    """Whoever exported it, a handoff is a step of that name with both agents; OpenLLMetry may not know the second."""
    told = {"gen_ai.operation.name": "handoff", "gen_ai.handoff.from_agent": "A"}
    for known, to_agent in (({}, None), ({"gen_ai.handoff.to_agent": "B"}, "B")):
        (step,) = read(tmp_path, {**told, **known}).steps
        assert (step.kind, step.name, step.input) == ("other", "handoff", {"from_agent": "A", "to_agent": to_agent})


def test_indexes_sort_as_numbers() -> None:
    """Item 10 comes after item 9; a plain value has no name."""
    taken = Attributes({"a.10.x": 10, "a.9.x": 9, "a.b": 1, "a.2": 2})
    assert taken.indexed("a") == [{"": 2}, {"x": 9}, {"x": 10}]
    assert taken.left() == {"a.b": 1}


def model(seq: int, messages: list[Any], calls: list[Any], parent: int | None = None) -> Step:
    """A model step with some calls in its answer."""
    answer: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    return Step(seq, "model", "chat", {"messages": messages}, answer, parent=parent)


RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"b": 2}'}


def test_a_call_with_its_result_in_a_later_message_becomes_a_tool_step() -> None:
    """The new step stands after the call; numbers close up and parents stay the same steps."""
    steps = [Step(0, "agent", "a"), model(1, [], [CALL], 0), model(2, [RESULT], [], 0), Step(3, "other", "o", parent=2)]
    found = with_answered_calls(steps)
    assert [(step.seq, step.kind, step.parent) for step in found] == [
        (0, "agent", None),
        (1, "model", 0),
        (2, "tool", 0),
        (3, "model", 0),
        (4, "other", 3),
    ]
    assert (found[2].name, found[2].input, found[2].output) == ("get_x", {"a": 1}, {"b": 2})
    assert found[2].attributes["tool_call_id"] == "c1"


@pytest.mark.parametrize("attributes", [{"tool_call_id": "c1"}, {}])
def test_a_call_with_a_tool_span_gets_no_second_step(attributes: dict[str, Any]) -> None:
    """A tool step is the call's by its id, else by its name."""
    steps = (model(0, [], [CALL]), Step(1, "tool", "get_x", attributes=attributes), model(2, [RESULT], []))
    assert with_answered_calls(steps) == steps


def test_a_call_without_a_result_stays_a_call() -> None:
    """Nothing is made up for a call that nobody answered, or whose answer stands before it."""
    for steps in ((model(0, [], [CALL]),), (model(0, [RESULT], []), model(1, [], [CALL]))):
        assert with_answered_calls(steps) == steps


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_junk_in_any_attribute_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """No value of an attribute or a log record raises anything but a typed error."""
    attributes = dict(data.draw(st.sampled_from([INDEXED, OPENINFERENCE, MESSAGE_STYLE])))
    for key in data.draw(st.lists(st.sampled_from(sorted(attributes)), min_size=1, max_size=3)):
        attributes[key] = data.draw(JUNK)
    name = data.draw(st.sampled_from(["gen_ai.user.message", "gen_ai.choice", "gen_ai.tool.message"]))
    body = dict.fromkeys(data.draw(st.lists(st.sampled_from(["content", "message", "tool_calls"]))), data.draw(JUNK))
    try:
        trace = read(tmp_path, attributes, CHAT, logs=[log(name, body, "2"), log(name, body)])
    except EvalkitError:
        return
    assert [step.seq for step in trace.steps] == list(range(len(trace.steps)))
