"""The command that gives a case another form."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from evalkit.cli.common import project, say

__all__ = ["export"]


@click.command()
@click.argument("case")
@click.option("--pytest", is_flag=True, help="A test that replays it, offline, and asserts what must hold.")
@click.option("--yaml", is_flag=True, help="The case to be read; evalkit does not read it back.")
@click.option("--trace", is_flag=True, help="Its sanitized trace, as a native file.")
@click.option("--target", default="", help="What the test runs; the case's own by default.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="A new file; stdout by default.")
def export(case: str, target: str, out: Path | None, **forms: bool) -> None:
    """A case as a test, as YAML, or as a trace: CASE is an id, id@version, or a file."""
    from evalkit.app.export import FORMS, export_case

    asked = [name for name, given in forms.items() if given]
    if len(asked) != 1:
        raise click.UsageError("say which form: --pytest, --yaml or --trace")
    (form,) = asked
    if target and form != "pytest":
        raise click.UsageError("--target is for --pytest")
    data = export_case(case, project(), FORMS[form], out=out, target=target)
    if out is None:
        sys.stdout.buffer.write(data)
    else:
        say(f"wrote {out}")
