"""`evalkit scan`: production traces against the whole library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.app.ingest import configured
from evalkit.app.keys import make_sanitizer
from evalkit.app.settings import Settings
from evalkit.case.store import read_case
from evalkit.distil.recurrence import Recurrence, Watched, Watchlist
from evalkit.errors import InputError
from evalkit.suite.select import list_cases
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from evalkit.trace.visible import visible

__all__ = ["Scanned", "library", "scan_traces", "scanned_json", "scanned_lines"]


@dataclass(frozen=True, slots=True)
class Scanned:
    """One trace with the cases that it repeats."""

    source: str
    trace_id: str
    found: tuple[Recurrence, ...]


def scan_traces(
    sources: Sequence[str], settings: Settings, *, format: str | None = None, report: ReadReport | None = None
) -> Iterator[Scanned]:
    """Judges every trace of some sources, one at a time, by the library's cases that are not retired.

    Raises:
        InputError: there is no case to look for.
        UnreadableTrace: a source can't be read.
    """
    watchlist = library(settings.cases)
    sanitizer = make_sanitizer(settings)

    def sanitized(trace: Trace) -> Trace:
        return sanitizer.sanitize([trace])[0].trace

    for source in sources:
        for trace in load_traces(source, format=format, report=report):
            found = watchlist.find(configured(trace, settings), sanitized)
            yield Scanned(source, sanitizer.text(trace.id), tuple(found))


def library(root: Path) -> Watchlist:
    """The cases under `root` that are not retired.

    Raises:
        InputError: there are none.
    """
    cases = [read_case(one.path) for one in list_cases(root) if one.state != "retired"]
    if not cases:
        raise InputError("there is no case to look for", str(root), "evalkit ingest incident.trace makes one")
    return Watchlist(Watched.of(case.id, case.version, case.signature, case.checks, case.incident) for case in cases)


def scanned_json(one: Scanned) -> dict[str, Any]:
    """A trace that repeats incidents, with stable keys."""
    return {
        "source": one.source,
        "trace": one.trace_id,
        "cases": [
            {
                "case": each.case_id,
                "version": each.version,
                "how": each.how,
                "signature": each.signature,
                "steps": [*each.steps],
                "reasons": [result.reason for result in each.results],
            }
            for each in one.found
        ],
    }


def scanned_lines(one: Scanned) -> Iterator[str]:
    """The same for people."""
    yield f"{visible(one.source)}: trace {visible(one.trace_id)}"
    for each in one.found:
        at = ", ".join(map(str, each.steps))
        yield f"  repeats {each.case_id} version {each.version} ({each.how}{f'; steps {at}' if at else ''})"
        for result in each.results:
            yield f"    {visible(result.reason)}"
