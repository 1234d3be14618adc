"""What a page draws on demand: compressed, inert data in the page, unpacked by its script.

A page of 10,000 cases would be 600,000 elements. So only the most urgent rows stand in the document, and what is below
the most urgent of these; every row has an entry here with what filters and sorting need, and the HTML of what is not in
the document. It is the templates' own output, escaped like the rest, and the page's policy holds for it all the same.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any, Protocol

import orjson

from evalkit.report.model import ReportModel
from evalkit.report.row import Row
from evalkit.report.text import MAX_TEXT, cut
from evalkit.trace.visible import visible

__all__ = ["STATIC_DETAILS", "STATIC_ROWS", "Draw", "first_anchors", "pack_rows"]

STATIC_ROWS = 100
"""Rows that stand in the document itself, and are read without any script."""
STATIC_DETAILS = 20
"""Rows whose drill-down does, too."""
_LEVEL = 6


class Draw(Protocol):
    """The templates' part: a row's HTML, and that of what is told below it."""

    def row(self, row: Row) -> str:
        """The row, with an empty place for what is below it."""
        ...

    def below(self, row: Row) -> str:
        """What is below it."""
        ...


def first_anchors(model: ReportModel, count: int) -> frozenset[str]:
    """The anchors of the most urgent rows."""
    return frozenset(row.anchor for row, _ in zip(model.rows, range(count), strict=False))


def pack_rows(model: ReportModel, static: frozenset[str], told: frozenset[str], draw: Draw) -> str:
    """The rows: deflated (zlib), base64; parts between NUL characters, which no page holds.

    First the entries of all rows as JSON, the most urgent first; then for each entry the HTML of the row and that of
    what is below it, empty for what stands in the document.

    Args:
        static: anchors of the rows that stand in the document.
        told: those whose drill-down does.
    """
    entries: list[dict[str, Any]] = []
    parts: list[str] = []
    for section in model.sections:
        for folded, rows in ((False, section.rows), (True, section.folded)):
            for row in rows:
                entries.append({"section": section.key, "folded": folded, **_entry(row)})
                parts.append("" if row.anchor in static else draw.row(row))
                parts.append("" if row.anchor in told else draw.below(row))
    text = "\0".join([orjson.dumps(entries).decode(), *parts])
    return base64.b64encode(zlib.compress(text.encode(), _LEVEL)).decode()


def _entry(row: Row) -> dict[str, Any]:
    own = row.verdict
    return {
        "id": own.case_id,
        "keys": row.keys,
        "rate": own.rate,
        "p": own.p_adjusted,
        "lost": row.lost,
        "cost": own.cost_usd,
        "tag": [_plain(tag) for tag in own.tags],
        "signature": [_plain(own.signature)],
        "owner": [_plain(own.owner)],
        "text": _plain(row.search_text),
    }


def _plain(text: str) -> str:
    """As the templates write it, so that a choice in a list and a row's value are equal."""
    return visible(cut(text, MAX_TEXT))
