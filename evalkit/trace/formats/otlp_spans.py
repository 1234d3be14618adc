"""OTLP JSON decoded into spans: no dialect's meaning yet, only the protocol's own forms.

Source: https://opentelemetry.io/docs/specs/otlp/ (JSON Protobuf encoding: 64-bit integers are decimal strings, ids are
hex text) and ``opentelemetry/proto/trace/v1/trace.proto``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dicts, is_whole
from evalkit.trace.formats.attributes import Attributes
from evalkit.trace.formats.seen import SeenTexts
from evalkit.trace.model import StepError

__all__ = ["Batch", "Span", "SpanEvent", "decode", "error_of", "is_otlp"]

_SIGNALS = ("resourceSpans", "resourceLogs", "resourceMetrics")
_STATUS_ERROR = (2, "STATUS_CODE_ERROR")


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event of a span, or a log record that names one.

    Attributes:
        body: a log record's body.
        span_id: the span that a log record belongs to; empty where it names none, and for a span's own events.
    """

    name: str
    attributes: dict[str, Json]
    body: Json = None
    trace_id: str = ""
    span_id: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """One span.

    Attributes:
        parent_id: empty for a root.
        start_ns, end_ns: nanoseconds since 1970 UTC; 0 where unknown.
        failed: whether the status is ERROR.
        status_message: the status' text.
        service: ``service.name`` of the resource.
        seen: what the trace's other spans held, while its steps are made.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Json]
    events: tuple[SpanEvent, ...]
    failed: bool
    status_message: str
    service: str
    links: int = 0
    seen: SeenTexts | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Batch:
    """What one source holds: its spans in order, its log records, and how many metrics."""

    spans: list[Span] = field(default_factory=list)
    logs: list[SpanEvent] = field(default_factory=list)
    metrics: int = 0

    def is_empty(self) -> bool:
        """Whether it holds nothing at all."""
        return not self.spans and not self.logs and not self.metrics


def is_otlp(document: Json) -> bool:
    """Whether a value is an OTLP export request, or a list that starts with one."""
    if isinstance(document, list):
        return bool(document) and is_otlp(document[0]) and isinstance(document[0], dict)
    return isinstance(document, dict) and any(isinstance(document.get(key), list) for key in _SIGNALS)


def decode(documents: Iterable[tuple[str, Json]], spans_before: int = 0) -> Batch:
    """All spans and log records of some export requests.

    Args:
        documents: each request, or list of requests, with its place for messages.
        spans_before: how many spans of the source were decoded before; messages count them.

    Raises:
        UnreadableTrace: a request or a span breaks the protocol's form.
    """
    batch = Batch()
    for where, document in documents:
        for request in document if isinstance(document, list) else [document]:
            if not isinstance(request, dict) or not is_otlp(request):
                raise UnreadableTrace("no OTLP export request: it lacks resourceSpans", where, "pass OTLP JSON only")
            _decode_request(request, where, batch, spans_before)
    return batch


def error_of(span: Span, taken: Attributes) -> StepError | None:
    """The error that failed the span: its exception event says most, then ``error.type``, then the status."""
    code = taken.text("error.type")
    if not span.failed and not code:
        return None
    raised = next((event.attributes for event in span.events if event.name == "exception"), {})
    module, _, kind = str(raised.get("exception.type") or code or "Error").rpartition(".")
    stack = raised.get("exception.stacktrace")
    return StepError(
        type=kind,
        message=str(raised.get("exception.message") or span.status_message or taken.text("error.message")),
        module=module or None,
        stack=stack if isinstance(stack, str) else None,
    )


def _decode_request(request: dict[str, Any], where: str, batch: Batch, before: int) -> None:
    for resource in dicts(request.get("resourceSpans")):
        service = _service(resource)
        for scope in dicts(resource.get("scopeSpans")):
            for raw in dicts(scope.get("spans")):
                batch.spans.append(_span(raw, service, where, before + len(batch.spans)))
    for resource in dicts(request.get("resourceLogs")):
        for scope in dicts(resource.get("scopeLogs")):
            batch.logs += [_log(raw) for raw in dicts(scope.get("logRecords"))]
    batch.metrics += len(dicts(request.get("resourceMetrics")))


def _span(raw: dict[str, Any], service: str, where: str, position: int) -> Span:
    for key in ("traceId", "spanId"):
        if not isinstance(raw.get(key), str) or not raw[key]:
            raise UnreadableTrace(f"span {position} lacks {key}", where, "export it as OTLP JSON (ids as hex text)")
    status = next(iter(dicts([raw.get("status")])), {})
    return Span(
        trace_id=raw["traceId"],
        span_id=raw["spanId"],
        parent_id=_text(raw.get("parentSpanId")),
        name=_text(raw.get("name")),
        start_ns=_int(raw.get("startTimeUnixNano")),
        end_ns=_int(raw.get("endTimeUnixNano")),
        attributes=_attributes(raw.get("attributes")),
        events=tuple(_event(event) for event in dicts(raw.get("events"))),
        failed=status.get("code") in _STATUS_ERROR,
        status_message=_text(status.get("message")),
        service=service,
        links=len(dicts(raw.get("links"))),
    )


def _service(resource: dict[str, Any]) -> str:
    described = resource.get("resource")
    found = _attributes(described.get("attributes")) if isinstance(described, dict) else {}
    return _text(found.get("service.name"))


def _event(raw: dict[str, Any]) -> SpanEvent:
    return SpanEvent(_text(raw.get("name")), _attributes(raw.get("attributes")))


def _log(raw: dict[str, Any]) -> SpanEvent:
    attributes = _attributes(raw.get("attributes"))
    return SpanEvent(
        name=_text(raw.get("eventName")) or _text(attributes.get("event.name")),
        attributes=attributes,
        body=_value(raw.get("body")),
        trace_id=_text(raw.get("traceId")),
        span_id=_text(raw.get("spanId")),
    )


def _attributes(pairs: Any) -> dict[str, Json]:
    return {_text(pair.get("key")): _value(pair.get("value")) for pair in dicts(pairs)}


def _value(raw: Any) -> Json:
    """An AnyValue; bytes stay base64 text, and a double that JSON can't hold stays its name (``NaN``)."""
    if not isinstance(raw, dict):
        return None
    for kind, value in raw.items():
        if kind == "intValue":
            return _int(value) if isinstance(value, str | int) else None
        if kind == "arrayValue":
            return [_value(item) for item in _values(value)]
        if kind == "kvlistValue":
            return _attributes(list(_values(value)))
        if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
            return value  # type: ignore[no-any-return]  # a JSON value from a parsed document
    return None


def _values(raw: Any) -> Iterator[dict[str, Any]]:
    return iter(dicts(raw.get("values")) if isinstance(raw, dict) else [])


def _int(raw: Any) -> int:
    if isinstance(raw, str) and len(raw) <= 20 and raw.lstrip("-").isascii() and raw.lstrip("-").isdigit():
        return int(raw)
    return raw if is_whole(raw) else 0


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else ""
