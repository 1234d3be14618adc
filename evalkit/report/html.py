"""A run's page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit.report.model import ReportModel
from evalkit.report.packed import entry
from evalkit.report.page import render_page
from evalkit.report.row import Row

__all__ = ["html_parts", "render_html"]


def render_html(model: ReportModel) -> str:
    """The whole file's text."""
    return "".join(html_parts(model))


def html_parts(model: ReportModel) -> Iterator[str]:
    """The same in parts: that of very many cases is large."""
    entries = (
        _entry(row, section.key, folded)
        for section in model.sections
        for folded, rows in ((False, section.rows), (True, section.folded))
        for row in rows
    )
    return render_page("page.html", "macros/row.html", model.rows, entries, report=model)


def _entry(row: Row, section: str, folded: bool) -> dict[str, Any]:
    own = row.verdict
    return entry(
        own.case_id,
        section=section,
        folded=folded,
        keys=row.keys,
        numbers={"rate": own.rate, "p": own.p_adjusted, "lost": -row.lost, "cost": -own.cost_usd},
        chosen={"tag": own.tags, "signature": [own.signature], "owner": [own.owner]},
        text=row.search_text,
    )
