"""Phoenix's API pages, downloads and data frames as traces."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces
from tests.trace.otlp_builders import pairs

CALL = {"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
LABEL = "SECRET-LABEL"
LLM: dict[str, Any] = {
    "llm.model_name": "m-1",
    "llm.invocation_parameters": '{"temperature": 0.5}',
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "Weather in Oslo?",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Oslo"}',
    "llm.tools.0.tool.json_schema": '{"type": "function", "function": {"name": "weather"}}',
    "llm.token_count.prompt": 12,
    "llm.token_count.completion": 3,
    "llm.token_count.prompt_details.cache_read": 4,
}
TOOL = {"tool.name": "weather", "input.value": '{"city": "Oslo"}', "output.value": '{"degrees": 4}'}
CELLS: dict[str, dict[str, Any]] = {
    "LLM": {
        "llm.model_name": "m-1",
        "llm.invocation_parameters": '{"temperature": 0.5}',
        "llm.input_messages": [{"message.role": "user", "message.content": "Weather in Oslo?"}],
        "llm.output_messages": [
            {
                "message.role": "assistant",
                "message.tool_calls": [
                    {
                        "tool_call.id": "c1",
                        "tool_call.function.name": "weather",
                        "tool_call.function.arguments": '{"city": "Oslo"}',
                    }
                ],
            }
        ],
        "llm.tools": [{"tool.json_schema": LLM["llm.tools.0.tool.json_schema"]}],
        "llm.token_count.prompt": 12,
        "llm.token_count.completion": 3,
        "llm.token_count.prompt_details.cache_read": 4,
    },
    "TOOL": TOOL,
    "AGENT": {"input.value": "Weather in Oslo?"},
}
"""The attributes of spans as a data frame has them: lists and objects in cells, the rest flat."""


def span(kind: str, number: int, parent: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A span as the API gives it."""
    return {
        "id": f"U3Bhbjo{number}",
        "name": f"n{number}",
        "context": {"trace_id": "t1", "span_id": f"s{number}"},
        "span_kind": kind,
        "parent_id": f"s{parent}" if parent else None,
        "start_time": f"2025-01-01T00:00:0{number}+00:00",
        "end_time": f"2025-01-01T00:00:0{number}.500000+00:00",
        "status_code": "OK",
        "status_message": "",
        "attributes": attributes,
        "events": [],
        **more,
    }


SPANS = [
    span("TOOL", 3, 1, TOOL),  # the API gives the newest first
    span("LLM", 2, 1, LLM),
    span("AGENT", 1, 0, {"input.value": "Weather in Oslo?"}),
]


def otlp_span(raw: dict[str, Any]) -> dict[str, Any]:
    """The same span in the API's OTLP, which has the names of the protocol's own files."""
    names = {"stringValue": "string_value", "intValue": "int_value"}
    attributes = {"openinference.span.kind": raw["span_kind"], **raw["attributes"]}
    return {
        "trace_id": "t1",
        "span_id": raw["context"]["span_id"],
        "parent_span_id": raw["parent_id"],
        "name": raw["name"],
        "start_time_unix_nano": 1735689600 * 10**9 + int(raw["name"][1:]) * 10**9,
        "end_time_unix_nano": str(1735689600 * 10**9 + int(raw["name"][1:]) * 10**9 + 5 * 10**8),
        "attributes": [
            {"key": pair["key"], "value": {names[kind]: value for kind, value in pair["value"].items()}}
            for pair in pairs(attributes)
        ],
        "status": {"code": 1},
    }


def frame() -> pd.DataFrame:
    """What ``px.Client().get_spans_dataframe()`` gives."""
    rows = []
    for raw in SPANS:
        row = {key: value for key, value in raw.items() if key not in ("id", "context", "attributes")}
        row |= {f"context.{key}": value for key, value in raw["context"].items()}
        row |= {key: pd.Timestamp(raw[key]) for key in ("start_time", "end_time")}
        rows.append(row | {f"attributes.{key}": value for key, value in CELLS[raw["span_kind"]].items()})
    return pd.DataFrame(rows).set_index("context.span_id", drop=False)


def as_json(**options: Any) -> bytes:
    """The frame as JSON; numbers for times are going out of use, but files have them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(frame().to_json(**options)).encode()


def parquet() -> bytes:
    """The frame as Parquet."""
    held = io.BytesIO()
    frame().to_parquet(held)
    return held.getvalue()


FORMS: dict[str, bytes] = {
    "page": json.dumps({"data": SPANS, "next_cursor": None}).encode(),
    "list": json.dumps(SPANS, indent=1).encode(),
    "lines": "\n".join(map(json.dumps, SPANS)).encode(),
    "otlp page": json.dumps({"data": [*map(otlp_span, SPANS)], "next_cursor": None}).encode(),
    "otlp file": json.dumps({"resource_spans": [{"scope_spans": [{"spans": [*map(otlp_span, SPANS)]}]}]}).encode(),
    "records": as_json(orient="records", date_format="epoch"),
    "iso records": as_json(orient="records", date_format="iso"),
    "record lines": as_json(orient="records", lines=True, date_format="epoch"),
    "columns": as_json(date_format="epoch"),
    "csv": frame().to_csv().encode(),
    "parquet": parquet(),
}


def read(folder: Path, data: bytes, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a file, through the front door."""
    (folder / "file").write_bytes(data)
    return list(load_traces(folder / "file", report=report))


@pytest.mark.parametrize("form", FORMS)
def test_every_way_out_of_phoenix_gives_the_same_trace(tmp_path: Path, form: str) -> None:
    """A page, a download and each file of a data frame hold one run: the same steps come out."""
    (trace,) = read(tmp_path, FORMS[form])
    assert (trace.id, trace.dialect) == ("t1", "phoenix")
    agent, model, tool = trace.steps
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("agent", "n1", None),
        ("model", "chat", 0),
        ("tool", "weather", 0),
    ]
    assert agent.input == "Weather in Oslo?"
    assert model.input == {
        "messages": [{"role": "user", "content": "Weather in Oslo?"}],
        "tools": [{"name": "weather"}],
        "params": {"temperature": 0.5},
    }
    assert model.output == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert (model.model, model.usage) == ("m-1", Usage(input_tokens=12, output_tokens=3, cached_tokens=4))
    assert (tool.input, tool.output) == ({"city": "Oslo"}, {"degrees": 4})
    assert [(step.started_at, step.ended_at) for step in trace.steps] == [
        (1735689600.0 + at, 1735689600.5 + at) for at in (1, 2, 3)
    ]
    assert not any("missing" in step.attributes for step in trace.steps)


def test_a_large_file_is_read_like_a_small_one(tmp_path: Path) -> None:
    """What is read part by part in OTLP is not looked for in another envelope."""
    large = span("TOOL", 1, 0, {**TOOL, "output.value": "x" * 9_000_000})
    for data in (json.dumps([large]), json.dumps(large) + "\n" + json.dumps(span("TOOL", 2, 1, TOOL))):
        (trace,) = read(tmp_path, data.encode())
        assert (trace.steps[0].name, len(str(trace.steps[0].output))) == ("weather", 9_000_000)


def test_annotations_are_labels_and_stay_out(tmp_path: Path) -> None:
    """A download may put annotations among the attributes: each is counted, none is read."""
    labels = {
        "annotations.0.annotation.name": LABEL,
        "annotations.0.annotation.score": 0.25,
        "annotations.1.annotation.label": LABEL,
        "trace.annotations.0.annotation.explanation": LABEL,
    }
    report = ReadReport()
    (trace,) = read(tmp_path, json.dumps([span("LLM", 1, 0, {**LLM, **labels})]).encode(), report)
    assert LABEL not in repr(trace)
    assert not any("annotation" in name for name in trace.steps[0].attributes)
    assert report.skipped == {"annotation: a label, not part of the run": 3}


def test_a_failed_span_has_its_exception(tmp_path: Path) -> None:
    """The status says that it failed, the exception's event with what."""
    event = {"name": "exception", "timestamp": "2025-01-01T00:00:00Z", "attributes": {"exception.type": "a.Bad"}}
    event["attributes"] |= {"exception.message": "m"}  # type: ignore[operator]  # an object
    failed = span("TOOL", 1, 0, TOOL, status_code="ERROR", status_message="Bad: m", events=[event])
    (trace,) = read(tmp_path, json.dumps([failed]).encode())
    assert trace.steps[0].error == StepError("Bad", "m", "a")


def test_a_span_of_another_convention_is_read_by_its_own(tmp_path: Path) -> None:
    """Phoenix keeps spans that are not OpenInference, of kind UNKNOWN."""
    held = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
    (trace,) = read(tmp_path, json.dumps([span("UNKNOWN", 1, 0, held)]).encode())
    assert (trace.steps[0].kind, trace.steps[0].name) == ("tool", "weather")


@pytest.mark.parametrize("data", [b'{"data": [{}, 1]}', FORMS["parquet"][:-20], b"name,span_kind,context.span_id\n"])
def test_what_is_no_export_is_claimed_by_no_format(tmp_path: Path, data: bytes) -> None:
    """A damaged table or a page of something else is refused, not read as empty."""
    with pytest.raises(UnreadableTrace, match="no format reads it"):
        read(tmp_path, data)


def test_a_broken_span_is_refused_with_its_line(tmp_path: Path) -> None:
    """A span without ids is an error, not a gap."""
    lines = [json.dumps(SPANS[0]), json.dumps({**SPANS[1], "context": {}})]
    with pytest.raises(UnreadableTrace, match="no Phoenix span") as caught:
        read(tmp_path, "\n".join(lines).encode())
    assert caught.value.where.endswith(":2")


@pytest.mark.parametrize(
    "cell", ["[" * 5000 + "]" * 5000, "[1, 2", "{'a': __import__('os')}", "[datetime(1)]", "[1+1j]"]
)
def test_a_cell_that_is_no_value_stays_text(tmp_path: Path, cell: str) -> None:
    """Nothing in a CSV file is run, however it looks."""
    table = frame()
    table["attributes.custom"] = cell
    (trace,) = read(tmp_path, table.to_csv().encode())
    assert {str(step.attributes["custom"]) for step in trace.steps} <= {cell, "['(1+1j)']"}


def test_a_large_download_is_read_as_a_small_one(tmp_path: Path) -> None:
    """What stands in the file has one meaning, however much it is: 9 MB of spans too."""
    long = span("TOOL", 4, 1, {**TOOL, "note": "x" * 9_000_000})
    (trace,) = read(tmp_path, json.dumps({"data": [*SPANS, long]}).encode())
    assert [step.name for step in trace.steps] == ["n1", "chat", "weather", "weather"]
