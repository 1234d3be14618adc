"""OpenTelemetry traces as OTLP, in JSON or protobuf: see `otlp_source` for the shapes.

Spans are grouped by trace id and ordered by start time. What a span means is a dialect's matter, chosen span by span
(one process may run instrumentations of several makers); this module joins the steps. Sources without a span of any
dialect are refused by name rather than read as if they held nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats import (
    otlp_events,
    otlp_genai,
    otlp_logs,
    otlp_observations,
    otlp_openlit,
    otlp_pydantic,
    otlp_strands,
    otlp_vercel,
)
from evalkit.trace.formats.attributes import Attributes
from evalkit.trace.formats.documents import first_document
from evalkit.trace.formats.openinference_attributes import SPAN_KIND, is_openinference, openinference_step
from evalkit.trace.formats.otlp_protobuf import is_protobuf
from evalkit.trace.formats.otlp_source import batches
from evalkit.trace.formats.otlp_spans import Batch, Span, SpanEvent, error_of, is_otlp
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.seen import SeenTexts
from evalkit.trace.formats.span_tree import SpanStep, trace_of_spans
from evalkit.trace.formats.trace_store import TraceStore
from evalkit.trace.formats.unknown_kinds import unknown_kind
from evalkit.trace.model import Step, Trace

__all__ = ["DIALECTS", "FORMAT", "Dialect", "traces_of"]


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
        del taken.rest[SPAN_KIND]  # OpenInference's tracer of OpenAI Agents has no kind for it
        given = {"from_agent": taken.take("input.value"), "to_agent": taken.take("output.value")}
        return Step(0, "other", "handoff", given, error=error, attributes=taken.left())
    return openinference_step(taken.rest, span.name, error)


DIALECTS: tuple[Dialect, ...] = (
    Dialect("OpenInference", lambda span: is_openinference(span.attributes), _openinference),
    Dialect("Vercel AI SDK", otlp_vercel.claims, otlp_vercel.interpret),
    Dialect("Langfuse SDK", otlp_observations.is_langfuse, otlp_observations.langfuse_step),
    Dialect("MLflow", otlp_observations.is_mlflow, otlp_observations.mlflow_step),
    Dialect("Google ADK", otlp_observations.is_adk, otlp_observations.adk_step),
    Dialect("Strands Agents", otlp_strands.claims, otlp_strands.interpret),
    Dialect("OpenLIT", otlp_openlit.claims, otlp_openlit.interpret),
    Dialect("Pydantic AI and Logfire", otlp_pydantic.claims, otlp_pydantic.interpret),
    Dialect("GenAI semantic conventions", otlp_genai.claims, otlp_genai.interpret),
)
"""In the order in which they are asked; the last also takes the spans that none claims."""

_BEGINS = re.compile(rb'\s*(?:\[\s*)?\{\s*"resource(?:Spans|Logs|Metrics)"\s*:\s*\[')


class OtlpFormat:
    """Export requests."""

    name = "otlp"

    def begins(self, head: bytes) -> bool:
        """Whether an export request starts here."""
        return _BEGINS.match(head) is not None

    def detect(self, source: Source) -> bool:
        """Whether the document, or the first of the lines or messages, is an export request."""
        return self.begins(source.head) or is_protobuf(source) or is_otlp(first_document(source))

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each trace id, in the order in which they appear; the first when all of the source was read.

        Raises:
            UnreadableTrace: it is not OTLP, or no span is of a dialect that is read.
        """
        yield from traces_of(batches(source), source.where, report)


FORMAT = OtlpFormat()


def traces_of(found: Iterable[Batch], where: str, report: ReadReport) -> Iterator[Trace]:
    """One trace for each trace id in some batches of one source.

    Raises:
        UnreadableTrace: no span is of a dialect that is read, or what `found` raises.
    """
    store: TraceStore[Span | SpanEvent] = TraceStore(where)
    with store:
        seen = _Seen()
        for batch in found:
            seen.add(batch)
            store.add((part.trace_id, part) for parts in (batch.spans, batch.logs) for part in parts)
        seen.refuse_others(where)
        if seen.metrics:
            report.skipped["metrics: not read"] += seen.metrics
        yield from _traces(store, seen.only_asking, report)


@dataclass(slots=True)
class _Seen:
    """What must be known of a whole source before its first trace is made.

    Attributes:
        known: whether a span is of a dialect, or a log record holds a message.
        asking: the first spans that ask a model, two at most.
    """

    known: bool = False
    asking: list[Span] = field(default_factory=list)
    spans: int = 0
    message_logs: bool = False
    metrics: int = 0

    def add(self, batch: Batch) -> None:
        """Note what a batch holds."""
        self.spans += len(batch.spans)
        self.metrics += batch.metrics
        self.message_logs = self.message_logs or any(map(otlp_events.is_message, batch.logs))
        for span in batch.spans:
            if self.known and len(self.asking) > 1:
                break
            self._look_at(span)

    def _look_at(self, span: Span) -> None:
        if len(self.asking) < 2 and otlp_genai.asks_model(span):
            self.asking.append(span)
        if not self.known:
            self.known = any(dialect.claims(span) for dialect in DIALECTS)

    @property
    def only_asking(self) -> Span | None:
        """The span that asks a model, where there is just one."""
        return self.asking[0] if len(self.asking) == 1 else None

    def refuse_others(self, where: str) -> None:
        """Refuse a source in which no span is of a known dialect."""
        if self.known or (self.message_logs and self.spans):
            return
        raise UnreadableTrace(
            f"none of the {self.spans} spans is of a generative AI call", where, "export the agent's own traces"
        )


def _traces(store: TraceStore[Span | SpanEvent], only_asking: Span | None, report: ReadReport) -> Iterator[Trace]:
    """The traces of a store. A log record that names no span belongs to the only span that asks a model, if any."""
    unnamed = [log for log in store.items("") if isinstance(log, SpanEvent) and not log.span_id]
    messages = [log for log in unnamed if otlp_events.is_message(log)]
    for trace_id, parts in store.traces():
        spans = [part for part in parts if isinstance(part, Span)]
        logs = [part for part in parts if isinstance(part, SpanEvent)]
        if trace_id == "" and only_asking is not None:
            report.skipped.update(otlp_logs.unused(unnamed, "log record"))
            logs = [log for log in logs if log.span_id]
        if only_asking is not None and only_asking.trace_id == trace_id:
            logs = [*logs, *(replace(log, trace_id=trace_id, span_id=only_asking.span_id) for log in messages)]
        joined, strays, shared = otlp_logs.joined(spans, logs, report)
        lost = sum(map(otlp_events.is_message, strays)) + (0 if only_asking else len(messages))
        gaps = (f"{lost} messages stand in log records of no span in the source",) if lost else ()
        if shared:
            gaps = (*gaps, f"{shared} spans have the ids of others: what belongs to which is not known")
        if joined:
            yield _trace(joined, report, gaps)


def _trace(spans: list[Span], report: ReadReport, gaps: tuple[str, ...]) -> Trace:
    seen = SeenTexts()
    made = [_span_step(replace(span, seen=seen)) for span in spans]
    for span, each in zip(spans, made, strict=True):
        if each.step.kind == "other":
            kind = unknown_kind(span.attributes, any(dialect.claims(span) for dialect in DIALECTS))
            report.unknown.update([kind] if kind else [])
    return trace_of_spans(
        spans[0].trace_id,
        OtlpFormat.name,
        made,
        report,
        attributes={"service": spans[0].service} if spans[0].service else {},
        gaps=gaps,
        calls_in_messages=True,
    )


def _span_step(span: Span) -> SpanStep:
    dialect = next((each for each in DIALECTS if each.claims(span)), DIALECTS[-1])
    step = dialect.interpret(span)
    about: dict[str, Any] = {} if step.kind == "other" else {"span_name": span.name}
    if not span.end_ns and span.start_ns:
        about["unfinished"] = True
    return SpanStep(span.span_id, span.parent_id, step, span.start_ns, span.end_ns, about)
