"""Agents without tool calls: the model writes a command as text, and the next user message is what it printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import text_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import USER_MESSAGE, Step

__all__ = ["ACTION", "SHELL", "with_text_actions"]

ACTION = "action"
"""Attribute of a model step: the command that the harness took from its text."""
SHELL = "bash"
"""Name of the tool steps made here."""


def with_text_actions(steps: Iterable[Step], report: ReadReport) -> tuple[Step, ...]:
    """The steps of a conversation, with each message that follows a command as the tool step that it was.

    The model's answer stays the text that it is: a replay of such an agent must see it unchanged.
    """
    made: list[Step] = []
    for step in steps:
        command = made[-1].attributes.get(ACTION) if made else None
        if isinstance(command, str) and command and step.name == USER_MESSAGE and isinstance(step.output, dict):
            report.steps[step.kind] -= 1
            report.steps["tool"] += 1
            step = replace(
                step,
                kind="tool",
                name=SHELL,
                input={"command": command},
                output=text_of(step.output),
                effect=guess_effect(SHELL),
                effect_source="guessed",
            )
        made.append(step)
    return tuple(made)
