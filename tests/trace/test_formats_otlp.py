"""OTLP JSON with GenAI semantic conventions as traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import UnreadableTrace
from evalkit.trace.file import encode_trace, read_trace_lines
from evalkit.trace.formats.otlp_spans import decode
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces
from tests.trace.otlp_builders import pairs

OTLP = Path(__file__).parents[3] / "shared" / "corpora" / "otlp-genai"
SECOND = 1_000_000_000


def span(
    number: int, operation: str | None, attributes: dict[str, Any], parent: int = 0, **more: Any
) -> dict[str, Any]:
    """A span that starts at second `number` and lasts one."""
    named = attributes if operation is None else {"gen_ai.operation.name": operation, **attributes}
    return {
        "traceId": "aa",
        "spanId": f"s{number}",
        "parentSpanId": f"s{parent}" if parent else "",
        "name": f"{operation} it",
        "startTimeUnixNano": str(number * SECOND),
        "endTimeUnixNano": str((number + 1) * SECOND),
        "attributes": pairs(named),
        **more,
    }


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    """An export request."""
    resource = {"attributes": pairs({"service.name": "shop"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def messages(*items: tuple[str, list[dict[str, Any]]]) -> str:
    """Messages as the conventions put them into an attribute."""
    return json.dumps([{"role": role, "parts": parts} for role, parts in items])


def text(content: str) -> dict[str, Any]:
    """A text part."""
    return {"type": "text", "content": content}


ASKED = messages(("user", [text("Weather in Oslo?")]))
CALL = {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
}
CHAT = {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": messages(("assistant", [CALL]))}


def read(tmp_path: Path, *spans: dict[str, Any], report: ReadReport | None = None) -> Trace:
    """The one trace of these spans."""
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(request(*spans)), "utf-8")
    (trace,) = load_traces(path, report=report)
    return trace


def test_an_agents_spans_become_its_steps(tmp_path: Path) -> None:
    """Agent, model and tool spans in any order of export: ordered by start, nested by parent, with their content."""
    tool = {"gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "c1"}
    content = {"gen_ai.tool.call.arguments": '{"city": "Oslo"}', "gen_ai.tool.call.result": '{"t": 3}'}
    trace = read(
        tmp_path,
        span(3, "execute_tool", {**tool, **content}, parent=1),
        span(2, "chat", CHAT, parent=1),
        span(1, "invoke_agent", {"gen_ai.agent.name": "forecaster"}),
    )
    agent, model, called = trace.steps
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("agent", "forecaster", None),
        ("model", "chat", 0),
        ("tool", "get_weather", 0),
    ]
    assert model.input == {"messages": [{"role": "user", "content": "Weather in Oslo?"}], "tools": [], "params": {}}
    assert model.output == CALLED
    assert (called.input, called.output, called.effect) == ({"city": "Oslo"}, {"t": 3}, "read")
    assert called.attributes["tool_call_id"] == "c1"
    assert (agent.started_at, agent.ended_at, trace.started_at, trace.ended_at) == (1.0, 2.0, 1.0, 4.0)
    assert (trace.id, trace.name, trace.input) == ("aa", "forecaster", "Weather in Oslo?")
    assert trace.attributes == {"service": "shop"}


def test_a_child_that_starts_with_its_parent_comes_after_it(tmp_path: Path) -> None:
    """Equal start times are put in order by nesting: exporters send children first."""
    child, parent = span(2, "chat", CHAT, parent=1), span(1, "invoke_agent", {})
    child["startTimeUnixNano"] = parent["startTimeUnixNano"]
    assert [step.kind for step in read(tmp_path, child, parent).steps] == ["agent", "model"]


def test_every_kind_of_part_comes_to_normal_form(tmp_path: Path) -> None:
    """Text, reasoning, refusal, calls, tool responses, images and instructions each have their place."""
    picture = {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"}
    given = messages(
        ("user", [text("a"), picture]),
        ("unknown", [CALL]),
        ("user", [{"type": "tool_call_response", "id": "c1", "response": {"t": 3}}, text("go on")]),
    )
    answer = messages(("unknown", [{"type": "reasoning", "content": "hm"}, {"type": "refusal", "content": "no"}]))
    attributes = {
        "gen_ai.input.messages": given,
        "gen_ai.output.messages": answer,
        "gen_ai.system_instructions": json.dumps([text("Be kind.")]),
    }
    (step,) = read(tmp_path, span(1, "chat", attributes)).steps
    assert step.input["messages"] == [  # type: ignore[index,call-overload]  # normal form of a model step
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, picture]},
        CALLED,
        {"role": "tool", "content": '{"t":3}', "tool_call_id": "c1"},
        {"role": "user", "content": "go on"},
    ]
    assert step.output == {"role": "assistant", "content": None, "reasoning": "hm", "refusal": "no"}


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
        {"name": "f", "description": "d", "input_schema": {"type": "object"}},
    ],
)
def test_tool_definitions_have_one_form(tmp_path: Path, definition: dict[str, Any]) -> None:
    """OpenAI's two forms and Anthropic's come to the same definition."""
    (step,) = read(tmp_path, span(1, "chat", {**CHAT, "gen_ai.tool.definitions": json.dumps([definition])})).steps
    assert step.input["tools"] == [{"name": "f", "description": "d", "parameters": {"type": "object"}}]  # type: ignore[index,call-overload]


def test_parameters_usage_and_model_are_read(tmp_path: Path) -> None:
    """Sampling parameters by their OpenAI names, token counts exactly, and the model that answered."""
    attributes = {
        **CHAT,
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-2026",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.stop_sequences": ["\n"],
        "gen_ai.usage.input_tokens": 2**60,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.reasoning_tokens": 3,
        "custom": "kept",
    }
    (step,) = read(tmp_path, span(1, "chat", attributes)).steps
    assert step.input["params"] == {"temperature": 0.5, "max_tokens": 9, "stop": ["\n"]}  # type: ignore[index,call-overload]
    assert step.usage == Usage(2**60, 7, 5, 3)
    assert (step.model, step.attributes["custom"]) == ("m-2026", "kept")


def test_an_error_is_taken_from_the_exception_first(tmp_path: Path) -> None:
    """Exception event, ``error.type`` and status: the one that says most wins; a failed root fails the trace."""
    raised = {"exception.type": "openai.APIError", "exception.message": "no", "exception.stacktrace": "Traceback"}
    trace = read(
        tmp_path,
        span(1, "chat", CHAT, status={"code": 2}, events=[{"name": "exception", "attributes": pairs(raised)}]),
        span(2, "chat", {**CHAT, "error.type": "content_filter"}, status={"message": "filtered"}, parent=1),
        span(3, "chat", CHAT, status={"code": 1}, parent=1),
    )
    assert [step.error for step in trace.steps] == [
        StepError("APIError", "no", "openai", "Traceback"),
        StepError("content_filter", "filtered"),
        None,
    ]
    assert (trace.status, trace.error) == ("failed", trace.steps[0].error)


def test_spans_without_captured_content_say_so(tmp_path: Path) -> None:
    """Content capture is off by default: such spans are steps whose attributes name what is missing."""
    trace = read(tmp_path, span(1, "chat", {}), span(2, "execute_tool", {"gen_ai.tool.name": "f"}))
    assert [step.attributes["missing"] for step in trace.steps] == [["input", "output"], ["input", "output"]]


def test_messages_that_an_exporter_cut_are_kept_raw(tmp_path: Path) -> None:
    """An attribute that ends in the middle of its JSON is missing input, and its text stays in the attributes."""
    attributes = {**CHAT, "gen_ai.input.messages": ASKED[:20]}
    (step,) = read(tmp_path, span(1, "chat", attributes)).steps
    assert step.attributes["missing"] == ["input"]
    assert step.attributes["gen_ai.input.messages"] == ASKED[:20]


def test_every_element_is_a_step_or_counted(tmp_path: Path) -> None:
    """Other spans are `other` steps; duplicates, events and links are counted with their reason."""
    report = ReadReport()
    one = span(1, "chat", CHAT, events=[{"name": "chunk"}], links=[{"traceId": "b", "spanId": "b"}])
    trace = read(tmp_path, one, one, span(2, None, {"http.route": "/x"}, parent=9), report=report)
    assert [step.kind for step in trace.steps] == ["model", "other"]
    assert trace.steps[1].attributes["http.route"] == "/x"
    assert report.steps == {"model": 1, "other": 1}
    assert report.skipped == {"span: sent twice": 1, "span event chunk: not read": 2, "span link: not read": 2}
    assert trace.gaps == ("the parents of 1 spans are not in the source",)


def test_other_spans_of_one_id_are_steps_too(tmp_path: Path) -> None:
    """Processes that were forked draw the same ids: no call is lost by that, and it is said that they were shared."""
    report = ReadReport()
    first, second = span(1, "chat", CHAT), {**span(1, "chat", CHAT), "startTimeUnixNano": "7000000000"}
    trace = read(tmp_path, first, second, second, report=report)
    assert [step.kind for step in trace.steps] == ["model", "model"]
    assert report.skipped == {"span: sent twice": 1}
    assert trace.gaps == ("1 spans have the ids of others: what belongs to which is not known",)


def test_a_span_that_is_sent_again_when_it_ended_is_the_whole_one(tmp_path: Path) -> None:
    """Exporters that send a span when it begins send it again."""
    whole = span(1, "chat", CHAT)
    begun = {**whole, "endTimeUnixNano": "0", "attributes": whole["attributes"][:1]}
    assert read(tmp_path, begun, whole).steps == read(tmp_path, whole).steps


def test_a_retrieval_is_a_step_of_its_own(tmp_path: Path) -> None:
    """The query and the documents of a search are input and output."""
    documents = json.dumps([{"id": "d1", "score": 0.5}])
    attributes = {"gen_ai.retrieval.query.text": "refunds", "gen_ai.retrieval.documents": documents}
    step = read(tmp_path, span(1, "retrieval", attributes), span(2, "chat", CHAT)).steps[0]
    assert (step.kind, step.input, step.output) == ("retrieval", {"query": "refunds"}, [{"id": "d1", "score": 0.5}])


def test_documents_lists_and_lines_are_the_same_source(tmp_path: Path) -> None:
    """One request, a list of requests and JSON Lines of requests give the same traces, across the lines too."""
    spans = [span(1, "chat", CHAT), span(2, "chat", CHAT, parent=1), {**span(3, "chat", CHAT), "traceId": "bb"}]
    lines = b"\n".join(json.dumps(request(each)).encode() for each in spans)
    found = []
    for data in (
        json.dumps(request(*spans), indent=1).encode(),
        json.dumps([request(each) for each in spans]).encode(),
        lines,
        gzip.compress(lines),
    ):
        (tmp_path / "x").write_bytes(data)
        found.append(list(load_traces(tmp_path / "x")))
    assert [trace.id for trace in found[0]] == ["aa", "bb"]
    assert found[1:] == [found[0]] * 3


def test_parents_in_a_circle_are_cut(tmp_path: Path) -> None:
    """Hostile spans that are each other's or their own parents are read, as roots: nobody walks up for ever."""
    trace = read(tmp_path, span(1, "chat", CHAT, parent=2), span(2, "chat", CHAT, parent=1), span(3, "x", {}, parent=3))
    assert [step.parent for step in trace.steps] == [None, None, None]


@pytest.mark.parametrize("attributes", [{"logfire.msg": "GET /x"}, {"http.route": "/x"}])
def test_a_source_without_a_known_dialect_is_refused(tmp_path: Path, attributes: dict[str, Any]) -> None:
    """Spans whose meaning is not known are refused rather than read as if they held nothing."""
    said = "none of the 1 spans is of a generative AI call"
    with pytest.raises(UnreadableTrace, match=said):
        read(tmp_path, span(1, None, attributes))


def test_log_records_of_no_span_are_a_gap(tmp_path: Path) -> None:
    """Messages whose span is not in the source are counted, and the trace says that it lacks them."""
    record = {"eventName": "gen_ai.user.message", "traceId": "aa", "spanId": "ff"}
    log = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    (tmp_path / "x").write_text(json.dumps({**request(span(1, "chat", {})), **log}), "utf-8")
    report = ReadReport()
    (trace,) = load_traces(tmp_path / "x", report=report)
    assert trace.gaps == ("1 messages stand in log records of no span in the source",)
    assert report.skipped["log record gen_ai.user.message: its span is not in the source"] == 1


@pytest.mark.parametrize("broken", [{"spanId": "a"}, {"traceId": "a"}, {"traceId": 5, "spanId": "a"}])
def test_a_span_without_ids_is_refused(broken: dict[str, Any]) -> None:
    """A span that can't be placed in a trace is an error with its place."""
    with pytest.raises(UnreadableTrace, match="span 0 lacks"):
        decode([("f.json:3", request(broken))])


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_attribute_values_come_back_as_they_were(attributes: dict[str, Any]) -> None:
    """Whatever was set as an attribute is decoded to the same value."""
    raw = {"traceId": "a", "spanId": "b", "attributes": pairs(attributes)}
    assert decode([("f", request(raw))]).spans[0].attributes == attributes


@pytest.mark.corpus
@pytest.mark.skipif(not OTLP.is_dir(), reason="the otlp-genai corpus is not beside this checkout")
def test_every_real_file_is_read_span_by_span() -> None:
    """Each real file of a known dialect gives a step a span and survives evalkit's own file; others are refused."""
    refused = []
    for path in sorted(OTLP.rglob("*.json")):
        report = ReadReport()
        try:
            traces = list(load_traces(path, report=report))
        except UnreadableTrace as error:
            refused.append(error.what)
            continue
        spans = decode([(str(path), json.loads(path.read_bytes()))]).spans
        steps = [step for trace in traces for step in trace.steps]
        made = [step for step in steps if "read_from" not in step.attributes]
        assert len(made) == len({(each.trace_id, each.span_id) for each in spans})
        assert report.steps.total() == len(steps)
        for trace in traces:
            calls = trace.of_kind("model", "tool")
            assert all(step.output is not None or step.error or "missing" in step.attributes for step in calls)
            assert list(read_trace_lines(iter(encode_trace(trace)), "t")) == [trace]
    assert all("none of the" in what for what in refused)
