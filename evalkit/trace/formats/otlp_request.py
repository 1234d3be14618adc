"""Spans in another envelope than OTLP's, written as an OTLP request and read as one.

A span means the same whoever carried it: a console exporter, a test's fixture, a product's download. A reader of such
an envelope gives the spans as `PlainSpan`; dialects, order, gaps and joining are those of `otlp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import is_number
from evalkit.trace.formats.otlp import traces_of
from evalkit.trace.formats.otlp_spans import decode
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import Trace
from evalkit.wire.body import dump_json

__all__ = ["PlainEvent", "PlainSpan", "nanoseconds", "read_as_otlp"]

_MAX_LEVELS = 30
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))


@dataclass(frozen=True, slots=True)
class PlainEvent:
    """An event of a span."""

    name: str
    attributes: dict[str, Json]


@dataclass(frozen=True, slots=True)
class PlainSpan:
    """A span as its envelope has it.

    Attributes:
        parent_id: empty for a root.
        start_ns, end_ns: nanoseconds since 1970 UTC; 0 where unknown.
        failed: whether its status is an error.
        message: the status' text.
        service: the name of the service; empty where unknown.
        links: how many links it has.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Json]
    events: tuple[PlainEvent, ...] = field(default=())
    failed: bool = False
    message: str = ""
    service: str = ""
    links: int = 0


def read_as_otlp(spans: Iterable[PlainSpan], dialect: str, source: Source, report: ReadReport) -> Iterator[Trace]:
    """The traces of some spans, as `otlp` reads them, under the name of their own format.

    Raises:
        UnreadableTrace: no span is of a dialect that is read.
    """
    batches = (
        decode([(source.where, {"resourceSpans": [_resource(span)]})], number) for number, span in enumerate(spans)
    )
    for trace in traces_of(batches, source.where, report):
        yield replace(trace, dialect=dialect)


def nanoseconds(value: Any) -> int:
    """Nanoseconds since 1970 UTC; 0 for what is no time.

    Args:
        value: OpenTelemetry JS's ``[seconds, nanoseconds]``, ISO 8601 text (without a zone it is UTC), a datetime, or
            a number of seconds, milliseconds, microseconds or nanoseconds, told apart by its size.
    """
    if isinstance(value, list) and len(value) == 2 and all(is_number(part) for part in value):
        return int(value[0]) * 10**9 + int(value[1])
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return 0
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        lasted = moment - _EPOCH
        return (lasted.days * 86400 + lasted.seconds) * 10**9 + lasted.microseconds * 1000
    if not is_number(value) or not 0 < value < 2**63:
        return 0
    unit = next((unit for limit, unit in _UNITS if value < limit), 1)
    return int(value) * unit if isinstance(value, int) else int(value * unit)


def _resource(span: PlainSpan) -> Json:
    events: list[Json] = [{"name": event.name, "attributes": _pairs(event.attributes)} for event in span.events]
    links: list[Json] = [{} for _ in range(span.links)]
    raw: Json = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _pairs(span.attributes),
        "events": events,
        "links": links,
        "status": {"code": 2 if span.failed else 0, "message": span.message},
    }
    named: Json = {"attributes": _pairs({"service.name": span.service} if span.service else {})}
    return {"resource": named, "scopeSpans": [{"spans": [raw]}]}


def _pairs(attributes: dict[str, Json], levels: int = _MAX_LEVELS) -> list[Json]:
    return [{"key": key, "value": _value(value, levels)} for key, value in attributes.items()]


def _value(value: Json, levels: int) -> Json:
    """An AnyValue; what lies deeper than an attribute should is JSON text."""
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": value}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if not levels:
        return {"stringValue": dump_json(value).decode()}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _pairs(value, levels - 1)}}
    return {"arrayValue": {"values": [_value(item, levels - 1) for item in value]}}
