"""Commands on a suite's nights: trend."""

from __future__ import annotations

import click

from evalkit.cli.common import as_json, echo_json, print_table, say

__all__ = ["trend"]


@click.command()
@click.argument("suite")
@click.option("--last", type=click.IntRange(1), help="Only so many nights, the newest.")
@click.option("--case", "case_id", default="", help="The nights of one case.")
@as_json
def trend(suite: str, last: int | None, case_id: str, as_json: bool) -> None:
    """A suite over its nights: pass rates, cost, and where they changed.

    SUITE is its name, its file, or a history file. Whole runs of a suite as its file has it are kept; others with
    `evalkit run --history`.
    """
    from evalkit.app.nights import suite_trend
    from evalkit.app.show_nights import TREND_HEAD, shift_lines, trend_json, trend_rows
    from evalkit.cli.common import project

    found = suite_trend(suite, project(), last=last or 0)
    if as_json:
        echo_json(trend_json(found, case_id))
        return
    print_table(TREND_HEAD, trend_rows(found, case_id), flexible=len(TREND_HEAD) - 1)
    for line in shift_lines(found, case_id):
        say(line)
