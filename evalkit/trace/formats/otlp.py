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

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.ancestry import circular, depths
from evalkit.trace.formats import otlp_events, otlp_genai
from evalkit.trace.formats.answered_calls import with_answered_calls
from evalkit.trace.formats.attributes import Attributes
from evalkit.trace.formats.chat import dicts, text_of
from evalkit.trace.formats.documents import documents
from evalkit.trace.formats.openinference_attributes import SPAN_KIND, is_openinference, openinference_step
from evalkit.trace.formats.otlp_spans import Batch, Span, SpanEvent, decode, error_of, is_otlp
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.json_input import parse_json
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
        document = source.document()
        if document is not None:
            return is_otlp(document)
        first, newline, _ = source.head.partition(b"\n")
        if not newline or not first.lstrip().startswith(b"{"):
            return False
        try:
            return is_otlp(parse_json(first, source.where))
        except UnreadableTrace:
            return False

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
        yield _ordered(known)


def _ordered(known: dict[str, Span]) -> list[Span]:
    # a parent may start in the same nanosecond as its child, and is exported after it
    deep = depths({span_id: span.parent_id for span_id, span in known.items()})
    return sorted(known.values(), key=lambda span: (span.start_ns, deep[span.span_id], span.position))


def _trace(spans: list[Span], report: ReadReport, gaps: tuple[str, ...]) -> Trace:
    numbers = {span.span_id: seq for seq, span in enumerate(spans)}
    inside_itself = circular({span.span_id: span.parent_id for span in spans})
    places = {span_id: seq for span_id, seq in numbers.items() if span_id not in inside_itself}
    steps = with_answered_calls([_step(span, seq, places) for seq, span in enumerate(spans)])
    report.steps.update(step.kind for step in steps)
    roots = [seq for seq, step in enumerate(steps) if step.parent is None]
    first, last = steps[roots[0] if roots else 0], steps[roots[-1] if roots else -1]
    agent = next((step for step in steps if step.kind == "agent"), None)
    orphans = sum(1 for span in spans if span.parent_id and span.parent_id not in numbers)
    starts = [step.started_at for step in steps if step.started_at is not None]
    ends = [step.ended_at for step in steps if step.ended_at is not None]
    return Trace(
        id=spans[0].trace_id,
        name=agent.name if agent else first.name,
        dialect=OtlpFormat.name,
        steps=steps,
        input=_asked(agent, steps),
        output=_answered(agent, steps),
        error=last.error,
        status="failed" if last.error else "completed",
        started_at=min(starts, default=None),
        ended_at=max(ends, default=None),
        attributes={"service": spans[0].service} if spans[0].service else {},
        gaps=(*gaps, f"the parents of {orphans} spans are not in the source") if orphans else gaps,
    )


def _step(span: Span, seq: int, numbers: dict[str, int]) -> Step:
    dialect = next((each for each in DIALECTS if each.claims(span)), DIALECTS[-1])
    step = dialect.interpret(span)
    parent = numbers.get(span.parent_id)
    attributes: dict[str, Any] = {"span_id": span.span_id, **step.attributes}
    if step.kind != "other":
        attributes["span_name"] = span.name
    if not span.end_ns and span.start_ns:
        attributes["unfinished"] = True
    return replace(
        step,
        seq=seq,
        parent=None if parent == seq else parent,
        started_at=span.start_ns / 1e9 if span.start_ns else None,
        ended_at=span.end_ns / 1e9 if span.end_ns else None,
        attributes=attributes,
    )


def _asked(agent: Step | None, steps: tuple[Step, ...]) -> Json:
    """What the run was started with: the agent's input, else the first user message of the first model call."""
    if agent is not None and agent.input is not None:
        return agent.input
    for step in steps:
        if step.kind == "model" and isinstance(step.input, dict):
            users = [item for item in dicts(step.input.get("messages")) if item.get("role") == "user"]
            if users:
                return text_of(users[0])
    return None


def _answered(agent: Step | None, steps: tuple[Step, ...]) -> Json:
    """What the run came to: the agent's output, else the text of the last model answer that has one."""
    if agent is not None and agent.output is not None:
        return text_of(agent.output) if isinstance(agent.output, dict) else agent.output
    for step in reversed(steps):
        if step.kind == "model" and isinstance(step.output, dict) and text_of(step.output):
            return text_of(step.output)
    return None
