"""A summary for a pull request or a CI step: the decision first, then what needs attention, the rest folded.

Text of traces is written with character references for every sign that Markdown or HTML reads; an at sign or a number
sign is followed by an empty comment, so that nobody is notified and no issue is linked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evalkit.report.model import ReportModel
from evalkit.report.row import Row
from evalkit.report.text import counted, cut
from evalkit.trace.visible import visible

__all__ = ["render_markdown"]

_MARKS = {"PASS": "✅", "BLOCKED": "⛔", "INCONCLUSIVE": "❔"}
_MAX_ROWS = 50
_MAX_TEXT = 300
_SIGNS = re.compile(r"[&<>|`*_\[\]\\~!$^{}]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_CALLS = re.compile(r"@|(?<!&)#")  # a reference's own number sign stays


def render_markdown(model: ReportModel) -> str:
    """The summary's text."""
    return "\n".join([*_head(model), *_table(model), *_folded(model), *_conditions(model), ""])


def _head(model: ReportModel) -> Iterator[str]:
    yield f"## {_MARKS[model.decision.outcome]} {model.headline}"
    yield ""
    yield _escaped(model.reason)
    yield ""
    found = ", ".join(
        f"{tally.count:,} {tally.label}" for tally in model.tallies if tally.count and tally.key != "gate"
    )
    yield f"{model.summary}: {found}." if found else f"{model.summary}."
    yield ""
    notices = [*model.blocking, *model.inconclusive]
    for notice in notices[:_MAX_ROWS] if len(notices) > 1 else ():
        yield f"- {_code(notice.case_id)}: {_escaped(notice.sentence)}"
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
    cells = [_code(row.verdict.case_id) + lock, word + change, row.counts, rate, row.baseline, _escaped(row.p_adjusted)]
    return f"| {' | '.join(cells)} |"


def _folded(model: ReportModel) -> Iterator[str]:
    for row in [row for row in model.rows if not row.quiet][:_MAX_ROWS]:
        yield f"<details><summary>{_code(row.verdict.case_id)}: {_escaped(row.title)}</summary>"
        yield ""
        yield f"- {_escaped(row.reason)}"
        for _, sentence, count in row.verdict.failing_checks:
            yield f"- failed in {counted(count, 'sample')}: {_escaped(sentence)}"
        yield f"- reproduce: {_code(row.command)}"
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
    return (f"- {_escaped(label)}: {_code(value)}" for label, value in facts)


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    shown = _SIGNS.sub(lambda match: f"&#{ord(match[0])};", visible(cut(text, _MAX_TEXT)))
    return _CALLS.sub(r"\g<0><!-- -->", shown)
