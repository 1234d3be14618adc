"""The log records of a trace joined to its spans; what stays over of both is counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from evalkit.trace.formats import otlp_events
from evalkit.trace.formats.otlp_spans import Span, SpanEvent
from evalkit.trace.formats.protocol import ReadReport

__all__ = ["joined", "unused"]


def joined(spans: Sequence[Span], logs: Sequence[SpanEvent], report: ReadReport) -> tuple[list[Span], list[SpanEvent]]:
    """The spans of a trace, each once and with its log records among its events, and the log records of no span."""
    named: defaultdict[str, list[SpanEvent]] = defaultdict(list)
    for log in logs:
        named[log.span_id].append(log)
    known: dict[str, Span] = {}
    for span in spans:
        if span.span_id in known:
            report.skipped["span: sent twice"] += 1
        else:
            known[span.span_id] = _joined(span, named.get(span.span_id, []))
        _count_rest(span, report)
    strays = [log for span_id, found in named.items() if span_id not in known for log in found]
    report.skipped.update(f"log record {log.name[:60]}: its span is not in the source" for log in strays)
    report.skipped.update(unused([log for log in logs if log.span_id in known], "log record"))
    return [*known.values()], strays


def unused(events: Sequence[SpanEvent], kind: str) -> Counter[str]:
    """What events hold no message that becomes a part of a step, by reason."""
    found: Counter[str] = Counter()
    for event in events:
        if event.name != "exception" and not otlp_events.is_message(event):
            found[f"{kind} {event.name[:60]}: not read"] += 1
        elif event.name != "exception" and not otlp_events.is_captured(event):
            found[f"{kind} {event.name[:60]}: its content was not captured"] += 1
    return found


def _joined(span: Span, logs: list[SpanEvent]) -> Span:
    if not logs and not span.events:
        return span
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


def _count_rest(span: Span, report: ReadReport) -> None:
    if span.events:
        report.skipped.update(unused(span.events, "span event"))
    if span.links:
        report.skipped["span link: not read"] += span.links
