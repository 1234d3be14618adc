"""Langfuse exports as traces."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.evidence import evidence
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces

LANGFUSE = Path(__file__).parents[3] / "shared" / "corpora" / "langfuse"
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
}
BENCH = Path(__file__).parents[2] / "ci" / "bench" / "langfuse_chatml.py"
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]


def observation(number: int, kind: str, parent: int = 0, **more: Any) -> dict[str, Any]:
    """An observation that starts at second `number` and lasts one."""
    return {
        "id": f"o{number}",
        "traceId": "t",
        "type": kind,
        "name": f"name {number}",
        "parentObservationId": f"o{parent}" if parent else None,
        "startTime": f"2025-01-01T00:00:{number:02}Z",
        "endTime": f"2025-01-01T00:00:{number + 1:02}Z",
        "level": "DEFAULT",
        **more,
    }


def export(*observations: dict[str, Any], **header: Any) -> dict[str, Any]:
    """An export of one trace."""
    return {
        "trace": {"id": "t", "name": "shop", "timestamp": "2025-01-01T00:00:00Z", **header},
        "observations": list(observations),
    }


def read(tmp_path: Path, document: Any, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a document."""
    path = tmp_path / "export.json"
    path.write_text(json.dumps(document), "utf-8")
    return list(load_traces(path, report=report))


def one(tmp_path: Path, *observations: dict[str, Any]) -> Trace:
    """The one trace of some observations."""
    (trace,) = read(tmp_path, export(*observations))
    return trace


def test_observations_become_steps_by_their_type(tmp_path: Path) -> None:
    """Agent, model, tool, retrieval, policy and other steps, in order of start and nested, whatever the order."""
    trace = one(
        tmp_path,
        observation(3, "TOOL", 1, name="get_weather", input={"city": "Oslo"}, output='{"t": 3}'),
        observation(
            2, "GENERATION", 1, input=ASKED, output={"role": "assistant", "content": None, "tool_calls": [CALL]}
        ),
        observation(1, "AGENT", name="forecaster"),
        observation(4, "RETRIEVER", 1, input={"query": "fjord"}, output=[{"id": "d"}]),
        observation(5, "GUARDRAIL", 1, input="x", output={"ok": True}),
        observation(6, "EVENT", 1, endTime=None),
    )
    assert [(step.kind, step.parent) for step in trace.steps] == [
        ("agent", None),
        ("model", 0),
        ("tool", 0),
        ("retrieval", 0),
        ("policy", 0),
        ("other", 0),
    ]
    _, model, tool, retrieval, _, event = trace.steps
    assert model.input == {"messages": ASKED, "tools": [], "params": {}}
    assert model.output == CALLED
    assert (tool.input, tool.output, tool.effect) == ({"city": "Oslo"}, {"t": 3}, "read")
    assert (retrieval.input, retrieval.output) == ({"query": "fjord"}, [{"id": "d"}])
    assert event.ended_at == event.started_at
    assert (trace.id, trace.name, trace.status) == ("t", "shop", "completed")


def test_values_encoded_twice_are_decoded(tmp_path: Path) -> None:
    """Input, output, metadata and its attributes may be JSON text, or JSON text in JSON text."""
    attributes = {"gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "c1"}
    trace = one(
        tmp_path,
        observation(1, "GENERATION", input=json.dumps(json.dumps({"messages": ASKED})), output='"Cold."'),
        observation(
            2,
            "SPAN",
            input=json.dumps({"city": "Oslo"}),
            output=json.dumps("3 degrees"),
            metadata=json.dumps({"attributes": json.dumps(attributes)}),
        ),
    )
    model, tool = trace.steps
    assert model.input == {"messages": ASKED, "tools": [], "params": {}}
    assert model.output == {"role": "assistant", "content": "Cold."}
    assert (tool.kind, tool.name, tool.input, tool.output) == ("tool", "get_weather", {"city": "Oslo"}, "3 degrees")
    assert tool.attributes["tool_call_id"] == "c1"


PARTS = [{"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]}]
PART_CALL = {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}
GOOGLE_CALL = {"function_call": {"id": "c1", "name": "get_weather", "args": {"city": "Oslo"}}}
LANGCHAIN_CALL = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "AIMessage"],
    "kwargs": {"content": None, "tool_calls": [{"id": "c1", "name": "get_weather", "args": {"city": "Oslo"}}]},
}
RESPONSE_CALL = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        ({"messages": ASKED[1:]}, {"choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [CALL]}}]}),
        (PARTS, [{"role": "assistant", "parts": [PART_CALL]}]),
        (
            {"contents": [{"role": "user", "parts": [{"text": "Weather in Oslo?"}]}]},
            {"content": {"role": "model", "parts": [GOOGLE_CALL]}, "finish_reason": "STOP"},
        ),
        (
            [[{"type": "human", "content": "Weather in Oslo?"}]],
            {"generations": [[{"text": "", "message": LANGCHAIN_CALL}]]},
        ),
        ({"model": "m", "input": "Weather in Oslo?"}, {"output": [RESPONSE_CALL]}),
        (
            [{"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]}],
            [{"toolCallId": "c1", "toolName": "get_weather", "input": '{"city": "Oslo"}'}],
        ),
        (
            ASKED[1:],
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}}],
            },
        ),
        (
            [{**ASKED[1], "event.name": "gen_ai.user.message", "gen_ai.message.index": 0}],
            {"index": 0, "message": {"role": "assistant", "tool_calls": [CALL]}},
        ),
    ],
    ids=["chat", "parts", "google", "langchain", "responses", "ai-sdk", "anthropic", "events"],
)
def test_every_frameworks_messages_read_alike(tmp_path: Path, given: Any, answered: Any) -> None:
    """The same question and tool call have one form, whichever library's shape holds them."""
    (model,) = one(tmp_path, observation(1, "GENERATION", input=given, output=answered)).steps
    assert isinstance(model.input, dict)
    assert model.input["messages"] == ASKED[1:]
    assert model.output == CALLED


def test_usage_counts_the_named_parts_too(tmp_path: Path) -> None:
    """Langfuse's `input` is without cached tokens, which have a name of their own; the normal form has them in it."""
    details = {"input": 10, "input_cached_tokens": 5, "output": 2, "output_reasoning_tokens": 3, "total": 20}
    generation = observation(
        1,
        "GENERATION",
        model="m-1",
        modelParameters={"temperature": 0, "maxTokens": 9, "seed": ""},
        usageDetails=details,
        costDetails={"total": 0.5},
    )
    (model,) = one(tmp_path, generation).steps
    assert model.usage == Usage(15, 5, 5, 3, 0.5)
    assert isinstance(model.input, dict)
    assert (model.model, model.input["params"]) == ("m-1", {"temperature": 0, "max_tokens": 9})


def test_text_of_messages_is_split_and_said(tmp_path: Path) -> None:
    """Messages joined as lines come apart at the roles, and the gaps say that this was done."""
    trace = one(tmp_path, observation(1, "GENERATION", input="system: Be brief.\nuser: Hi\nthere", output="Hello"))
    (model,) = trace.steps
    assert isinstance(model.input, dict)
    assert model.input["messages"] == [ASKED[0], {"role": "user", "content": "Hi\nthere"}]
    assert any("one text" in gap for gap in trace.gaps)


def test_a_call_recorded_twice_is_one_model_step(tmp_path: Path) -> None:
    """Two instrumentations, one inside the other: the one with real messages stays, the other is no second call."""
    answer = {"choices": [{"message": {"role": "assistant", "tool_calls": [CALL]}}]}
    trace = one(
        tmp_path,
        observation(1, "GENERATION", input={"messages": ASKED}, output=answer),
        observation(2, "GENERATION", 1, input="system: Be brief.\nuser: Weather in Oslo?", output="None"),
    )
    outer, inner = trace.steps
    assert (outer.kind, outer.output) == ("model", CALLED)
    assert (inner.kind, inner.attributes["same_call_as"]) == ("other", "o1")


def test_a_generation_around_several_is_the_agent(tmp_path: Path) -> None:
    """A loop of calls that its library records as one generation is no model call itself."""
    inner: dict[str, Any] = {"input": ASKED, "output": "x"}
    outer = observation(1, "GENERATION", **inner)
    trace = one(tmp_path, outer, observation(2, "GENERATION", 1, **inner), observation(3, "GENERATION", 1, **inner))
    assert [step.kind for step in trace.steps] == ["agent", "model", "model"]


def test_errors_and_what_is_missing_are_kept(tmp_path: Path) -> None:
    """Level ERROR is the step's error; a step without an end or an answer says so."""
    failed = observation(1, "TOOL", name="refund", input={}, level="ERROR", statusMessage="KeyError: 'id'")
    cut = observation(2, "GENERATION", endTime=None, input=ASKED)
    tool, model = one(tmp_path, failed, cut).steps
    assert tool.error == StepError("KeyError", "'id'")
    assert model.attributes["missing"] == ["output"]
    assert model.attributes["unfinished"] is True


def test_labels_stay_out_and_are_counted(tmp_path: Path) -> None:
    """Scores and corrections never enter a trace; a repeated list of observations makes no second steps."""
    first = observation(1, "SPAN")
    document = export(first, first, scores=[{"value": 0.123}], corrections=[{"value": 0.456}], observations=[first])
    report = ReadReport()
    (trace,) = read(tmp_path, document, report)
    assert "0.123" not in repr(trace)
    assert "0.456" not in repr(trace)
    assert len(trace.steps) == 1
    assert report.skipped == {
        "scores: labels, not part of the run": 1,
        "corrections: labels, not part of the run": 1,
        "observation: its id is there already": 1,
        "observation in the trace: listed beside it, too": 1,
    }


@pytest.mark.parametrize("shape", ["api", "page", "list", "lines"])
def test_the_apis_shapes_are_read(tmp_path: Path, shape: str) -> None:
    """A trace that holds its observations, a page of these, a list of exports, and one export a line."""
    flat = {"id": "t", "timestamp": "2025-01-01T00:00:00Z", "observations": [observation(1, "SPAN")]}
    path = tmp_path / "x"
    documents = {"api": flat, "page": {"data": [flat, flat]}, "list": [export(observation(1, "SPAN"))]}
    lines = "\n".join(json.dumps(export(observation(1, "SPAN"))) for _ in range(2))
    path.write_text(lines if shape == "lines" else json.dumps(documents[shape]), "utf-8")
    traces = list(load_traces(path))
    assert [trace.id for trace in traces] == ["t"] * (2 if shape in ("page", "lines") else 1)


def test_an_observation_without_an_id_is_refused(tmp_path: Path) -> None:
    """What can't be placed is an error with its place, not a silent loss."""
    with pytest.raises(UnreadableTrace, match="observation 0 has no id"):
        read(tmp_path, export({"type": "SPAN"}))


@pytest.mark.corpus
@pytest.mark.skipif(not LANGFUSE.is_dir(), reason="the shared corpora are not beside this checkout")
def test_real_exports_lose_no_observation() -> None:
    """Each observation of every framework is one step, and each model step of a finished run has messages."""
    for path in sorted(LANGFUSE.glob("*.trace.json")):
        ids = {each["id"] for each in json.loads(path.read_text("utf-8"))["observations"]}
        for trace in load_traces(path):
            assert {step.attributes["span_id"] for step in trace.steps} == ids
            assert evidence(trace).score > 0.25


@pytest.mark.corpus
@pytest.mark.skipif(not LANGFUSE.is_dir(), reason="the shared corpora are not beside this checkout")
def test_real_messages_equal_langfuses_own() -> None:
    """The messages are those of Langfuse's own normalisation; only three kinds of sides differ, each on purpose."""
    found = runpy.run_path(str(BENCH))["main"](LANGFUSE)
    assert found["share"] > 0.9
    assert all(each["why"].endswith("all else is equal") for each in found["differ"])
