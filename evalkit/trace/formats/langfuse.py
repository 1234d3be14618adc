"""Langfuse exports: ``{"trace", "observations": [...]}``, or traces of its API, which hold their observations.

Input, output and metadata are JSON values, or JSON text, or JSON text in JSON text. Observations that came by
OpenTelemetry have the span's attributes inside ``metadata["attributes"]``, without those that Langfuse moved into its
own fields. Scores and corrections are labels and never enter a trace. What an observation means: `langfuse_steps`.
Source: https://langfuse.com/docs/observability/data-model and https://api.reference.langfuse.com (trace.get).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dicts
from evalkit.trace.formats.chat import unix_seconds
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.langfuse_observation import Observation, decoded, kind_of
from evalkit.trace.formats.langfuse_steps import observation_step, once_a_call
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.span_tree import SpanStep, trace_of_spans
from evalkit.trace.model import Trace

__all__ = ["FORMAT"]

_FLATTENED = "text_messages"
_WITHOUT_STEP_KIND = frozenset({"SPAN", "EVENT", "CHAIN", "EMBEDDING", "EVALUATOR"})
_RESOURCE = "resourceAttributes"
_KEPT = ("sessionId", "userId", "release", "version", "environment", "tags")


class LangfuseFormat:
    """One exported trace, a list of them, or one a line."""

    name = "langfuse"

    def detect(self, source: Source) -> bool:
        """Whether the document, its first item, or the first of the lines is a trace with Langfuse's observations."""
        return any(_is_export(item) for item in _exports(first_document(source))[:1])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each exported one.

        Raises:
            UnreadableTrace: an item is no export of a trace, or an observation lacks its id.
        """
        for where, line in documents(source):
            for export in _exports(line):
                if not isinstance(export, dict) or not _is_export(export):
                    raise UnreadableTrace("no Langfuse trace with observations", where, "export traces with them")
                yield _trace(export, where, report)


FORMAT = LangfuseFormat()


def _exports(document: Json) -> list[Json]:
    """The exported traces of a line or document; a page of the API has them in ``data``."""
    if isinstance(document, dict) and isinstance(document.get("data"), list) and "observations" not in document:
        return document["data"]  # type: ignore[return-value]  # narrowed to a list
    return document if isinstance(document, list) else [document]


def _is_export(export: Json) -> bool:
    if not isinstance(export, dict) or not isinstance(export.get("observations"), list):
        return False
    if isinstance(export.get("trace"), dict):
        return True
    return isinstance(export.get("id"), str) and "timestamp" in export


def _trace(export: dict[str, Any], where: str, report: ReadReport) -> Trace:
    header = export["trace"] if isinstance(export.get("trace"), dict) else export
    observations = _observations(export, where, report)
    resource = next((each.metadata.get(_RESOURCE) for each in observations.values()), None)
    spans = once_a_call([_span(each, resource) for each in observations.values()])
    for each in observations.values():
        if kind_of(each) == "other" and each.type not in _WITHOUT_STEP_KIND:
            report.unknown[f"observation type {each.type[:60] or 'not stated'}"] += 1
    for label in ("scores", "corrections"):
        if isinstance(header.get(label), list) and header[label]:
            report.skipped[f"{label}: labels, not part of the run"] += len(header[label])
    kept: dict[str, Any] = {key: header[key] for key in _KEPT if header.get(key)}
    if resource:
        kept["resource"] = resource
    metadata = decoded(header.get("metadata"))
    if isinstance(metadata, dict):
        others = {key: value for key, value in metadata.items() if key not in ("attributes", _RESOURCE)}
        kept |= {"metadata": others} if others else {}
    trace_id = header.get("id")
    trace = trace_of_spans(
        trace_id if isinstance(trace_id, str) else "",
        LangfuseFormat.name,
        spans,
        report,
        attributes=kept,
        gaps=tuple(_gaps(spans)),
    )
    asked, answered = decoded(header.get("input")), decoded(header.get("output"))
    name = header.get("name")
    return replace(
        trace,
        name=name if isinstance(name, str) and name else trace.name,
        input=trace.input if asked is None else asked,
        output=trace.output if answered is None else answered,
        started_at=unix_seconds(header.get("timestamp")) if trace.started_at is None else trace.started_at,
    )


def _observations(export: dict[str, Any], where: str, report: ReadReport) -> dict[str, Observation]:
    found: dict[str, Observation] = {}
    for at, raw in enumerate(export["observations"]):
        if not isinstance(raw, dict) or not isinstance(raw.get("id"), str) or not raw["id"]:
            raise UnreadableTrace(f"observation {at} has no id", where, "export the trace again, with its observations")
        if raw["id"] in found:
            report.skipped["observation: its id is there already"] += 1
            continue
        found[raw["id"]] = Observation.of(raw)
    header = export.get("trace")
    for raw in dicts(header.get("observations") if isinstance(header, dict) else None):
        if raw.get("id") in found:
            report.skipped["observation in the trace: listed beside it, too"] += 1
        elif isinstance(raw.get("id"), str):
            found[raw["id"]] = Observation.of(raw)
        else:
            report.skipped["observation in the trace: it has no id"] += 1
    return found


def _span(observation: Observation, resource: Any) -> SpanStep:
    step = observation_step(observation)
    if resource is not None and step.attributes.get(_RESOURCE) == resource:  # said once, for the trace
        step = replace(step, attributes={key: value for key, value in step.attributes.items() if key != _RESOURCE})
    return SpanStep(observation.id, observation.parent, step)


def _gaps(spans: list[SpanStep]) -> Iterator[str]:
    if not spans:
        yield "the trace has no observations"
    count = sum(1 for span in spans if span.step.kind == "model" and _FLATTENED in span.step.attributes)
    holes = sum(1 for span in spans if span.step.kind == "model" and "messages_left_out" in span.step.attributes)
    if holes:
        yield f"{holes} model steps lack some of their messages: the numbers in the source have holes"
    if count:
        yield f"the messages of {count} model steps were one text, split at the roles' names; tool calls are not in it"
