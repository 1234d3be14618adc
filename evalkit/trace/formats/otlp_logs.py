"""The log records of a trace joined to its spans; what stays over of both is counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from evalkit.trace.formats import otlp_events
from evalkit.trace.formats.otlp_spans import Span, SpanEvent
from evalkit.trace.formats.protocol import ReadReport

__all__ = ["joined", "unused"]


def joined(
    spans: Sequence[Span], logs: Sequence[SpanEvent], report: ReadReport
) -> tuple[list[Span], list[SpanEvent], int]:
    """The spans of a trace, each once and with its log records among its events, and the log records of no span.

    A span that is sent again, once it has ended, takes the place of itself. Another one of the same id (processes that
    were forked draw the same ones) is a span too, with an id of its own; the last number says how many there are.
    """
    named: defaultdict[str, list[SpanEvent]] = defaultdict(list)
    for log in logs:
        named[log.span_id].append(log)
    known: dict[str, Span] = {}
    places: dict[tuple[str, str, int], str] = {}
    bearers: Counter[str] = Counter()
    for span in spans:
        _count_rest(span, report)
        same = (span.span_id, span.name, span.start_ns)
        if same in places:
            report.skipped["span: sent twice"] += 1
            if known[places[same]].end_ns or not span.end_ns:
                continue
        else:
            bearers[span.span_id] += 1
            nth = bearers[span.span_id]
            places[same] = span.span_id if nth == 1 else f"{span.span_id}/{nth}"
        place = places[same]
        made = _joined(span, named.get(span.span_id, []) if place == span.span_id else [])
        known[place] = made if place == span.span_id else replace(made, span_id=place)
    strays = [log for span_id, found in named.items() if span_id not in known for log in found]
    report.skipped.update(f"log record {log.name[:60]}: its span is not in the source" for log in strays)
    report.skipped.update(unused([log for log in logs if log.span_id in known], "log record"))
    return [*known.values()], strays, len(known) - len(bearers)


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
