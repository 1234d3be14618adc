"""TRAIL and Patronus exports: one trace as a tree of spans, each holding its ``child_spans``.

``{"trace_id", "spans": [{"span_id", "span_name", "timestamp", "duration", "span_attributes", "logs", "child_spans"}]}``
with OpenInference attributes whose values are all text. A span of a traced function has no such attributes: a log
record holds its arguments and its result. Durations are ISO 8601, times without a zone are UTC. The evaluations and
annotations beside a log record are labels and never enter a trace. Nor does what a function outside of any agent was
given and gave: that is the harness, which passes whole rows of its data set, gold answers among them.
Source: https://huggingface.co/datasets/PatronusAI/TRAIL
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.chat import unix_seconds
from evalkit.trace.formats.documents import whole_document
from evalkit.trace.formats.openinference_attributes import is_openinference, openinference_step
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.span_tree import SpanStep, trace_of_spans
from evalkit.trace.formats.unknown_kinds import unknown_kind
from evalkit.trace.model import Step, StepError, Trace

__all__ = ["FORMAT"]

_OUTSIDE = "arguments and result of a function outside of any agent: they may hold gold answers"
_DURATION = re.compile(r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,12})?)S)?)?$")


class TrailFormat:
    """A document with a trace id and a tree of spans."""

    name = "trail"

    def detect(self, source: Source) -> bool:
        """Whether it is a document of spans that hold their children."""
        return source.head.lstrip().startswith(b"{") and _is_tree(source.document())

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The one trace of the document.

        Raises:
            UnreadableTrace: it is no tree of spans, or a span lacks its id.
        """
        document = whole_document(source)
        if not isinstance(document, dict) or not _is_tree(document):
            raise UnreadableTrace("no tree of spans with child_spans", source.where, "pass a TRAIL trace")
        spans: list[SpanStep] = []
        agents: set[str] = set()
        for raw, above in _spans(document["spans"], "", source.where, report, {}):
            step = _step(raw, report)
            if step.kind == "agent" or above in agents:
                agents.add(raw["span_id"])
            elif not is_openinference(dict_of(raw.get("span_attributes"))):
                step = _without_content(step, report)
            spans.append(SpanStep(raw["span_id"], above, step))
        service = next((each.get("service_name") for each in dicts(document["spans"])), None)
        trace_id = document.get("trace_id")
        yield trace_of_spans(
            trace_id if isinstance(trace_id, str) and trace_id else spans[0].span_id,
            self.name,
            spans,
            report,
            attributes={"service": service} if isinstance(service, str) and service else {},
        )


FORMAT = TrailFormat()


def _is_tree(document: Json) -> bool:
    spans = document.get("spans") if isinstance(document, dict) else None
    first = spans[0] if isinstance(spans, list) and spans else None
    return isinstance(first, dict) and isinstance(first.get("child_spans"), list) and "span_id" in first


def _spans(
    raws: Any, parent: str, where: str, report: ReadReport, seen: dict[str, dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], str]]:
    """All spans below `raws` with their parent, each before its children; the parser bounds the nesting."""
    found = dicts(raws)
    if isinstance(raws, list) and len(found) < len(raws):
        report.skipped["span: no object"] += len(raws) - len(found)
    for raw in found:
        span_id, named = raw.get("span_id"), raw.get("parent_span_id")
        if not isinstance(span_id, str) or not span_id:
            raise UnreadableTrace(f"span {len(seen)} lacks span_id", where, "export the trace again")
        if seen.setdefault(span_id, raw) is not raw and seen[span_id] == raw:
            report.skipped["span: stands there twice"] += 1
            continue
        yield raw, parent or (named if isinstance(named, str) else "")
        yield from _spans(raw.get("child_spans"), span_id, where, report, seen)


def _step(raw: dict[str, Any], report: ReadReport) -> Step:
    name = raw["span_name"] if isinstance(raw.get("span_name"), str) else ""
    attributes = dict_of(raw.get("span_attributes"))
    error = _error(raw, report)
    if is_openinference(attributes):
        step = openinference_step(attributes, name, error)
    else:
        step = Step(0, "other", name, error=error, attributes=dict(attributes))
    traced = any("function.name" in dict_of(log.get("body")) for log in dicts(raw.get("logs")))
    kind = unknown_kind(attributes, is_openinference(attributes) or traced) if step.kind == "other" else ""
    report.unknown.update([kind] if kind else [])
    start = unix_seconds(raw.get("timestamp"))
    lasted = _seconds(raw.get("duration"))
    step = replace(
        step,
        started_at=start,
        ended_at=None if start is None or lasted is None else start + lasted,
        attributes={**step.attributes, "span_name": name} if step.kind != "other" else step.attributes,
    )
    if isinstance(raw.get("links"), list) and raw["links"]:
        report.skipped["span link: not read"] += len(raw["links"])
    return _with_logs(step, dicts(raw.get("logs")), report)


def _with_logs(step: Step, logs: list[dict[str, Any]], report: ReadReport) -> Step:
    """The step with what its log records say: a traced function's arguments and result, or else text."""
    others: list[Json] = []
    for log in logs:
        labels = sum(len(log[key]) for key in ("evaluations", "annotations") if isinstance(log.get(key), list))
        if labels:
            report.skipped["evaluation or annotation: a label, not part of the run"] += labels
        body = log.get("body")
        if isinstance(body, dict) and "function.name" in body and step.input is None and step.kind == "other":
            step = replace(step, input=body.get("function.arguments"), output=body.get("function.output"))
            report.skipped["log record: merged into its span"] += 1
        else:
            others.append({"at": log.get("timestamp"), "severity": log.get("severity_text"), "body": body})
    return replace(step, attributes={**step.attributes, "logs": others}) if others else step


def _without_content(step: Step, report: ReadReport) -> Step:
    """A harness' step: that it ran, when, and how it failed."""
    if step.input is None and step.output is None:
        return step
    report.skipped[_OUTSIDE] += 1
    return replace(step, input=None, output=None, attributes={**step.attributes, "left_out": _OUTSIDE})


def _error(raw: dict[str, Any], report: ReadReport) -> StepError | None:
    """The error that failed the span: its exception event says most, else the status message."""
    raised: dict[str, Any] = {}
    for event in dicts(raw.get("events")):
        name = event.get("Name", event.get("name"))
        if name == "exception" and not raised:
            raised = dict_of(event.get("Attributes", event.get("attributes")))
            report.skipped["span event exception: merged into its span"] += 1
        else:
            report.skipped[f"span event {str(name)[:60]}: not read"] += 1
    status = raw.get("status_message")
    said = status if isinstance(status, str) else ""
    if str(raw.get("status_code")).lower() != "error":
        return None
    kind, _, rest = said.partition(": ")
    module, _, kind = str(raised.get("exception.type") or (kind if kind.isidentifier() else "Error")).rpartition(".")
    stack = raised.get("exception.stacktrace")
    return StepError(
        type=kind,
        message=str(raised.get("exception.message") or rest or said),
        module=module or None,
        stack=stack if isinstance(stack, str) else None,
    )


def _seconds(duration: Any) -> float | None:
    """Seconds of an ISO 8601 duration without years and months; None for anything else."""
    found = _DURATION.match(duration) if isinstance(duration, str) else None
    if found is None or found.lastindex is None:
        return None
    days, hours, minutes, seconds = (float(each or 0) for each in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
