"""Arize Phoenix's spans: from its REST API and downloads, from data frames, and its own spelling of OTLP.

The API and the downloads give ``{"name", "context": {"trace_id", "span_id"}, "span_kind", "parent_id", "start_time",
"end_time", "status_code", "status_message", "attributes", "events"}``: a page ``{"data": [...]}``, a list, or one a
line. For data frames see `phoenix_rows`. OTLP has the names of its protocol's own files (``resource_spans``,
``trace_id``). Annotations, which a download may put among the attributes, are labels and never enter a trace.
Source: https://github.com/Arize-ai/phoenix, ``server/api/routers/v1/spans.py``, ``trace/span_json_encoder.py`` and
``js/app/src/components/trace/spanDownloadUtils.ts``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts, is_whole, text_of
from evalkit.trace.formats.attributes import json_value
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.openinference_attributes import SPAN_KIND
from evalkit.trace.formats.otlp_request import PlainEvent, PlainSpan, nanoseconds, read_as_otlp
from evalkit.trace.formats.phoenix_rows import SPAN_ID, csv_rows, is_csv, is_parquet, json_rows, parquet_rows
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import Trace

__all__ = ["FORMAT"]

_ATTRIBUTE = "attributes."
_LABELS = ("annotations.", "trace.annotations.")
_UNKNOWN = "UNKNOWN"
_MAX_LEVELS = 30


class PhoenixFormat:
    """Spans out of Phoenix."""

    name = "phoenix"

    def detect(self, source: Source) -> bool:
        """Whether it is a table with the columns of Phoenix's frame, or JSON whose first item is one of its spans."""
        if source.head.startswith(b"PAR1"):
            return is_parquet(source)
        if is_csv(source.head):
            return True
        document = first_document(source)
        return bool(json_rows(document)) or any(_is_span(item) for item in _items(document)[:1])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each trace id, in the order in which they appear.

        Raises:
            UnreadableTrace: an item is no span of Phoenix, or no span is of a dialect that is read.
        """
        spans = [_span(raw, where, report) for where, raw in _spans(source)]
        yield from read_as_otlp(spans, self.name, source, report)


FORMAT = PhoenixFormat()


def _spans(source: Source) -> Iterator[tuple[str, Json]]:
    """All spans in the form of the API, with their places."""
    if source.head.startswith(b"PAR1"):
        yield from ((source.where, _of_row(row)) for row in parquet_rows(source))
    elif is_csv(source.head):
        yield from ((f"{source.where}:{at}", _of_row(row)) for at, row in enumerate(csv_rows(source), 2))
    else:
        for where, document in documents(source):
            rows = json_rows(document)
            yield from ((where, item) for item in ([_of_row(row) for row in rows] if rows else _items(document)))


def _items(document: Json) -> list[Json]:
    """The spans of a document: one, a list, a page of the API, or an OTLP request in the protocol's own names."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return []
    if isinstance(document.get("resource_spans"), list):
        return [
            _of_otlp(span)
            for resource in dicts(document["resource_spans"])
            for scope in dicts(resource.get("scope_spans"))
            for span in dicts(scope.get("spans"))
        ]
    data = document.get("data")
    if isinstance(data, list):
        return [_of_otlp(item) if isinstance(item, dict) and "trace_id" in item else item for item in data]
    return [document]


def _is_span(item: Any) -> TypeGuard[dict[str, Any]]:
    if not isinstance(item, dict) or not isinstance(item.get("span_kind"), str) or "name" not in item:
        return False
    context = dict_of(item.get("context"))
    return all(isinstance(context.get(key), str) and context[key] for key in ("trace_id", "span_id"))


def _of_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the frame in the form of the API."""
    attributes = {
        key.removeprefix(_ATTRIBUTE): value
        for key, value in row.items()
        if key.startswith(_ATTRIBUTE) and value is not None
    }
    context = {"span_id": row.get(SPAN_ID), "trace_id": row.get("context.trace_id")}
    known = ("name", "span_kind", "parent_id", "start_time", "end_time", "status_code", "status_message", "events")
    return {**{key: row.get(key) for key in known}, "context": context, "attributes": attributes}


def _of_otlp(raw: dict[str, Any]) -> dict[str, Any]:
    """A span in OTLP's own names in the form of the API."""
    attributes = _pairs(raw.get("attributes"))
    status = dict_of(raw.get("status"))
    return {
        "name": raw.get("name"),
        "context": {"span_id": raw.get("span_id"), "trace_id": raw.get("trace_id")},
        "span_kind": str(attributes.pop(SPAN_KIND, _UNKNOWN)),
        "parent_id": raw.get("parent_span_id"),
        "start_time": _count(raw.get("start_time_unix_nano")),
        "end_time": _count(raw.get("end_time_unix_nano")),
        "status_code": "ERROR" if status.get("code") == 2 else "UNSET",
        "status_message": status.get("message"),
        "attributes": attributes,
        "events": [{**event, "attributes": _pairs(event.get("attributes"))} for event in dicts(raw.get("events"))],
    }


def _pairs(raw: Any) -> dict[str, Json]:
    return {str(pair.get("key")): _value(pair.get("value"), _MAX_LEVELS) for pair in dicts(raw)}


def _value(raw: Any, levels: int) -> Json:
    """A value in OTLP's own names: the API writes only the one that is set, or all with null for the others."""
    value: Json
    for kind, value in dict_of(raw).items():
        if value is None:
            continue
        if kind == "array_value":
            items = dict_of(value).get("values")
            return [_value(item, levels - 1) for item in dicts(items)] if levels else None
        return _count(value) if kind == "int_value" else value
    return None


def _count(value: Any) -> int | None:
    """A 64-bit integer, which OTLP may write as text."""
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal() and value.isascii():
        return int(value)
    return value if is_whole(value) else None


def _span(raw: Json, where: str, report: ReadReport) -> PlainSpan:
    if not _is_span(raw):
        raise UnreadableTrace("an item is no Phoenix span with its ids", where, "pass spans exported from Phoenix")
    attributes = _flat(dict_of(raw.get("attributes")))
    labels = [key for key in attributes if key.startswith(_LABELS)]
    if labels:
        named = {key.partition("annotations.")[2].partition(".")[0] + key[:5] for key in labels}
        report.skipped["annotation: a label, not part of the run"] += len(named)
    attributes = {key: value for key, value in attributes.items() if key not in labels}
    if raw["span_kind"] != _UNKNOWN:
        attributes[SPAN_KIND] = raw["span_kind"]
    events = raw.get("events")
    events = json_value(events) if isinstance(events, str) else events
    return PlainSpan(
        trace_id=raw["context"]["trace_id"],
        span_id=raw["context"]["span_id"],
        parent_id=text_of(raw.get("parent_id")),
        name=text_of(raw.get("name")),
        start_ns=nanoseconds(raw.get("start_time")),
        end_ns=nanoseconds(raw.get("end_time")),
        attributes=attributes,
        events=tuple(
            PlainEvent(text_of(event.get("name")), _flat(dict_of(event.get("attributes")))) for event in dicts(events)
        ),
        failed=str(raw.get("status_code")).upper() == "ERROR",
        message=text_of(raw.get("status_message")),
    )


def _flat(value: dict[str, Any], prefix: str = "", levels: int = _MAX_LEVELS) -> dict[str, Json]:
    """Attributes under flat names, also those inside lists of objects: ``llm.input_messages.0.message.role``."""
    flat: dict[str, Json] = {}
    for key, item in value.items():
        name = f"{prefix}{key}"
        inner = item if isinstance(item, dict) else {}
        if isinstance(item, list) and item and len(dicts(item)) == len(item):
            inner = {str(at): each for at, each in enumerate(item)}
        if inner and levels:
            flat |= _flat(inner, f"{name}.", levels - 1)
        elif item is not None:
            flat[name] = item
    return flat
