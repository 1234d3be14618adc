"""The command that shows what sanitizing does."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit.cli.common import as_json, coloured, echo_json, project, say

__all__ = ["sanitize"]


@click.command()
@click.argument("traces", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="Write the sanitized trace to this file.")
@click.option("--tag", "tags", multiple=True, help="Try the rules for cases with this tag.")
@click.option("--show-raw", is_flag=True, help="Show what stood there before; masked otherwise.")
@click.option("--format", "format", default=None, help="The traces' dialect; found by content otherwise.")
@as_json
def sanitize(
    traces: tuple[str, ...], out: Path | None, tags: tuple[str, ...], show_raw: bool, format: str | None, as_json: bool
) -> None:
    """What the project's rules change in TRACES: place, before, after. Writes nothing without --out."""
    from evalkit.app.sanitizing import sanitize_source, sanitized_json, sanitized_lines, write_sanitized

    if out is not None and len(traces) > 1:
        raise click.UsageError("--out names one file; several traces were given")
    settings = project()
    bodies = []
    for source in traces:
        found, harvested = sanitize_source(source, settings, format=format, tags=tags)
        for one in found:
            bodies.append(sanitized_json(one, show_raw=show_raw))
            if not as_json:
                for line in sanitized_lines(one, _paint, show_raw=show_raw):
                    say(line)
        if out is not None:
            write_sanitized(found, harvested, out)
            say(f"wrote {out}", err=True)
    if as_json:
        echo_json(bodies)


def _paint(colour: str, text: str) -> str:
    return click.style(text, fg=colour) if coloured() else text
