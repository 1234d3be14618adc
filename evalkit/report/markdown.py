"""A summary for a pull request or a CI step: the decision first, then what needs attention, the rest folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalkit.report.escapes import MARKS, code, escaped
from evalkit.report.model import ReportModel
from evalkit.report.row import Row
from evalkit.report.text import counted

__all__ = ["render_markdown"]

_MAX_ROWS = 50


def render_markdown(model: ReportModel) -> str:
    """The summary's text."""
    return "\n".join([*_head(model), *_table(model), *_folded(model), *_conditions(model), ""])


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
    yield from (f"- ⚠️ {escaped(note)}" for note in model.notes)
    if model.notes:
        yield ""
    notices = [*model.blocking, *model.inconclusive]
    for notice in notices[:_MAX_ROWS] if len(notices) > 1 else ():
        yield f"- {code(notice.case_id)}: {escaped(notice.sentence)}"
    if len(notices) > _MAX_ROWS:
        yield f"- and {len(notices) - _MAX_ROWS:,} more"
    if len(notices) > 1:
        yield ""


def _table(model: ReportModel) -> Iterator[str]:
    loud = [row for row in model.rows if row.verdict.permanent or not row.quiet]
    loud.sort(key=lambda row: row.quiet)
    if not loud:
        return
    yield "| case | verdict | passed | rate (95% interval) | baseline | adjusted p |"
    yield "|---|---|---|---|---|---|"
    for row in loud[:_MAX_ROWS]:
        yield _table_row(row)
    yield ""
    if len(loud) > _MAX_ROWS:
        yield f"and {counted(len(loud) - _MAX_ROWS, 'case')} more: see the report"
        yield ""


def _table_row(row: Row) -> str:
    lock = " 🔒 permanent gate" if row.verdict.permanent else ""
    word = f"**{row.word}**" if not row.quiet else row.word
    change = "".join(f", {remark}" for remark in row.remarks if remark not in ("no baseline", "no change shown"))
    rate = f"{row.rate} ({row.interval})" if row.interval else row.rate
    cells = [code(row.verdict.case_id) + lock, word + change, row.counts, rate, row.baseline, escaped(row.p_adjusted)]
    return f"| {' | '.join(cells)} |"


def _folded(model: ReportModel) -> Iterator[str]:
    for row in [row for row in model.rows if not row.quiet][:_MAX_ROWS]:
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
