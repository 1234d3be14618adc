"""The OpenAI Agents SDK's own export as traces."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.evidence import evidence
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces

AGENTS = Path(__file__).parents[3] / "shared" / "corpora" / "openai-agents-sdk"
HEADER = {"object": "trace", "id": "t", "workflow_name": "shop", "group_id": "g", "metadata": None}


def span(number: int, parent: int, **data: Any) -> dict[str, Any]:
    """A span that starts at second `number` and lasts one."""
    error = data.pop("error", None)
    return {
        "object": "trace.span",
        "id": f"s{number}",
        "trace_id": "t",
        "parent_id": f"s{parent}" if parent else None,
        "started_at": f"2025-01-01T00:00:{number:02}+00:00",
        "ended_at": f"2025-01-01T00:00:{number + 1:02}+00:00",
        "span_data": data,
        "error": error,
    }


def read(tmp_path: Path, *items: Any, report: ReadReport | None = None) -> list[Trace]:
    """The traces of some items, one a line."""
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return list(load_traces(path, report=report))


def test_spans_become_steps_by_their_type(tmp_path: Path) -> None:
    """Agents, calls, tools, guardrails, handoffs and custom spans, ordered by start, in whatever order they ended."""
    usage = {"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}
    (trace,) = read(
        tmp_path,
        HEADER,
        span(3, 1, type="function", name="get_weather", input='{"city": "Oslo"}', output='{"t": 3}'),
        span(2, 1, type="response", response_id="resp_1", usage=usage),
        span(4, 1, type="guardrail", name="polite", triggered=True),
        span(5, 1, type="handoff", from_agent="a", to_agent="b"),
        span(6, 1, type="custom", name="turn", data={"x": 1}),
        span(1, 0, type="agent", name="forecaster", tools=["get_weather"]),
    )
    agent, model, tool, guardrail, handoff, custom = trace.steps
    assert [step.kind for step in trace.steps] == ["agent", "model", "tool", "policy", "other", "other"]
    assert [step.parent for step in trace.steps] == [None, 0, 0, 0, 0, 0]
    assert (agent.name, agent.attributes["tools"]) == ("forecaster", ["get_weather"])
    assert model.usage == Usage(7, 2, 1)
    assert (tool.input, tool.output, tool.effect) == ({"city": "Oslo"}, {"t": 3}, "read")
    assert (guardrail.name, guardrail.output) == ("polite", {"triggered": True})
    assert handoff.input == {"from_agent": "a", "to_agent": "b"}
    assert (custom.name, custom.attributes["data"]) == ("turn", {"x": 1})
    assert (trace.name, trace.attributes) == ("shop", {"group_id": "g"})


def test_a_response_that_is_only_an_id_is_said(tmp_path: Path) -> None:
    """The gap tells people why the messages are missing, and the score falls."""
    (trace,) = read(tmp_path, HEADER, span(1, 0, type="response", response_id="resp_1"))
    assert trace.gaps == ("model steps hold only a response id: messages can't be rebuilt",)
    assert trace.steps[0].attributes["missing"] == ["input", "output"]
    assert evidence(trace).score < 0.8


def test_a_generation_holds_its_messages(tmp_path: Path) -> None:
    """Chat completions are recorded whole: messages, answer, model, settings, usage."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    generation = span(
        1,
        0,
        type="generation",
        input=[{"role": "user", "content": "Hi"}],
        output=[{"role": "assistant", "content": None, "tool_calls": [call]}],
        model="m-1",
        model_config={"temperature": 0.5, "top_p": None},
        usage={"input_tokens": 3, "output_tokens": 1},
    )
    (trace,) = read(tmp_path, HEADER, generation)
    (model,) = trace.steps
    assert model.input == {"messages": [{"role": "user", "content": "Hi"}], "tools": [], "params": {"temperature": 0.5}}
    assert model.output == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}],
    }
    assert (model.model, model.usage, trace.gaps) == ("m-1", Usage(3, 1), ())


def test_a_failed_tool_keeps_what_the_model_was_told(tmp_path: Path) -> None:
    """The error is the step's; the text that the SDK answered with stays beside it."""
    error = {"message": "Error running tool", "data": {"tool_name": "f", "error": "no such order"}}
    (trace,) = read(tmp_path, HEADER, span(1, 0, type="function", name="f", input="{}", output="Sorry", error=error))
    (tool,) = trace.steps
    assert tool.error == StepError("Error", "Error running tool: no such order")
    assert (tool.output, tool.attributes["answered"]) == (None, "Sorry")


def test_items_of_several_traces_may_be_mixed(tmp_path: Path) -> None:
    """Spans go to the trace that they name; one without a header is read and said."""
    report = ReadReport()
    stray = {**span(2, 0, type="agent", name="x"), "trace_id": "u"}
    first, second = read(
        tmp_path, HEADER, stray, span(1, 0, type="agent", name="y"), span(1, 0, type="agent", name="z"), report=report
    )
    assert [(trace.id, trace.steps[0].name) for trace in (first, second)] == [("t", "z"), ("u", "x")]
    assert "the trace's header is missing" in second.gaps
    assert report.skipped["span: sent twice, the last one is kept"] == 1


def test_an_ingest_request_is_read(tmp_path: Path) -> None:
    """What the SDK posts is one document with the items in `data`."""
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"data": [HEADER, span(1, 0, type="agent", name="a")]}, indent=1), "utf-8")
    assert [trace.id for trace in load_traces(path)] == ["t"]


def test_an_alien_line_is_refused(tmp_path: Path) -> None:
    """Its place is named."""
    with pytest.raises(UnreadableTrace) as caught:
        read(tmp_path, HEADER, {"x": 1})
    assert caught.value.where.endswith("traces.jsonl:2")


@pytest.mark.corpus
@pytest.mark.skipif(not AGENTS.is_dir(), reason="the shared corpora are not beside this checkout")
def test_real_exports_lose_no_span() -> None:
    """Each span of each file is one step; all real model steps hold only an id, which each trace says."""
    for path in sorted(AGENTS.rglob("*.jsonl")):
        items = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        ids = sorted(item["id"] for item in items if item["object"] == "trace.span")
        traces = list(load_traces(path))
        assert sorted(step.attributes["span_id"] for trace in traces for step in trace.steps) == ids
        assert all(any("only a response id" in gap for gap in trace.gaps) for trace in traces)


def test_a_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    """Traces whose spans are spread over all of a file come out whole, one at a time, and the file is not held."""
    traces, rounds = 40, 15
    path = tmp_path / "traces.jsonl"
    with path.open("w") as file:
        for number in range(1, rounds + 1):
            for trace in range(traces):
                item = span(number, 0, type="function", name=f"f{trace}", input="{}", output="x" * 100_000)
                file.write(json.dumps({**item, "trace_id": f"t{trace}"}) + "\n")
    assert path.stat().st_size > 60e6
    tracemalloc.start()
    try:
        for at, found in enumerate(load_traces(path)):
            assert [step.name for step in found.steps] == [f"f{at}"] * rounds
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert at == traces - 1
    assert peak < 50 * 1024**2
