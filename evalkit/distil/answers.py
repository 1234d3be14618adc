"""The number that the agent gave when the user asked for one: what a healthy run told, and an incident may not have.

Of all the numbers in a conversation few are promises. One is an answer when the user has just asked for a quantity and
the reply gives a single number, or calls one a total; a number that the user said first is none.
"""

from __future__ import annotations

import re

from evalkit.canonical import Json
from evalkit.check.telling import numbers_in
from evalkit.trace.model import USER_MESSAGE, Step, Trace

__all__ = ["numbers_answered"]

_QUESTION = re.compile(r"\bhow (much|many)\b|\btotal\b|\bin all\b|\baltogether\b", re.IGNORECASE)
_TOTAL = re.compile(r"\btotal|\baltogether\b|\boverall\b|\bin all\b|\bsum\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def numbers_answered(trace: Trace) -> list[float]:
    """The numbers that the agent gave as answers, in order, each once."""
    found: dict[float, None] = {}
    users: set[float] = set()
    asked = False
    for step in trace.steps:
        said = _said(step)
        if not said:
            continue
        if step.name == USER_MESSAGE:
            asked = _QUESTION.search(said) is not None
            users.update(numbers_in(said))
        elif step.kind == "model" and asked:
            asked = False
            found.update(dict.fromkeys(number for number in _answer(said) if number not in users))
    return list(found)


def _answer(text: str) -> list[float]:
    totals = [number for part in _SENTENCE.split(text) if _TOTAL.search(part) for number in numbers_in(part)]
    if totals:
        return totals[-1:]
    every = list(dict.fromkeys(numbers_in(text)))
    return every if len(every) == 1 else []


def _said(step: Step) -> str:
    content: Json = step.output.get("content") if isinstance(step.output, dict) else None
    return content if isinstance(content, str) else ""
