"""What `evalkit ab` shows and leaves: lines for people, ``ab.json``, ``report.html``, ``summary.md``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from evalkit.app.ab_model import ABRun
from evalkit.app.ab_report import ab_html
from evalkit.report.ab_data import ABOrigin, ab_json
from evalkit.report.ab_markdown import render_ab_markdown
from evalkit.report.ab_rows import METRIC_HEAD, case_rows, metric_rows
from evalkit.suite.disk import DiskFault, write_whole
from evalkit.trace.visible import one_line, visible

__all__ = ["ab_lines", "ab_run_json", "write_ab"]

_MAX_CASES = 20
_LEAST = 16
"""Cells that a column of words keeps."""


def ab_run_json(run: ABRun) -> dict[str, Any]:
    """The verdict, and where the runs are."""
    folder = None if run.folder is None else str(run.folder)
    run_a, run_b = map(str, run.runs)
    return ab_json(run.verdict, ABOrigin(folder, run_a, run_b, run.interleaved, run.stopped))


def write_ab(run: ABRun, folder: Path) -> None:
    """Writes what a comparison leaves into a folder; each file appears whole or not at all.

    Raises:
        DiskFault: the disk is full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    body = orjson.dumps(ab_run_json(run), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    files = {
        "ab.json": body,
        "report.html": ab_html(run, folder).encode(),
        "summary.md": render_ab_markdown(run.verdict).encode(),
    }
    try:
        for name, data in files.items():
            write_whole(folder / name, data)
    except DiskFault as error:
        raise DiskFault(error.what, error.where, "make room, then the same command again") from None


def ab_lines(run: ABRun, width: int = 80) -> Iterator[str]:
    """The verdict first, the metrics, the cases that differ, what one must know, where the runs are.

    Args:
        width: cells of a line; tables fit it.
    """
    found = run.verdict
    yield visible(found.sentence)
    yield f"A  {visible(found.a)}"
    yield f"B  {visible(found.b)}"
    if rows := [*metric_rows(found)]:
        yield from _table([METRIC_HEAD, *rows], width)
    cases = case_rows(found)
    compared = sum(pair.better != "not compared" for pair in found.pairs)
    differ = sum(pair.better in ("a", "b") for pair in found.pairs)
    yield f"{differ} of {compared} compared cases are shown to differ"
    yield from (f"  {line}" for line in _table([tuple(row) for row in cases[:_MAX_CASES]], width - 2))
    if len(cases) > _MAX_CASES:
        yield f"  and {len(cases) - _MAX_CASES} more"
    yield from (f"note: {visible(note)}" for note in found.notes)
    if run.stopped and run.folder is not None:
        yield f"go on with evalkit ab --resume {run.folder} --budget ..."
    if run.folder is not None:
        yield f"run {run.folder}"
        yield f"report {run.folder / 'report.html'}"


def _table(rows: list[tuple[str, ...]], width: int) -> Iterator[str]:
    """Columns side by side; where they don't fit, the first and the last one give way: no number is cut."""
    if not rows:
        return
    safe = [[one_line(cell, width) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    for at in sorted((0, len(widths) - 1), key=lambda at: -widths[at]):
        over = sum(widths) + 2 * (len(widths) - 1) - width
        widths[at] -= min(max(over, 0), max(widths[at] - _LEAST, 0))
    for row in safe:
        cells = (one_line(cell, most).ljust(most) for cell, most in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
