"""Spans as OpenTelemetry's own SDKs print or hold them, without OTLP around.

JavaScript: a ``ReadableSpan`` as JSON (tests' fixtures, in-memory exporters), with its ids in ``spanContext`` and times
``[seconds, nanoseconds]``, or what ConsoleSpanExporter makes of it: ``traceId``, ``id``, ``parentId``, and
``timestamp`` and ``duration`` in microseconds. Python: ``span.to_json()``, which its ConsoleSpanExporter writes one
after the other over several lines. One span, a list, a list a name (``{"ai.generateText": [...]}``), or one a line.
Sources: https://github.com/open-telemetry/opentelemetry-js (``opentelemetry-sdk-trace-base``) and
https://github.com/open-telemetry/opentelemetry-python (``sdk/trace/__init__.py``, ``ReadableSpan.to_json``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts, is_number, text_of
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.otlp_request import PlainEvent, PlainSpan, nanoseconds, read_as_otlp
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.json_input import parse_json
from evalkit.trace.model import Trace

__all__ = ["FORMAT"]

_PRINTED = re.compile(rb'\{\s*"name":[^\n]*\n\s+"context": \{\s*"trace_id": "0x')
_ENDS = b"}"


class OtelSdkSpansFormat:
    """Spans of OpenTelemetry's SDKs."""

    name = "otel-sdk-spans"

    def detect(self, source: Source) -> bool:
        """Whether the document, the first of the lines, or what a console exporter printed first, is a span."""
        if _PRINTED.match(source.head.lstrip()):
            return True
        found = _items(first_document(source))
        return bool(found) and all(_is_span(item) for item in found)

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each trace id, in the order in which they appear.

        Raises:
            UnreadableTrace: an item is no span, or no span is of a dialect that is read.
        """
        spans = [_span(item, where) for where, document in _documents(source) for item in _items(document)]
        yield from read_as_otlp(spans, self.name, source, report)


FORMAT = OtelSdkSpansFormat()


def _documents(source: Source) -> Iterable[tuple[str, Json]]:
    if source.document() is None and _PRINTED.match(source.head.lstrip()):
        return _printed(source)
    return documents(source)


def _printed(source: Source) -> Iterator[tuple[str, Json]]:
    """The objects that were printed one after the other, each ending with a brace that starts a line."""
    held: list[bytes] = []
    start = 1
    for number, line in enumerate(source.lines(), 1):
        held.append(line)
        if line.rstrip() == _ENDS:
            yield f"{source.where}:{start}", parse_json(b"".join(held), f"{source.where}:{start}")
            held, start = [], number + 1
    if b"".join(held).strip():
        raise UnreadableTrace("the last span is cut off", f"{source.where}:{start}", "export the spans again")


def _items(document: Json) -> list[Json]:
    """The spans of a document: one, a list, or a list a name."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return []
    groups = [value for value in document.values() if isinstance(value, list)]
    if document and len(groups) == len(document) and not _is_span(document):
        return [item for group in groups for item in group]
    return [document]


def _is_span(item: Any) -> TypeGuard[dict[str, Any]]:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return False
    if not isinstance(item.get("attributes"), dict):
        return False
    trace_id, span_id = _ids(item)
    timed = isinstance(item.get("startTime"), list) or "timestamp" in item or "start_time" in item
    return bool(trace_id and span_id) and timed and "span_kind" not in item


def _ids(item: dict[str, Any]) -> tuple[str, str]:
    """The ids of the trace and the span, wherever the SDK holds them; empty where it does not."""
    context = dict_of(item.get("spanContext")) or dict_of(item.get("_spanContext"))
    printed = dict_of(item.get("context"))
    if printed:
        return _hex(printed.get("trace_id")), _hex(printed.get("span_id"))
    if context:
        return _hex(context.get("traceId")), _hex(context.get("spanId"))
    if isinstance(item.get("kind"), int) and "duration" in item:  # a console exporter's
        return _hex(item.get("traceId")), _hex(item.get("id"))
    return "", ""


def _span(item: Json, where: str) -> PlainSpan:
    if not _is_span(item):
        raise UnreadableTrace("an item is no OpenTelemetry span with its ids", where, "pass exported spans only")
    trace_id, span_id = _ids(item)
    start = nanoseconds(item.get("startTime", item.get("start_time", item.get("timestamp"))))
    end = nanoseconds(item.get("endTime", item.get("end_time")))
    lasted = item.get("duration")
    if not end and start and is_number(lasted):
        end = start + int(lasted * 1000)
    status = dict_of(item.get("status"))
    above = dict_of(item.get("parentSpanContext")).get("spanId")
    parent = _hex(above or item.get("parentSpanId") or item.get("parentId") or item.get("parent_id"))
    resource = dict_of(item.get("resource"))
    service = dict_of(resource.get("attributes", resource.get("_attributes"))).get("service.name")
    return PlainSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent,
        name=item["name"],
        start_ns=start,
        end_ns=end,
        attributes=item["attributes"],
        events=tuple(
            PlainEvent(str(event.get("name") or ""), dict_of(event.get("attributes")))
            for event in dicts(item.get("events"))
        ),
        failed=status.get("code", status.get("status_code")) in (2, "ERROR", "STATUS_CODE_ERROR"),
        message=text_of(status.get("message", status.get("description"))),
        service=text_of(service),
        links=len(dicts(item.get("links"))),
    )


def _hex(value: Any) -> str:
    return value.removeprefix("0x") if isinstance(value, str) else ""
