"""OpenTelemetry traces as OTLP JSON: one export request, a list of them, or JSON Lines of them.

Spans are grouped by trace id and ordered by start time. What a span means is a dialect's matter, chosen span by span
(one process may run instrumentations of several makers); this module joins the steps. Sources without a span of any
dialect are refused by name rather than read as if they held nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats import otlp_events, otlp_genai
from evalkit.trace.formats.attributes import Attributes
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.openinference_attributes import SPAN_KIND, is_openinference, openinference_step
from evalkit.trace.formats.otlp_spans import Batch, Span, SpanEvent, decode, error_of, is_otlp
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.span_tree import SpanStep, trace_of_spans
from evalkit.trace.model import Step, Trace

__all__ = ["DIALECTS", "FORMAT", "Dialect"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one convention writes model and tool calls into spans.

    Attributes:
        name: for messages.
        claims: whether a span is of this convention.
        interpret: the span as a step; its number, parent and times are set afterwards.
    """

    name: str
    claims: Callable[[Span], bool]
    interpret: Callable[[Span], Step]


def _openinference(span: Span) -> Step:
    taken = Attributes(span.attributes)
    error = error_of(span, taken)
    if taken.rest.get(SPAN_KIND) == "TOOL" and "tool.name" not in taken.rest and span.name.startswith("handoff to "):
        taken.rest[SPAN_KIND] = "HANDOFF"  # OpenInference's tracer of OpenAI Agents has no kind for it
    return openinference_step(taken.rest, span.name, error)


DIALECTS: tuple[Dialect, ...] = (
    Dialect("OpenInference", lambda span: is_openinference(span.attributes), _openinference),
    Dialect("GenAI semantic conventions", otlp_genai.claims, otlp_genai.interpret),
)
"""In the order in which they are asked; the last also takes the spans that none claims."""

_UNREAD: dict[str, re.Pattern[str]] = {
    "Vercel AI SDK": re.compile(r"ai\.(prompt|response|toolCall|model)\b"),
    "Logfire": re.compile(r"logfire\."),
}
_STARTS_AS_OTLP = re.compile(rb'\s*\{\s*"resource(Spans|Logs|Metrics)"\s*:\s*\[')


class OtlpFormat:
    """Export requests."""

    name = "otlp"

    def detect(self, source: Source) -> bool:
        """Whether the document, or the first of the lines, is an export request."""
        if _STARTS_AS_OTLP.match(source.head):
            return True
        return is_otlp(first_document(source))

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each trace id, in the order in which they appear.

        Raises:
            UnreadableTrace: it is not OTLP, or no span is of a dialect that is read.
        """
        batch = decode(documents(source))
        _refuse_others(batch, source.where)
        spans, strays = _with_logs(batch)
        _count_rest(batch, strays, report)
        lost = sum(otlp_events.is_message(log) for log in strays)
        gaps = (f"{lost} messages stand in log records of no span in the source",) if lost else ()
        for group in _grouped(spans, report):
            yield _trace(group, report, gaps)


FORMAT = OtlpFormat()


def _refuse_others(batch: Batch, where: str) -> None:
    """Refuse a source in which no span is of a known dialect."""
    if any(dialect.claims(span) for span in batch.spans for dialect in DIALECTS):
        return
    logs = [*map(otlp_events.is_message, batch.logs)]
    if any(logs) and batch.spans:
        return
    keys = {key for span in batch.spans for key in span.attributes}
    others = [name for name, pattern in _UNREAD.items() if any(pattern.match(key) for key in keys)]
    if others:
        raise UnreadableTrace(
            f"the spans are of a dialect that is not read: {', '.join(others)}",
            where,
            f"export with one of: {', '.join(dialect.name for dialect in DIALECTS)}",
        )
    raise UnreadableTrace(
        f"none of the {len(batch.spans)} spans is of a generative AI call", where, "export the agent's own traces"
    )


def _with_logs(batch: Batch) -> tuple[list[Span], list[SpanEvent]]:
    """The spans, each with its log records among its events, and the log records that belong to none.

    A record that names no span (it was written after the span's context had gone) belongs to the source's only span
    that can hold it, where there is just one.
    """
    logs: defaultdict[tuple[str, str], list[SpanEvent]] = defaultdict(list)
    for log in batch.logs:
        logs[log.trace_id, log.span_id].append(log)
    alone = [span for span in batch.spans if otlp_genai.asks_model(span)]
    if len(alone) == 1 and ("", "") in logs:
        unnamed = [log for log in logs.pop(("", "")) if otlp_events.is_message(log)]
        logs[alone[0].trace_id, alone[0].span_id] += unnamed
    known = {(span.trace_id, span.span_id) for span in batch.spans}
    strays = [log for key, found in logs.items() if key not in known for log in found]
    joined = [_joined(span, logs.get((span.trace_id, span.span_id), [])) for span in batch.spans]
    return joined, strays


def _joined(span: Span, logs: list[SpanEvent]) -> Span:
    events = (*span.events, *logs)
    details = {
        name: value
        for event in events
        if event.name == otlp_events.DETAILS
        for name, value in event.attributes.items()
        if name not in span.attributes
    }
    if not details and not logs:
        return span
    return replace(span, events=events, attributes={**span.attributes, **details})


def _count_rest(batch: Batch, strays: list[SpanEvent], report: ReadReport) -> None:
    """Count what becomes no step and no part of one."""
    report.skipped.update(f"log record {log.name[:60]}: its span is not in the source" for log in strays)
    report.skipped.update(_unused(batch.logs, "log record") - _unused(strays, "log record"))
    for span in batch.spans:
        report.skipped.update(_unused(span.events, "span event"))
        if span.links:
            report.skipped["span link: not read"] += span.links
    if batch.metrics:
        report.skipped["metrics: not read"] += batch.metrics


def _unused(events: list[SpanEvent] | tuple[SpanEvent, ...], kind: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in events:
        if event.name != "exception" and not otlp_events.is_message(event):
            found[f"{kind} {event.name[:60]}: not read"] += 1
        elif event.name != "exception" and not otlp_events.is_captured(event):
            found[f"{kind} {event.name[:60]}: its content was not captured"] += 1
    return found


def _grouped(spans: list[Span], report: ReadReport) -> Iterator[list[Span]]:
    traces: dict[str, dict[str, Span]] = {}
    for span in spans:
        known = traces.setdefault(span.trace_id, {})
        if span.span_id in known:
            report.skipped["span: sent twice"] += 1
        known.setdefault(span.span_id, span)
    for known in traces.values():
        yield [*known.values()]


def _trace(spans: list[Span], report: ReadReport, gaps: tuple[str, ...]) -> Trace:
    return trace_of_spans(
        spans[0].trace_id,
        OtlpFormat.name,
        [SpanStep(span.span_id, span.parent_id, _step(span), span.start_ns or None) for span in spans],
        report,
        attributes={"service": spans[0].service} if spans[0].service else {},
        gaps=gaps,
        calls_in_messages=True,
    )


def _step(span: Span) -> Step:
    dialect = next((each for each in DIALECTS if each.claims(span)), DIALECTS[-1])
    step = dialect.interpret(span)
    attributes: dict[str, Any] = {**step.attributes}
    if step.kind != "other":
        attributes["span_name"] = span.name
    if not span.end_ns and span.start_ns:
        attributes["unfinished"] = True
    return replace(
        step,
        started_at=span.start_ns / 1e9 if span.start_ns else None,
        ended_at=span.end_ns / 1e9 if span.end_ns else None,
        attributes=attributes,
    )
