"""All that `evalkit inspect` shows of a trace and of its file, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalkit.distil.locate import Suspect, locate
from evalkit.figures import counted
from evalkit.report.text import date_text
from evalkit.report.timeline import LEAST_SUSPECT, Line, Role, Span, clock_text, tally_text, timeline
from evalkit.report.totals import Totals, totals
from evalkit.trace.evidence import evidence
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.modes import open_modes
from evalkit.trace.visible import one_line, visible

__all__ = ["report_lines", "trace_line", "trace_lines"]

_SUSPECTS = 5
_NOT_LISTED = 20
_INDENT = 2


def trace_lines(trace: Trace, *, width: int = 80, only: range | None = None) -> Iterator[Line]:
    """A whole trace: totals, timeline, where it may have gone wrong, and what it lacks.

    Args:
        only: the numbers of the steps that the timeline shows; None for all.
    """
    suspects = locate(trace)
    yield from _head(trace, totals(trace), width)
    yield ()
    yield from timeline(trace, suspects, width=width, only=only)
    yield ()
    yield from _ending(trace, width)
    yield from _suspects(suspects, width)
    yield from _evidence(trace, width)


def trace_line(trace: Trace, width: int = 80) -> Line:
    """A trace in one line, for a file that holds many."""
    found = totals(trace)
    error = f", {counted(found.failed, 'error')}" if found.failed else ""
    facts = f"{trace.status}, {counted(len(trace.steps), 'step')}{error}, evidence {evidence(trace).score:.2f}"
    name = one_line(f"{trace.id}  {trace.name}", max(width - len(facts) - 2, 20))
    return (Span(name, "strong"), Span(f"  {facts}", "error" if trace.status == "failed" else "faint"))


def report_lines(report: ReadReport, width: int = 80) -> Iterator[Line]:
    """What became no step, and what could not be read: always said where there is any."""
    if report.skipped:
        yield (Span("not part of any step"),)
        yield from _counts(report.skipped, width)
    if report.unknown:
        yield (Span("of unknown kinds, kept as other steps"),)
        yield from _counts(report.unknown, width)
    if report.passed_over:
        yield (Span("no traces"),)
        yield from _listed([f"{where}: {why}" for where, why in report.passed_over.items()], width)
    if report.unreadable:
        yield (Span("could not be read", "error"),)
        for error in report.unreadable[:_NOT_LISTED]:
            yield from _wrapped(f"{error.where}: {error.what}", width, "error")
            if error.cure:
                yield from _wrapped(f"cure: {error.cure}", width, "faint", indent=4)
        yield from _more(len(report.unreadable))


def _head(trace: Trace, found: Totals, width: int) -> Iterator[Line]:
    facts = f"{trace.dialect}, {trace.status}"
    name = one_line(f"{trace.name}  {trace.id}".strip(), max(width - len(facts) - 2, 20))
    yield (Span(name, "strong"), Span(f"  {facts}", "error" if trace.status == "failed" else "faint"))
    steps = f"{counted(len(trace.steps), 'step')}: {tally_text(found.steps)}" if trace.steps else "no steps"
    more = [f"{found.failed} failed"] if found.failed else []
    more += [f"{counted(found.writes, 'write')} took effect"] if found.writes else []
    yield from _wrapped("; ".join([steps, *more]), width)
    yield from _wrapped("; ".join(_usage(found)), width) if found.models else ()
    when = [f"from {date_text(trace.started_at)}"] if trace.started_at is not None else []
    when += [f"wall time {clock_text(found.wall_s)}"] if found.wall_s is not None else []
    if when:
        yield from _wrapped(", ".join(when), width)


def _usage(found: Totals) -> Iterator[str]:
    yield "models: " + tally_text({name or "unknown": count for name, count in found.models.items()})
    if found.input_tokens is not None or found.output_tokens is not None:
        cached = f" ({found.cached_tokens:,} cached)" if found.cached_tokens else ""
        yield f"tokens: {found.input_tokens or 0:,} in{cached}, {found.output_tokens or 0:,} out"
    if found.cost_usd is not None:
        yield f"cost: ${found.cost_usd:,.4f}"


def _ending(trace: Trace, width: int) -> Iterator[Line]:
    if trace.error is not None:
        yield (Span(one_line(f"ended with {trace.error.type}: {trace.error.message}", width), "error"),)


def _suspects(suspects: Sequence[Suspect], width: int) -> Iterator[Line]:
    if not suspects:
        return
    yield (Span("where it may have gone wrong, likeliest first", "strong"),)
    for rank, each in enumerate(suspects[:_SUSPECTS], 1):
        seen = "" if each.shown_by is None else f", seen in step {each.shown_by}"
        text = f"{rank}. step {each.step}{seen}: {each.reason} ({each.weight:.2f})"
        yield from _wrapped(text, width, "suspect" if each.weight >= LEAST_SUSPECT else "faint")


def _evidence(trace: Trace, width: int) -> Iterator[Line]:
    found = evidence(trace)
    yield (Span(f"evidence {found.score:.2f}", "strong"), Span("" if found.gaps else ", nothing is missing"))
    for gap in found.gaps[:_NOT_LISTED]:
        yield from _wrapped(f"- {gap}", width)
    if found.gaps[_NOT_LISTED:]:
        yield from _wrapped(f"- and {len(found.gaps) - _NOT_LISTED} more", width)
    modes = open_modes(trace)
    opened = [mode for mode, reason in modes.items() if reason is None]
    yield (Span("replay modes open: ", "strong"), Span(", ".join(opened) or "none"))
    for mode, reason in modes.items():
        if reason is not None:
            yield from _wrapped(f"- {mode} is closed: {reason}", width)


def _counts(counts: Mapping[str, int], width: int) -> Iterator[Line]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    yield from _listed([f"{count:,} {what}" for what, count in ranked], width)


def _listed(texts: Sequence[str], width: int) -> Iterator[Line]:
    for text in texts[:_NOT_LISTED]:
        yield (Span(" " * _INDENT + one_line(text, width - _INDENT)),)
    yield from _more(len(texts))


def _more(count: int) -> Iterator[Line]:
    """How many were not listed."""
    if count > _NOT_LISTED:
        yield (Span(f"  and {count - _NOT_LISTED} more (--json lists all)"),)


def _wrapped(text: str, width: int, role: Role = "", indent: int = _INDENT) -> Iterator[Line]:
    """A sentence over as many lines as it takes, three at the most."""
    room = width - indent
    rest = visible(text)
    for left in (2, 1, 0):
        line = one_line(rest, room)
        if line == rest or not left:
            yield (Span(" " * indent + line, role),)
            return
        at = line.rfind(" ", room // 2)
        cut = at if at > 0 else len(line) - 1
        yield (Span(" " * indent + rest[:cut], role),)
        rest = rest[cut:].lstrip()
