"""Elements of kinds that no reader knows: kept as `other` steps, and counted by their kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

AT = "2025-01-01T00:00:00Z"


def read(path: Path) -> tuple[Trace, ReadReport]:
    """The one trace of a file, and the report."""
    report = ReadReport()
    (trace,) = load_traces(path, report=report)
    return trace, report


def span(span_id: str, **attributes: str) -> dict[str, Any]:
    """A span of the OTLP example's trace."""
    listed = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    return {"traceId": "t", "spanId": span_id, "name": span_id, "startTimeUnixNano": "3", "attributes": listed}


def test_otlp(tmp_path: Path) -> None:
    """A span of no convention, and those whose convention names a kind that is not known."""
    spans = [
        span("e", gen_ai__operation__name="invoke_agent"),
        span("a", http__method="GET"),
        span("b", openinference__span__kind="DREAM"),
        span("c", openinference__span__kind="CHAIN"),
        span("d", gen_ai__operation__name="ponder"),
    ]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    (tmp_path / "x").write_text(json.dumps(document), "utf-8")
    trace, report = read(tmp_path / "x")
    assert report.unknown == {
        "span of no generative AI convention": 1,
        "openinference.span.kind DREAM": 1,
        "gen_ai.operation.name ponder": 1,
    }
    assert [step.kind for step in trace.steps].count("other") == 4


@pytest.mark.parametrize(
    ("document", "unknown"),
    [
        (
            [
                {"id": "r", "name": "r", "run_type": "chain", "start_time": AT, "end_time": AT, "trace_id": "r",
                 "dotted_order": "1"},
                {"id": "s", "name": "s", "run_type": "dream", "start_time": AT, "end_time": AT, "trace_id": "r",
                 "parent_run_id": "r", "dotted_order": "1.2"},
            ],
            {"run type dream": 1},
        ),
        (
            [
                {"object": "trace", "id": "t", "workflow_name": "w"},
                {"object": "trace.span", "id": "s", "trace_id": "t", "span_data": {"type": "dream"}},
                {"object": "trace.span", "id": "u", "trace_id": "t", "span_data": {"type": "custom", "name": "n"}},
            ],
            {"span dream": 1},
        ),
        (
            {"trace": {"id": "t"}, "observations": [{"id": "o", "type": "DREAM"}, {"id": "p", "type": "SPAN"}]},
            {"observation type DREAM": 1},
        ),
        (
            {"trace_id": "t", "spans": [{"span_id": "s", "span_name": "n", "span_attributes": {}, "child_spans": []}]},
            {"span of no generative AI convention": 1},
        ),
    ],
    ids=["langsmith", "openai-agents", "langfuse", "trail"],
)  # fmt: skip
def test_products(tmp_path: Path, document: Any, unknown: dict[str, int]) -> None:
    """Known kinds that are no call are not counted; the others are, and are steps all the same."""
    (tmp_path / "x").write_text(json.dumps(document), "utf-8")
    trace, report = read(tmp_path / "x")
    assert report.unknown == unknown
    assert any(step.kind == "other" for step in trace.steps)


def test_stepfork(tmp_path: Path) -> None:
    """An event of a later schema."""
    manifest = {"format": "stepfork", "run_id": "r", "agent_name": "a", "status": "completed"}
    events = [{"id": "0", "type": "run_start", "timestamp": AT}, {"id": "1", "type": "dream", "parent_id": "0"}]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events), "utf-8")
    trace, report = read(tmp_path)
    assert report.unknown == {"event dream": 1}
    assert [step.name for step in trace.steps] == ["dream"]
