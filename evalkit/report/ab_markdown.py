"""An A/B verdict for a pull request: the sentence first, the metrics, the cases that differ, the rest folded."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.figures import counted
from evalkit.report.ab_rows import CASE_HEAD, METRIC_HEAD, CaseRow, case_rows, metric_rows
from evalkit.report.escapes import code, escaped
from evalkit.verdict.ab import ABVerdict

__all__ = ["render_ab_markdown"]

_MAX_ROWS = 50


def render_ab_markdown(found: ABVerdict) -> str:
    """The summary's text."""
    return "\n".join([*_head(found), *_metrics(found), *_cases(found), ""])


def _head(found: ABVerdict) -> Iterator[str]:
    yield f"## {escaped(found.sentence)}"
    yield ""
    yield f"- A: {code(found.a)}"
    yield f"- B: {code(found.b)}"
    yield from (f"- {escaped(note)}" for note in found.notes)
    yield ""


def _metrics(found: ABVerdict) -> Iterator[str]:
    rows = list(metric_rows(found))
    if rows:
        yield from _table(METRIC_HEAD, [tuple(map(escaped, row)) for row in rows])


def _cases(found: ABVerdict) -> Iterator[str]:
    loud, every = case_rows(found), case_rows(found, every=True)
    if loud:
        yield from _case_table(loud)
    else:
        yield "No single case is shown to differ."
        yield ""
    if len(every) > len(loud):
        yield f"<details><summary>{counted(len(every), 'case')}</summary>"
        yield ""
        yield from _case_table(every)
        yield "</details>"


def _case_table(rows: list[CaseRow]) -> Iterator[str]:
    shown = [(code(row.case_id), *map(escaped, row[1:])) for row in rows[:_MAX_ROWS]]
    yield from _table(CASE_HEAD, shown)
    if len(rows) > _MAX_ROWS:
        yield f"and {len(rows) - _MAX_ROWS:,} more: see ab.json"
        yield ""


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
