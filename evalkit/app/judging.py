"""`evalkit judge`: a case's checks on traces that exist, brought into the case's sanitized world first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalkit.app.ingest import configured
from evalkit.app.keys import library_register, make_sanitizer
from evalkit.app.settings import Settings
from evalkit.case.store import find_case, read_case
from evalkit.check.judge import compile_checks
from evalkit.check.model import CheckResult
from evalkit.trace.read import load_traces

__all__ = ["Judged", "judge_traces"]


@dataclass(frozen=True, slots=True)
class Judged:
    """One trace with the case's results."""

    trace_id: str
    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every gating check holds."""
        return all(result.passed for result in self.results if result.gating)


def judge_traces(reference: str, source: str, settings: Settings, *, format: str | None = None) -> Iterator[Judged]:
    """Judges each trace of a source by a case's checks.

    Raises:
        InputError: no such case.
        UnreadableTrace: the source can't be read.
    """
    case = read_case(find_case(reference, settings.cases))
    judge = compile_checks(case.checks, case.id)
    known = library_register(settings, case.trace.record.surrogates)
    sanitizer = make_sanitizer(settings, source, case.tags, known)
    for trace in load_traces(source, format=format):
        safe = sanitizer.sanitize([configured(trace, settings)])[0].trace
        yield Judged(safe.id, tuple(judge(safe)))
