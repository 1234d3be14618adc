"""`evalkit record`: run a command and record its agent."""

from __future__ import annotations

import os
from pathlib import Path

import click

from evalkit.cli.common import project, say

__all__ = ["record"]


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--out", type=click.Path(path_type=Path), default=Path("run.trace"), show_default=True)
@click.option("--name", default=None, help="The agent's name in the trace.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def record(context: click.Context, out: Path, name: str | None, command: tuple[str, ...]) -> None:
    """Run COMMAND and record its agent: evalkit record -- python agent.py

    Model calls are captured at the HTTP client, tools where the `tool` decorator marks them; the agent's code is not
    touched. What is written is sanitized by the rules of this folder's evalkit.toml. The exit code is the command's.
    """
    from evalkit.app.recording import record_command

    code = record_command(command, out, name, project(), os.environ)
    if out.exists():
        say(f"recorded {out}", err=True)
    context.exit(code)
