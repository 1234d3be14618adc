"""`evalkit coverage`: what the cases test."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit.cli.common import SUITE, as_json, echo_json, print_table, project, say

__all__ = ["coverage"]


@click.command()
@click.argument("suite", type=SUITE, required=False)
@click.option("--traces", multiple=True, metavar="TRACES", help="Production traces: tools that they call count, too.")
@as_json
def coverage(suite: Path | None, traces: tuple[str, ...], as_json: bool) -> None:
    """What the cases of SUITE, or all, test: tools, arguments, decisions, kinds of failure; and what they don't."""
    from evalkit.app.coverage import coverage_json, coverage_lines, library_coverage

    found = library_coverage(project(), suite, traces)
    if as_json:
        echo_json(coverage_json(found))
        return
    print_table(
        ["tool", "effect", "cases", "checked", "answered", "failed", "branches"],
        [
            [
                tool.name, tool.effect, str(tool.cases), str(tool.checked), str(tool.answered), str(tool.failed),
                f"{tool.covered}/{len(tool.branches)}",
            ]
            for tool in found.tools
        ],
        flexible=0,
    )  # fmt: skip
    for line in coverage_lines(found):
        say(line)
