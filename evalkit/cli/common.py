"""What the commands share: settings, tables, JSON, safe text."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalkit.app.settings import Settings
from evalkit.app.settings_read import settings_here
from evalkit.cli.given import is_given
from evalkit.trace.visible import one_line

if TYPE_CHECKING:
    from evalkit.report.timeline import Line, Role

__all__ = [
    "SUITE",
    "as_json",
    "coloured",
    "echo_json",
    "options",
    "print_table",
    "project",
    "refuse_ignored",
    "say",
    "say_line",
    "step_range",
    "terminal_width",
]

F = TypeVar("F", bound=Callable[..., Any])
_WIDTH = 80
_COLOURS: dict[Role, dict[str, Any]] = {
    "": {},
    "faint": {"dim": True},
    "strong": {"bold": True},
    "model": {"fg": "blue"},
    "tool": {"fg": "cyan"},
    "write": {"fg": "yellow", "bold": True},
    "error": {"fg": "red"},
    "suspect": {"fg": "magenta", "bold": True},
}


def project() -> Settings:
    """The settings of the project that this folder is in."""
    return settings_here(os.environ)


class _Suite(click.ParamType):  # type: ignore[type-arg]  # older versions of click have no arguments there
    """A suite: its file, or its name, which stands for the file in the project's folder of suites."""

    name = "suite"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The file."""
        from evalkit.app.nights import suite_file

        return suite_file(value, project())


SUITE = _Suite()


def as_json(command: F) -> F:
    """The ``--json`` flag of every command that prints a table."""
    return click.option("--json", "as_json", is_flag=True, help="JSON on stdout, people's text on stderr.")(command)


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Options and arguments that several commands share, as one decorator; help shows them in this order."""

    def decorate(command: F) -> F:
        for one in reversed(decorators):
            command = one(command)
        return command

    return decorate


def refuse_ignored(context: click.Context, allowed: set[str], why: str) -> None:
    """Refuses options that are given and would be ignored.

    Args:
        allowed: parameters that mean something here.
        why: ends the sentence.
    """
    names = {param.name: param.opts[0] for param in context.command.params if isinstance(param, click.Option)}
    for name in context.params:
        if name in names and name not in allowed and is_given(context, name):
            raise click.UsageError(f"{names[name]} means nothing here: {why}")


def echo_json(value: Any) -> None:
    """Data for machines, on stdout; with escapes where its encoding lacks characters."""
    escaped = not (sys.stdout.encoding or "").lower().startswith("utf")
    json.dump(value, sys.stdout, ensure_ascii=escaped, indent=2, sort_keys=True)
    sys.stdout.write("\n")


def say(text: str, *, err: bool = False) -> None:
    """A line for people; what comes from a trace must have gone through `one_line` or `visible`."""
    click.echo(text, err=err)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: int) -> None:
    """A table that fits the terminal; the column `flexible` gives way.

    Every cell is made safe to show.
    """
    width = terminal_width()
    safe = [[one_line(cell, width) for cell in row] for row in rows]
    widths = [
        max(len(head[at]), *(len(row[at]) for row in safe), 0) if safe else len(head[at]) for at in range(len(head))
    ]
    rest = sum(widths) - widths[flexible] + 2 * (len(head) - 1)
    widths[flexible] = max(min(widths[flexible], width - rest), 10)
    for row in [list(head), *safe]:
        cells = [one_line(cell, widths[at]).ljust(widths[at]) for at, cell in enumerate(row)]
        click.echo("  ".join(cells).rstrip())


def say_line(line: Line) -> None:
    """A line of a page, in colours where they are wanted."""
    text = "".join(span.text for span in line).rstrip()
    if coloured():
        text = "".join(click.style(span.text, **_COLOURS[span.role]) for span in line)
    click.echo(text)


def step_range(context: click.Context, param: click.Parameter, value: str | None) -> range | None:
    """An option's step numbers: ``7``, ``10-20`` (both included), ``10-``."""
    if value is None:
        return None
    first, dash, last = value.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise click.BadParameter(f"{value!r} is no range of steps such as 10-20", context, param)
    if not dash:
        return range(int(first), int(first) + 1)
    if last and int(last) < int(first):
        raise click.BadParameter(f"{value!r} ends before it begins", context, param)
    return range(int(first), int(last) + 1 if last else sys.maxsize)


def terminal_width() -> int:
    """Cells of a line: the terminal's, 80 where there is none."""
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns, 60)
    except (OSError, ValueError):
        return _WIDTH


def coloured() -> bool:
    """Whether colours are wanted: on a terminal, and without NO_COLOR (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
