"""OpenTelemetry traces as OTLP JSON: one export request, a list of them, or JSON Lines of them.

Spans are grouped by trace id and ordered by start time. What a span means is a dialect's matter: one module each says
which spans it claims and turns one into a step; this module joins the steps. Sources of other dialects are refused by
name rather than read as if they held nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats import otlp_messages
from evalkit.trace.formats.chat import dicts, text_of
from evalkit.trace.formats.otlp_spans import Batch, Span, decode, is_otlp
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.json_input import parse_json, parse_json_lines
from evalkit.trace.model import Step, Trace

__all__ = ["DIALECTS", "FORMAT", "Dialect"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one convention writes model and tool calls into spans.

    Attributes:
        name: for messages.
        claims: whether a span holds content in this convention.
        interpret: the span as a step; its number, parent and times are set afterwards.
    """

    name: str
    claims: Callable[[Span], bool]
    interpret: Callable[[Span], Step]


DIALECTS: tuple[Dialect, ...] = (
    Dialect("GenAI semantic conventions, message style", otlp_messages.claims, otlp_messages.interpret),
)
"""In the order in which they are asked; the first also reads GenAI spans whose content was not captured."""

_OPERATION = "gen_ai.operation.name"
_UNREAD: dict[str, re.Pattern[str]] = {
    "OpenInference": re.compile(r"openinference\.|llm\.(input|output)_messages\."),
    "indexed attributes (gen_ai.prompt.N)": re.compile(r"gen_ai\.(prompt|completion)\.\d+\."),
    "Vercel AI SDK": re.compile(r"ai\.(prompt|response|toolCall|model)\b"),
    "Logfire": re.compile(r"logfire\."),
}
_EVENT_STYLE = "GenAI semantic conventions, event style"
_EVENT_NAME = re.compile(
    r"gen_ai\.((system|user|assistant|tool)\.message|choice|content\.(prompt|completion)|"
    r"client\.inference\.operation\.details)$"
)
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
        document = source.document()
        lines = parse_json_lines(source.lines(), source.where) if document is None else [(source.where, document)]
        batch = decode(lines)
        dialect = _dialect(batch, source.where)
        _count_rest(batch, report)
        count = _event_messages(batch)
        gaps = (f"{count} messages stand in events, which are not read",) if count else ()
        for spans in _grouped(batch.spans, report):
            yield _trace(spans, dialect, report, gaps)


FORMAT = OtlpFormat()


def _dialect(batch: Batch, where: str) -> Dialect:
    for dialect in DIALECTS:
        if any(dialect.claims(span) for span in batch.spans):
            return dialect
    others = _unread(batch)
    if others:
        raise UnreadableTrace(
            f"the spans are of a dialect that is not read: {', '.join(others)}",
            where,
            f"export with {DIALECTS[0].name} (OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental)",
        )
    if not any(_OPERATION in span.attributes for span in batch.spans):
        raise UnreadableTrace(
            f"none of the {len(batch.spans)} spans is of a generative AI call", where, "export the agent's own traces"
        )
    return DIALECTS[0]


def _unread(batch: Batch) -> list[str]:
    keys = {key for span in batch.spans for key in span.attributes}
    found = [name for name, pattern in _UNREAD.items() if any(pattern.match(key) for key in keys)]
    return [*found, _EVENT_STYLE] if _event_messages(batch) else found


def _event_messages(batch: Batch) -> int:
    """How many log records and span events hold messages in the event style."""
    events = [*batch.logs, *(event for span in batch.spans for event in span.events)]
    return sum(1 for event in events if _EVENT_NAME.match(event.name))


def _count_rest(batch: Batch, report: ReadReport) -> None:
    report.skipped.update(f"log record {log.name[:60]}: not read" for log in batch.logs)
    for span in batch.spans:
        report.skipped.update(
            f"span event {event.name[:60]}: not read" for event in span.events if event.name != "exception"
        )
        if span.links:
            report.skipped["span link: not read"] += span.links
    if batch.metrics:
        report.skipped["metrics: not read"] += batch.metrics


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
    depths = {span_id: _depth(span_id, known) for span_id in known}
    return sorted(known.values(), key=lambda span: (span.start_ns, depths[span.span_id], span.position))


def _depth(span_id: str, known: dict[str, Span]) -> int:
    above: set[str] = set()
    while span_id in known and span_id not in above:
        above.add(span_id)
        span_id = known[span_id].parent_id
    return len(above)


def _trace(spans: list[Span], dialect: Dialect, report: ReadReport, gaps: tuple[str, ...]) -> Trace:
    numbers = {span.span_id: seq for seq, span in enumerate(spans)}
    steps = tuple(_step(span, seq, numbers, dialect) for seq, span in enumerate(spans))
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


def _step(span: Span, seq: int, numbers: dict[str, int], dialect: Dialect) -> Step:
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
