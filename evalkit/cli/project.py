"""Commands that set up and show: init, demo, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.cli.common import as_json, echo_json, project, say
from evalkit.project import project_root

if TYPE_CHECKING:
    from evalkit.app.init import Ci

__all__ = ["demo", "doctor", "init"]


@click.command()
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@click.option("--ci", type=click.Choice(["github", "gitlab"]), help="Also the jobs: release gate and nightly.")
def init(force: bool, ci: Ci | None) -> None:
    """Set a project up: evalkit.toml, folders, two suites. Nothing is overwritten."""
    from evalkit.app.init import init_project

    for path, wrote in init_project(Path(), force=force, ci=ci):
        say(f"{'wrote' if wrote else 'kept '} {path}")
        if path.name == ".gitlab-ci.yml" and not wrote:
            say("      add to it: include: [{local: .gitlab/evalkit.yml}]")
    above = project_root(Path.cwd().parent)
    if above is not None:
        say(f"note: this folder is a project of its own now, with its own cases, inside of the one at {above}")
    say("next: evalkit ingest incident.trace")


@click.command()
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder, and keep it.")
def demo(keep: Path | None) -> None:
    """The whole loop, offline: record, ingest, promote, run the buggy agent (BLOCKED), run the fixed one (PASS)."""
    from evalkit.app.demo.walk import walk

    walk(keep, say=say)


@click.command()
@as_json
def doctor(as_json: bool) -> None:
    """What this machine can do: which layers keep a replay from the world, Python, extras, keys, git."""
    from evalkit.app.doctor import doctor_json, doctor_lines, examine

    layers, findings = examine(project())
    if as_json:
        echo_json(doctor_json(layers, findings))
        return
    for line in doctor_lines(layers, findings):
        say(line)
