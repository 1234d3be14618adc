"""A summary for a pull request or a CI step: the decision first, then what needs attention, the rest folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalkit.figures import counted
from evalkit.report.escapes import MARKS, code, escaped
from evalkit.report.model import ReportModel
from evalkit.report.row import Row
from evalkit.report.rows import Rows

__all__ = ["render_markdown"]

_NOTICES = 8
_ROWS = (20, 10, 5, 1)
"""Rows of a table and cases told below it at most; fewer where foreign text makes them long."""
_MAX_CHARACTERS = 60_000
"""GitHub takes no longer comment than 65,536 characters."""


def render_markdown(model: ReportModel) -> str:
    """The summary's text."""
    found = ""
    for most in _ROWS:
        found = "\n".join([*_head(model), *_table(model, most), *_folded(model, most), *_conditions(model), ""])
        if len(found) <= _MAX_CHARACTERS:
            break
    return found


def _head(model: ReportModel) -> Iterator[str]:
    yield f"## {MARKS[model.decision.outcome]} {model.headline}"
    yield ""
    yield escaped(model.reason)
    yield ""
    found = ", ".join(
        f"{tally.count:,} {tally.label}" for tally in model.tallies if tally.count and tally.key != "gate"
    )
    yield f"{model.summary}: {found}." if found else f"{model.summary}."
    yield ""
    yield from (f"- ⚠️ {escaped(note)}" for note in model.notes[:_NOTICES])
    if model.notes:
        yield ""
    notices = [*model.blocking, *model.inconclusive]
    for notice in notices[:_NOTICES] if len(notices) > 1 else ():
        yield f"- {code(notice.case_id)}: {escaped(notice.sentence)}"
    if len(notices) > _NOTICES:
        yield f"- and {len(notices) - _NOTICES:,} more"
    if len(notices) > 1:
        yield ""


def _table(model: ReportModel, most: int) -> Iterator[str]:
    """What asks for attention; the gates that pass are folded."""
    if model.loud:
        yield from _table_of(model.loud, most)
    if quiet := model.quiet_gates:
        told = counted(len(quiet), "permanent gate")
        yield f"<details><summary>{told} {'passes' if len(quiet) == 1 else 'pass'}</summary>"
        yield ""
        yield from _table_of(quiet, most)
        yield "</details>"
        yield ""


def _table_of(rows: Rows, most: int) -> Iterator[str]:
    yield "| case | verdict | passed | rate (95% interval) | baseline | adjusted p |"
    yield "|---|---|---|---|---|---|"
    yield from map(_table_row, rows[:most])
    yield ""
    if len(rows) > most:
        yield f"and {counted(len(rows) - most, 'case')} more: see the report"
        yield ""


def _table_row(row: Row) -> str:
    lock = " 🔒 permanent gate" if row.verdict.permanent else ""
    word = f"**{row.word}**" if not row.quiet else row.word
    change = "".join(f", {remark}" for remark in row.remarks if remark not in ("no baseline", "no change shown"))
    rate = f"{row.rate} ({row.interval})" if row.interval else row.rate
    cells = [code(row.verdict.case_id) + lock, word + change, row.counts, rate, row.baseline, escaped(row.p_adjusted)]
    return f"| {' | '.join(cells)} |"


def _folded(model: ReportModel, most: int) -> Iterator[str]:
    for row in model.loud[:most]:
        yield f"<details><summary>{code(row.verdict.case_id)}: {escaped(row.title)}</summary>"
        yield ""
        yield f"- {escaped(row.reason)}"
        for _, sentence, count in row.verdict.failing_checks:
            yield f"- failed in {counted(count, 'sample')}: {escaped(sentence)}"
        yield f"- reproduce: {code(row.command)}"
        yield ""
        yield "</details>"
        yield ""


def _conditions(model: ReportModel) -> Iterator[str]:
    yield "<details><summary>Conditions of the run</summary>"
    yield ""
    yield from _bullets(model.conditions)
    yield ""
    yield "</details>"


def _bullets(facts: Sequence[tuple[str, str]]) -> Iterator[str]:
    return (f"- {escaped(label)}: {code(value)}" for label, value in facts)
