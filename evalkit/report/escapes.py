"""Foreign text in what CI services read: Markdown, and the commands that GitHub's runner finds in a job's output."""

from __future__ import annotations

import re

from evalkit.report.text import cut
from evalkit.trace.visible import visible
from evalkit.verdict.model import GateOutcome

__all__ = ["MARKS", "code", "escaped", "github_command", "github_line"]

MARKS: dict[GateOutcome, str] = {"PASS": "✅", "BLOCKED": "⛔", "INCONCLUSIVE": "❔"}
"""The decision's sign in Markdown."""
_MAX_TEXT = 300
_SIGNS = re.compile(r"[&<>|`*_\[\]\\~!$^{}]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_CALLS = re.compile(r"@|(?<!&)#|\bGH(?=-\d)", re.IGNORECASE)  # a reference's own number sign stays
_OLD_COMMAND = re.compile(r"##(?=\[)")


def escaped(text: str) -> str:
    """Text as Markdown that shows it as it is.

    Every sign that Markdown or HTML reads is a character reference; an at sign, a number sign and the GH of ``GH-12``
    are followed by an empty comment, so that nobody is notified and no issue is linked.
    """
    shown = _SIGNS.sub(lambda match: f"&#{ord(match[0])};", visible(cut(text, _MAX_TEXT)))
    return _CALLS.sub(r"\g<0><!-- -->", shown)


def code(text: str) -> str:
    """The same, as code."""
    return f"<code>{escaped(text)}</code>"


def github_command(command: str, message: str, **properties: str) -> str:
    """A workflow command of GitHub Actions, one line: ``::error file=...,title=...::message``.

    The runner reads a percent sign and, in properties, colons and commas; a line break would begin a new line, in which
    foreign text could give commands of its own.
    """
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{command}{' ' if given else ''}{given}::{_data(message)}"


def github_line(text: str) -> str:
    """An ordinary line of a job's output in which the runner finds no command.

    It looks for ``::`` at a line's start, after any white space, and for its old form ``##[`` anywhere.
    """
    shown = _OLD_COMMAND.sub("## ", visible(text))
    return ": :" + shown.lstrip()[2:] if shown.lstrip().startswith("::") else shown


def _data(text: str) -> str:
    text = _OLD_COMMAND.sub("## ", text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
