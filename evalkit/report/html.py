"""A run's page."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.report.model import ReportModel
from evalkit.report.packed import STATIC_DETAILS, STATIC_ROWS, Packed, entry, pack
from evalkit.report.page import Rows, render_page
from evalkit.report.row import Row

__all__ = ["render_html"]


def render_html(model: ReportModel) -> str:
    """The whole file's text."""
    anchors = [row.anchor for row, _ in zip(model.rows, range(STATIC_ROWS), strict=False)]
    static, told = frozenset(anchors), frozenset(anchors[:STATIC_DETAILS])
    packed = pack(_packed(model, static, told))
    return render_page("page.html", packed=packed, report=model, static=static, told=told)


def _packed(model: ReportModel, static: frozenset[str], told: frozenset[str]) -> Iterator[Packed]:
    draw = Rows("macros/row.html")
    for section in model.sections:
        for folded, rows in ((False, section.rows), (True, section.folded)):
            for row in rows:
                yield Packed(
                    _entry(row, section.key, folded),
                    "" if row.anchor in static else draw.row(row),
                    "" if row.anchor in told else draw.below(row),
                )


def _entry(row: Row, section: str, folded: bool) -> dict[str, object]:
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
