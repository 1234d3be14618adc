"""OTLP requests out of plain attributes, for the tests of what spans mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

__all__ = ["any_value", "pairs", "read_spans", "span", "step_of"]


def span(
    name: str,
    attributes: dict[str, Any],
    *,
    number: int = 1,
    parent: int = 0,
    events: list[tuple[str, dict[str, Any]]] | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """An OTLP span that starts `number` seconds after 1970 and lasts half a second."""
    return {
        "traceId": "t",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(number * 10**9),
        "endTimeUnixNano": str(number * 10**9 + 5 * 10**8),
        "attributes": pairs(attributes),
        "events": [{"name": event, "attributes": pairs(fields)} for event, fields in events or []],
        "status": {} if error is None else {"code": 2, "message": error},
    }


def read_spans(folder: Path, *spans: dict[str, Any], report: ReadReport | None = None) -> Trace:
    """The one trace of some OTLP spans, through the front door."""
    path = folder / "spans.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}]}]}), "utf-8")
    (trace,) = load_traces(path, report=report)
    return trace


def step_of(folder: Path, name: str, attributes: dict[str, Any], **more: Any) -> Any:
    """The one step of one span."""
    (step,) = read_spans(folder, span(name, attributes, **more)).steps
    return step


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes in OTLP's own form."""
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def any_value(value: Any) -> dict[str, Any]:
    """A value in OTLP's own form; null has none."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    kind = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}.get(type(value))
    return {} if kind is None else {kind: str(value) if kind == "intValue" else value}
