"""What the commands share: settings, tables, JSON, safe text."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from evalkit.app.settings import Settings, load_settings
from evalkit.trace.visible import one_line

__all__ = ["as_json", "echo_json", "print_table", "project", "say"]

F = TypeVar("F", bound=Callable[..., Any])
_WIDTH = 80


def project() -> Settings:
    """The settings of the project in this folder."""
    return load_settings(Path(), os.environ)


def as_json(command: F) -> F:
    """The ``--json`` flag of every command that prints a table."""
    return click.option("--json", "as_json", is_flag=True, help="JSON on stdout, people's text on stderr.")(command)


def echo_json(value: Any) -> None:
    """Data for machines, on stdout."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, sort_keys=True)
    sys.stdout.write("\n")


def say(text: str, *, err: bool = False) -> None:
    """A line for people; what comes from a trace must have gone through `one_line` or `visible`."""
    click.echo(text, err=err)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: int) -> None:
    """A table that fits the terminal; the column `flexible` gives way.

    Every cell is made safe to show.
    """
    width = _terminal_width()
    safe = [[one_line(cell, width) for cell in row] for row in rows]
    widths = [
        max(len(head[at]), *(len(row[at]) for row in safe), 0) if safe else len(head[at]) for at in range(len(head))
    ]
    rest = sum(widths) - widths[flexible] + 2 * (len(head) - 1)
    widths[flexible] = max(min(widths[flexible], width - rest), 10)
    for row in [list(head), *safe]:
        cells = [one_line(cell, widths[at]).ljust(widths[at]) for at, cell in enumerate(row)]
        click.echo("  ".join(cells).rstrip())


def _terminal_width() -> int:
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns, 60)
    except (OSError, ValueError):
        return _WIDTH
