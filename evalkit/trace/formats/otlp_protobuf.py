"""OTLP in protobuf's binary form, decoded into the same spans and log records as its JSON.

A file holds one message (``TracesData``, ``LogsData`` and the export requests have the same form), messages with their
length before each in four bytes, big end first (the collector's file exporter), or messages with a varint before each
(OpenTelemetry's specification of file exporters). Which one, and which signal a message is of, is found by content.
Sources: ``opentelemetry/proto/{trace,logs,metrics}/v1`` in https://github.com/open-telemetry/opentelemetry-proto;
``exporter/fileexporter/file_writer.go`` in https://github.com/open-telemetry/opentelemetry-collector-contrib;
https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.otlp_spans import Batch, Span, SpanEvent
from evalkit.trace.formats.protobuf_frames import FRAMINGS, Frame
from evalkit.trace.formats.protocol import Source

__all__ = ["batches", "is_binary", "is_protobuf"]

_NOT_IN_JSON = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_TRACE_ID_BYTES, _SPAN_ID_BYTES = 16, 8
_STATUS_ERROR = 2
_CURE = "export it again; read are TracesData and LogsData, alone or each with its length before it"


def is_binary(head: bytes) -> bool:
    """Whether a source starts with bytes that no JSON has; every message with a span or a log record does."""
    return _NOT_IN_JSON.search(head) is not None


def is_protobuf(source: Source) -> bool:
    """Whether a source starts with an OTLP message that has spans, log records or metrics of the right form."""
    return is_binary(source.head) and _framing(source) is not None


def batches(source: Source) -> Iterator[Batch]:
    """The spans and log records of a source, message by message.

    Raises:
        UnreadableTrace: a message is cut off, damaged, or none of OTLP's.
    """
    framing = _framing(source)
    if framing is None:
        raise UnreadableTrace(
            "neither JSON nor OTLP protobuf: cut off, damaged, or another format", source.where, _CURE
        )
    before = 0
    for frame in framing(source.blocks(), source.where):
        batch = _batch(frame)
        for at, span in enumerate(batch.spans, before):
            if not _has_ids(span):
                raise UnreadableTrace(f"span {at} lacks its ids (16 and 8 bytes)", frame.where, _CURE)
        before += len(batch.spans)
        yield batch


def _framing(source: Source) -> Callable[[Iterable[bytes], str], Iterator[Frame]] | None:
    """How the messages of a source are told apart: the way in which the first that holds anything can be read."""
    for framing in FRAMINGS:
        try:
            first = next((frame for frame in framing(source.blocks(), source.where) if frame.data), None)
            if first is not None and not _batch(first).is_empty():
                return framing
        except UnreadableTrace:
            continue
    return None


def _batch(frame: Frame) -> Batch:
    """What a message holds, read as the signal whose form it has."""
    for signal in (_traces, _logs, _metrics):
        batch = signal(frame)
        if batch is not None:
            return batch
    raise UnreadableTrace("no OTLP message: damaged, or of another format", frame.where, _CURE)


def _traces(frame: Frame) -> Batch | None:
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    message = _parsed(TracesData(), frame.data)
    if message is None:
        return None
    batch = Batch()
    for resource in message.resource_spans:
        service = _service(resource)
        for scope in resource.scope_spans:
            for raw in scope.spans:
                batch.spans.append(_span(raw, service))
    return batch if all(map(_has_ids, batch.spans[:1])) else None


def _logs(frame: Frame) -> Batch | None:
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    message = _parsed(LogsData(), frame.data)
    records = [] if message is None else [raw for each in message.resource_logs for raw in _records(each)]
    ids = {(len(raw.trace_id), len(raw.span_id)) for raw in records}
    timed = all(raw.time_unix_nano or raw.observed_time_unix_nano for raw in records)
    if not records or not timed or not ids <= {(_TRACE_ID_BYTES, _SPAN_ID_BYTES), (_TRACE_ID_BYTES, 0), (0, 0)}:
        return None
    return Batch(logs=[_log(raw) for raw in records])


def _metrics(frame: Frame) -> Batch | None:
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    message = _parsed(MetricsData(), frame.data)
    found = [] if message is None else [each for scope in message.resource_metrics for each in scope.scope_metrics]
    metrics = [metric for scope in found for metric in scope.metrics]
    if message is None or not metrics or not all(each.name and each.WhichOneof("data") for each in metrics):
        return None
    return Batch(metrics=len(message.resource_metrics))


def _has_ids(span: Span) -> bool:
    return len(span.trace_id) == 2 * _TRACE_ID_BYTES and len(span.span_id) == 2 * _SPAN_ID_BYTES


def _parsed(message: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    return message


def _records(resource: Any) -> Iterator[Any]:
    return (record for scope in resource.scope_logs for record in scope.log_records)


def _service(resource: Any) -> str:
    found = _attributes(resource.resource.attributes).get("service.name")
    return found if isinstance(found, str) else ""


def _span(raw: Any, service: str) -> Span:
    return Span(
        trace_id=raw.trace_id.hex(),
        span_id=raw.span_id.hex(),
        parent_id=raw.parent_span_id.hex(),
        name=raw.name,
        start_ns=raw.start_time_unix_nano,
        end_ns=raw.end_time_unix_nano,
        attributes=_attributes(raw.attributes),
        events=tuple(SpanEvent(event.name, _attributes(event.attributes)) for event in raw.events),
        failed=raw.status.code == _STATUS_ERROR,
        status_message=raw.status.message,
        service=service,
        links=len(raw.links),
    )


def _log(raw: Any) -> SpanEvent:
    attributes = _attributes(raw.attributes)
    named = attributes.get("event.name")
    return SpanEvent(
        name=raw.event_name or (named if isinstance(named, str) else ""),
        attributes=attributes,
        body=_value(raw.body),
        trace_id=raw.trace_id.hex(),
        span_id=raw.span_id.hex(),
    )


def _attributes(pairs: Any) -> dict[str, Json]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(raw: Any) -> Json:
    """An AnyValue in the form that OTLP's JSON gives it: bytes as base64, a double that JSON lacks by its name."""
    kind = raw.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in raw.array_value.values]
    if kind == "kvlist_value":
        return _attributes(raw.kvlist_value.values)
    value = getattr(raw, kind)
    if kind == "bytes_value":
        return base64.b64encode(value).decode()
    if kind == "double_value" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value  # type: ignore[no-any-return]  # a scalar
