"""Whether an option was given, and options that are given and empty: all commands refuse them."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["is_given", "refusing_empty"]


def is_given(context: click.Context, name: str) -> bool:
    """Whether a parameter stands in the command line."""
    return context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE


def refusing_empty(command: click.Command) -> click.Command:
    """The command, which refuses an option that is given and empty, as a variable is that nobody set."""
    for param in command.params:
        if isinstance(param, click.Option) and param.callback is None:
            param.callback = _not_empty
    if isinstance(command, click.Group):
        for part in command.commands.values():
            refusing_empty(part)
    return command


def _not_empty(context: click.Context, param: click.Parameter, value: Any) -> Any:
    empty = value == "" or (isinstance(value, tuple) and "" in value)
    if empty and is_given(context, str(param.name)):
        raise click.BadParameter("is empty: say what, or leave the option out", context, param)
    return value
