"""`evalkit scan`: the library against production traces."""

from __future__ import annotations

import click

from evalkit.cli.common import as_json, echo_json, project, say
from evalkit.errors import ExitCode
from evalkit.figures import counted
from evalkit.trace.visible import visible

__all__ = ["scan"]


@click.command()
@click.argument("traces", nargs=-1, required=True)
@click.option("--format", "format", default=None, help="The traces' dialect; found by content otherwise.")
@as_json
@click.pass_context
def scan(context: click.Context, traces: tuple[str, ...], format: str | None, as_json: bool) -> None:
    """Look for the library's incidents in production TRACES; 1 if one has come back."""
    from evalkit.app.scan import scan_traces, scanned_json, scanned_lines
    from evalkit.trace.formats.protocol import ReadReport

    report = ReadReport()
    count = 0
    found = []
    for one in scan_traces(traces, project(), format=format, report=report):
        count += 1
        if one.found:
            found.append(one)
            if not as_json:
                for line in scanned_lines(one):
                    say(line)
    if as_json:
        echo_json({"traces": count, "found": [scanned_json(one) for one in found]})
    say(
        f"{counted(count, 'trace')}, {len(found)} {'repeats' if len(found) == 1 else 'repeat'} an incident", err=as_json
    )
    for reason, times in sorted(report.skipped.items()):
        say(f"  source: {visible(reason)} ({times})", err=True)
    context.exit(int(ExitCode.BLOCKED if found else ExitCode.DONE))
