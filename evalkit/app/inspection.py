"""`evalkit inspect`: load -> configure -> lines for people, or JSON with stable keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from evalkit.app.ingest import configured
from evalkit.app.kept_replay import kept_replay
from evalkit.app.keys import make_sanitizer
from evalkit.app.settings import Settings
from evalkit.distil.locate import locate
from evalkit.errors import ExitCode, InputError
from evalkit.report.timeline import Line
from evalkit.report.totals import totals
from evalkit.report.trace_page import report_lines, trace_line, trace_lines
from evalkit.report.whole_step import whole_step
from evalkit.trace.evidence import evidence, find_lacks
from evalkit.trace.file import error_json, step_json
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.modes import open_modes
from evalkit.trace.read import load_traces

__all__ = ["Inspection", "View", "report_json", "trace_json"]

_SHOWN_WHOLE = 3
"""A source with more traces is listed, a line each."""


@dataclass(frozen=True, slots=True)
class View:
    """What is asked for.

    Attributes:
        trace_id: only the trace with this id, or whose id starts with it.
        steps: the numbers of the steps that the timeline shows; None for all.
        step: one step to be shown in full.
        width: terminal cells a line.
    """

    trace_id: str = ""
    steps: range | None = None
    step: int | None = None
    width: int = 80


@dataclass(slots=True)
class Inspection:
    """One source, read as its lines are taken.

    Attributes:
        sanitized: show the traces as they would be kept.
        case_id: the source is a run's folder, and this case's replay is shown, of the sample `number` (see
            `app.kept_replay`).
        report: what was read, passed over and unreadable; whole when the source has been read.
        seen: traces that the view chose.
    """

    source: str
    settings: Settings
    format: str | None = None
    sanitized: bool = False
    case_id: str = ""
    number: int | None = None
    report: ReadReport = field(default_factory=ReadReport)
    seen: int = 0

    def traces(self, view: View) -> Iterator[Trace]:
        """The traces that a view chooses; a bad file is noted in the report, and the others are read."""
        sanitizer = make_sanitizer(self.settings, self.source) if self.sanitized else None
        for trace in self._loaded():
            if sanitizer is not None:
                trace = sanitizer.trace(trace)
            if trace.id.startswith(view.trace_id):
                self.seen += 1
                yield configured(trace, self.settings)

    def lines(self, view: View) -> Iterator[Line]:
        """What people see.

        Raises:
            InputError: there is no such trace or step.
        """
        traces = self.traces(view)
        first = [*islice(traces, _SHOWN_WHOLE + 1)]
        if view.step is not None:
            yield from self._whole_steps(chain(first, traces), view.step)
        elif len(first) > _SHOWN_WHOLE:
            yield from (trace_line(trace, view.width) for trace in chain(first, traces))
        else:
            for trace in first:
                yield from trace_lines(trace, width=view.width, only=view.steps)
                yield ()
        yield from report_lines(self.report, view.width)
        self._refuse_nothing(view)

    def exit_code(self) -> ExitCode:
        """What the command exits with: the gravest of what could not be read."""
        return max((error.exit_code for error in self.report.unreadable), default=ExitCode.DONE)

    def _loaded(self) -> Iterator[Trace]:
        if self.case_id:
            yield kept_replay(Path(self.source), self.case_id, self.number)
        else:
            yield from load_traces(self.source, format=self.format, report=self.report, keep_going=True)

    def _whole_steps(self, traces: Iterator[Trace], seq: int) -> Iterator[Line]:
        found = False
        for trace in traces:
            step = next((each for each in trace.steps if each.seq == seq), None)
            if step is not None:
                found = True
                yield from whole_step(trace, step)
                yield ()
        if not found and self.seen:
            raise InputError(f"there is no step {seq}", self.source, f"evalkit inspect {self.source} shows the steps")

    def _refuse_nothing(self, view: View) -> None:
        if not self.seen and view.trace_id and not self.report.unreadable:
            raise InputError(f"no trace with id {view.trace_id!r}", self.source, f"evalkit inspect {self.source}")


def trace_json(trace: Trace) -> dict[str, Any]:
    """A trace, for `inspect --json`."""
    lacks = find_lacks(trace)
    found = evidence(trace, lacks)
    return {
        "id": trace.id,
        "name": trace.name,
        "dialect": trace.dialect,
        "status": trace.status,
        "input": trace.input,
        "output": trace.output,
        "error": error_json(trace.error),
        "attributes": dict(trace.attributes),
        "totals": totals(trace).as_json(),
        "evidence": {"score": found.score, "gaps": list(found.gaps)},
        "modes": open_modes(trace, lacks),
        "suspects": [
            {"step": s.step, "shown_by": s.shown_by, "reason": s.reason, "weight": s.weight} for s in locate(trace)
        ],
        "steps": [step_json(step) for step in trace.steps],
    }


def report_json(report: ReadReport) -> dict[str, Any]:
    """What reading a source came to."""
    return {
        "steps": dict(report.steps),
        "skipped": dict(report.skipped),
        "unknown": dict(report.unknown),
        "passed_over": dict(report.passed_over),
        "unreadable": [{"where": error.where, "what": error.what, "cure": error.cure} for error in report.unreadable],
    }
