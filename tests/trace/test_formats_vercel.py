"""The Vercel AI SDK's spans, in OTLP and as OpenTelemetry's SDKs print them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces
from tests.corpora import CORPORA, needs_corpora
from tests.trace.otlp_builders import read_spans, span, step_of

CALL = {"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
TOOL = {"name": "weather", "description": "d", "parameters": {"type": "object"}}
ASKED = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "Weather in Oslo?"}]


def operation(name: str) -> dict[str, Any]:
    """What every span of the SDK has."""
    return {
        "operation.name": f"{name} ask",
        "resource.name": "ask",
        "ai.operationId": name,
        "ai.telemetry.functionId": "ask",
        "ai.model.provider": "openai.chat",
        "ai.model.id": "m",
        "ai.settings.maxRetries": 2,
        "ai.telemetry.metadata.user": "u1",
    }


def prompt(*more: dict[str, Any]) -> str:
    """The messages of a model call as the SDK converts them for a provider."""
    user = {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]}
    return json.dumps([ASKED[0], user, *more])


V6: dict[str, Any] = {
    **operation("ai.generateText.doGenerate"),
    "ai.prompt.messages": prompt(),
    "ai.prompt.tools": [
        json.dumps({"type": "function", "name": "weather", "description": "d", "inputSchema": TOOL["parameters"]})
    ],
    "ai.prompt.toolChoice": '{"type":"auto"}',
    "ai.settings.temperature": 0.5,
    "ai.settings.maxOutputTokens": 100,
    "gen_ai.system": "openai.chat",
    "gen_ai.request.model": "m",
    "gen_ai.request.temperature": 0.5,
    "gen_ai.request.max_tokens": 100,
    "ai.response.finishReason": "tool-calls",
    "ai.response.text": "",
    "ai.response.reasoning": "hm",
    "ai.response.toolCalls": json.dumps([{"toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}}]),
    "ai.response.id": "r1",
    "ai.response.model": "m-1",
    "ai.usage.inputTokens": 20,
    "ai.usage.outputTokens": 9,
    "ai.usage.totalTokens": 29,
    "ai.usage.cachedInputTokens": 4,
    "ai.usage.inputTokenDetails.cacheReadTokens": 4,
    "ai.usage.reasoningTokens": 3,
    "gen_ai.response.finish_reasons": ["tool-calls"],
    "gen_ai.response.id": "r1",
    "gen_ai.response.model": "m-1",
    "gen_ai.usage.input_tokens": 20,
    "gen_ai.usage.output_tokens": 9,
}
V4: dict[str, Any] = {
    **operation("ai.streamText.doStream"),
    "ai.prompt.format": "messages",
    "ai.prompt.messages": prompt(),
    "ai.prompt.tools": [json.dumps({"type": "function", **TOOL})],
    "ai.settings.maxTokens": 100,
    "gen_ai.request.model": "m",
    "gen_ai.request.max_tokens": 100,
    "gen_ai.request.temperature": 0.5,
    "ai.response.text": "",
    "ai.response.toolCalls": json.dumps(
        [{"toolCallType": "function", "toolCallId": "c1", "toolName": "weather", "args": '{"city":"Oslo"}'}]
    ),
    "ai.response.model": "m-1",
    "ai.usage.promptTokens": 20,
    "ai.usage.completionTokens": 9,
    "gen_ai.usage.input_tokens": 20,
    "gen_ai.usage.output_tokens": 9,
}
V3: dict[str, Any] = {
    **{key: value for key, value in V4.items() if not key.startswith("ai.response.")},
    "ai.result.text": "",
    "ai.result.toolCalls": V4["ai.response.toolCalls"],
    "ai.finishReason": "tool-calls",
    "gen_ai.response.model": "m-1",
}
RUN: dict[str, Any] = {
    **operation("ai.generateText"),
    "ai.prompt": json.dumps({"system": "be brief", "prompt": "Weather in Oslo?"}),
    "ai.settings.maxSteps": 3,
    "ai.response.text": "4 degrees",
    "ai.usage.promptTokens": 50,
    "ai.usage.completionTokens": 12,
}
WEATHER: dict[str, Any] = {
    **operation("ai.toolCall"),
    "ai.toolCall.name": "weather",
    "ai.toolCall.id": "c1",
    "ai.toolCall.args": '{"city":"Oslo"}',
    "ai.toolCall.result": '{"degrees":4}',
}
ANSWERED = prompt(
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}}],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "c1",
                "toolName": "weather",
                "output": {"type": "json", "value": {"degrees": 4}},
            }
        ],
    },
)
LAST: dict[str, Any] = {
    **operation("ai.generateText.doGenerate"),
    "ai.prompt.messages": ANSWERED,
    "ai.response.text": "4 degrees",
    "ai.usage.inputTokens": 30,
    "ai.usage.outputTokens": 3,
}
SPANS = [("ai.generateText", RUN, 1, 0), ("ai.generateText.doGenerate", V6, 2, 1), ("ai.toolCall", WEATHER, 3, 1)]
SPANS += [("ai.generateText.doGenerate", LAST, 4, 1)]


def readable(name: str, attributes: dict[str, Any], number: int, parent: int, **more: Any) -> dict[str, Any]:
    """A ReadableSpan of OpenTelemetry JS as JSON."""
    return {
        "name": name,
        "kind": 0,
        "spanContext": {"traceId": "t", "spanId": f"{number:016x}", "traceFlags": 1},
        "parentSpanContext": {"traceId": "t", "spanId": f"{parent:016x}"} if parent else None,
        "startTime": [number, 0],
        "endTime": [number, 500_000_000],
        "status": {"code": 0},
        "attributes": attributes,
        "links": [],
        "events": [],
        **more,
    }


def js_console(name: str, attributes: dict[str, Any], number: int, parent: int) -> dict[str, Any]:
    """What OpenTelemetry JS' ConsoleSpanExporter makes of a span."""
    return {
        "resource": {"attributes": {"service.name": "shop"}},
        "traceId": "t",
        "parentId": f"{parent:016x}" if parent else None,
        "name": name,
        "id": f"{number:016x}",
        "kind": 0,
        "timestamp": number * 10**6 + 10**15,
        "duration": 500_000,
        "attributes": attributes,
        "status": {"code": 0},
        "events": [],
        "links": [],
    }


def python_console(name: str, attributes: dict[str, Any], number: int, parent: int) -> dict[str, Any]:
    """What OpenTelemetry Python's ``span.to_json()`` holds."""
    return {
        "name": name,
        "context": {"trace_id": "0x0t", "span_id": f"0x{number:016x}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": f"0x{parent:016x}" if parent else None,
        "start_time": f"2025-01-01T00:00:0{number}.000000Z",
        "end_time": f"2025-01-01T00:00:0{number}.500000Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    }


def read(folder: Path, text: str, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a file, through the front door."""
    (folder / "file").write_text(text, "utf-8")
    return list(load_traces(folder / "file", report=report))


def test_a_run_is_an_agent_around_model_and_tool_calls(tmp_path: Path) -> None:
    """The outer span is the agent, so that no model call counts twice; the tool's call and result are one step."""
    trace = read_spans(tmp_path, *(span(name, held, number=at, parent=up) for name, held, at, up in SPANS))
    kinds = [(step.kind, step.name, step.parent) for step in trace.steps]
    assert kinds == [("agent", "ask", None), ("model", "chat", 0), ("tool", "weather", 0), ("model", "chat", 0)]
    agent, _, tool, last = trace.steps
    assert (agent.input, agent.output) == (ASKED, {"role": "assistant", "content": "4 degrees"})
    assert (tool.input, tool.output) == ({"city": "Oslo"}, {"degrees": 4})
    assert tool.attributes["tool_call_id"] == "c1"
    assert isinstance(last.input, dict)
    assert last.input["messages"] == [
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": '{"degrees":4}', "tool_call_id": "c1"},
    ]
    assert (trace.name, trace.output) == ("ask", "4 degrees")


@pytest.mark.parametrize("attributes", [V3, V4, V6], ids=["3", "4", "6"])
def test_every_version_gives_the_same_model_call(tmp_path: Path, attributes: dict[str, Any]) -> None:
    """Messages, tools, parameters, answer and counts have one form, however a version spells them."""
    step = step_of(tmp_path, "n", attributes)
    assert step.input == {"messages": ASKED, "tools": [TOOL], "params": {"temperature": 0.5, "max_tokens": 100}}
    assert step.output["tool_calls"] == [CALL]
    assert (step.kind, step.model, step.output["content"]) == ("model", "m-1", None)
    assert (step.usage.input_tokens, step.usage.output_tokens) == (20, 9)
    assert "missing" not in step.attributes
    left = {
        name for name in step.attributes if name.startswith(("ai.response", "ai.result", "ai.prompt.m", "ai.usage.p"))
    }
    assert not left


def test_cached_and_reasoning_tokens_are_counted(tmp_path: Path) -> None:
    """Version 6 says which tokens came from a cache and which were spent on reasoning, and what was thought."""
    step = step_of(tmp_path, "n", V6)
    assert step.usage == Usage(20, 9, 4, 3)
    assert step.output["reasoning"] == "hm"


def test_an_object_is_the_answers_text(tmp_path: Path) -> None:
    """Structured output is what the model wrote."""
    attributes = {**operation("ai.generateObject.doGenerate"), "ai.prompt.messages": prompt()}
    step = step_of(tmp_path, "n", {**attributes, "ai.response.object": '{"a":1}'})
    assert step.output == {"role": "assistant", "content": '{"a":1}'}


def test_a_failed_tool_has_its_error(tmp_path: Path) -> None:
    """The exception's event names the error; such a call has no result and none is missed."""
    event = ("exception", {"exception.type": "TypeError", "exception.message": "no city", "exception.stacktrace": "s"})
    held = {key: value for key, value in WEATHER.items() if key != "ai.toolCall.result"}
    step = step_of(tmp_path, "ai.toolCall", held, events=[event], error="no city")
    assert (step.output, step.error) == (None, StepError("TypeError", "no city", None, "s"))
    assert "missing" not in step.attributes


def test_content_that_was_not_recorded_is_missing(tmp_path: Path) -> None:
    """With recordInputs and recordOutputs off, the step says what it lacks."""
    assert step_of(tmp_path, "n", operation("ai.streamText.doStream")).attributes["missing"] == ["input", "output"]


def test_a_prompt_that_was_cut_off_is_kept_as_text(tmp_path: Path) -> None:
    """An exporter's length limit cuts JSON in the middle: nothing is guessed, nothing is lost."""
    cut = prompt()[:30]
    step = step_of(tmp_path, "n", {**V6, "ai.prompt.messages": cut})
    assert step.attributes["ai.prompt.messages"] == cut
    assert step.attributes["missing"] == ["input"]
    assert step_of(tmp_path, "n", {**RUN, "ai.prompt": '{"prompt": "We'}).input == '{"prompt": "We'


@pytest.mark.parametrize("name", ["ai.embed", "ai.embed.doEmbed", "ai.embedMany"])
def test_a_source_of_embeddings_alone_is_read(tmp_path: Path, name: str) -> None:
    """What is embedded and the vectors are kept."""
    many = name != "ai.embed"
    held = {"ai.values": ['"a"', '"b"'], "ai.embeddings": ["[0.5]", "[1]"]} if many else {"ai.value": '"a"'}
    step = step_of(tmp_path, name, {**operation(name), **held, "ai.usage.tokens": 2})
    assert (step.kind, step.name, step.usage) == ("other", name, Usage(input_tokens=2))
    assert (step.input, step.output) == ((["a", "b"], [[0.5], [1]]) if many else ("a", None))


def test_a_ranking_gives_documents_in_their_order(tmp_path: Path) -> None:
    """A ranking model's call is a retrieval whose question the span does not hold."""
    held = {"ai.documents": ['"a"', '"b"'], "ai.ranking": ['{"index":1,"relevanceScore":0.9}']}
    step = step_of(tmp_path, "n", {**operation("ai.rerank.doRerank"), **held})
    assert (step.kind, step.output) == ("retrieval", [{"id": "1", "content": "b", "score": 0.9}])
    assert step.attributes["missing"] == ["input"]


@pytest.mark.parametrize("make", [readable, js_console, python_console])
@pytest.mark.parametrize("form", ["list", "lines", "groups", "single"])
def test_spans_of_the_sdks_mean_what_they_mean_in_otlp(tmp_path: Path, make: Any, form: str) -> None:
    """Each way in which OpenTelemetry's SDKs hold spans gives the steps of the same OTLP."""
    spans = [make(*each) for each in (SPANS[:1] if form == "single" else SPANS)]
    groups = [("ai.generateText", spans[:1]), ("others", spans[1:])]
    text = {
        "list": json.dumps(spans, indent=1),
        "lines": "\n".join(map(json.dumps, spans)),
        "groups": json.dumps(dict(groups)),
        "single": json.dumps(spans[0]),
    }[form]
    (trace,) = read(tmp_path, text)
    wanted = read_spans(
        tmp_path, *(span(name, held, number=at, parent=up) for name, held, at, up in SPANS[: len(spans)])
    )
    assert [(step.kind, step.input, step.output, step.parent) for step in trace.steps] == [
        (step.kind, step.input, step.output, step.parent) for step in wanted.steps
    ]
    assert trace.dialect == "otel-sdk-spans"
    assert [round((step.ended_at or 0) - (step.started_at or 0), 3) for step in trace.steps] == [0.5] * len(spans)


def test_what_pythons_console_exporter_prints_is_read(tmp_path: Path) -> None:
    """Objects over several lines, one after the other; one that was cut off is an error with its line."""
    text = "\n".join(json.dumps(python_console(*each), indent=4) for each in SPANS)
    (trace,) = read(tmp_path, f"{text}\n")
    assert Counter(step.kind for step in trace.steps) == {"model": 2, "agent": 1, "tool": 1}
    assert trace.attributes == {"service": "shop"}
    with pytest.raises(UnreadableTrace, match="cut off"):
        read(tmp_path, text[:-200])


def test_events_and_failures_of_readable_spans_are_read(tmp_path: Path) -> None:
    """A status of 2 is an error whose exception is an event; another event and a link are counted."""
    events = [
        {"name": "exception", "attributes": {"exception.type": "E", "exception.message": "m"}, "time": [1, 0]},
        {"name": "ai.stream.firstChunk", "attributes": {}, "time": [1, 0]},
    ]
    made = readable("ai.toolCall", WEATHER, 1, 0, events=events, status={"code": 2}, links=[{"context": {}}])
    report = ReadReport()
    (trace,) = read(tmp_path, json.dumps([made]), report)
    assert trace.steps[0].error == StepError("E", "m")
    assert report.skipped == {"span event ai.stream.firstChunk: not read": 1, "span link: not read": 1}


def test_an_item_without_ids_is_refused(tmp_path: Path) -> None:
    """A broken span is an error with its place, not a gap."""
    lines = [json.dumps(readable(*SPANS[0])), json.dumps({"name": "x", "attributes": {}})]
    with pytest.raises(UnreadableTrace, match="no OpenTelemetry span") as caught:
        read(tmp_path, "\n".join(lines))
    assert caught.value.where.endswith(":2")


@pytest.mark.corpus
@needs_corpora
def test_every_real_file_is_read_whole() -> None:
    """Each span becomes a step, the loop's an agent, its calls models with messages, answer and usage."""
    files = sorted((CORPORA / "vercel-ai").rglob("*.json"))
    assert files
    for path in files:
        report = ReadReport()
        steps = [step for trace in load_traces(path, report=report) for step in trace.steps]
        document = json.loads(path.read_text("utf-8"))
        spans = document if isinstance(document, list) else [each for group in document.values() for each in group]
        assert len(steps) == len(spans)
        assert sum(len(each["events"]) for each in spans) == report.skipped.total()
        for step in steps:
            assert "missing" not in step.attributes
            assert step.usage is not None
            name = step.attributes.get("span_name", step.name)
            assert step.kind == ("model" if ".do" in name else "agent") or name.startswith("ai.embed")
            assert not any(key.startswith(("ai.prompt", "ai.response.text")) for key in step.attributes)
