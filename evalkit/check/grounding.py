"""Identifiers that a write is given must have been seen: in the input, the prompts, the user's turns or a result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from evalkit.canonical import Json
from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, texts
from evalkit.check.view import by_user, shown
from evalkit.trace.flow import leaves
from evalkit.trace.model import Step, Trace

__all__ = ["ARGUMENTS_GROUNDED", "is_identifier", "ungrounded"]

_IDENTIFIER = re.compile(r"(?=[^\d]*\d)[\w#@./:+-]{4,200}")
_DATE_OR_TIME = re.compile(r"\d{1,4}[-/.:]\d{1,2}([-/.:]\d{1,4})?([T ].*)?")


class ArgumentsGrounded:
    """Every identifier in the arguments of a write was seen earlier; ``names`` limits it to some tools.

    An identifier is a string without spaces that holds a digit, and no date: numbers are computed, dates are spelt in
    many ways, and words are the agent's own.
    """

    name = "arguments_grounded"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        names = params.get("names")
        of = f" of {' or '.join(names)}" if names else " of a change"
        return f"Every identifier in the arguments{of} was seen before: the agent invents none."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Searches each identifier in all the text before the write."""
        known_only(params, self.name, "names")
        names = frozenset(texts(params, "names", self.name))

        def judge(trace: Trace) -> Finding:
            found = ungrounded(trace, names)
            if not found:
                return Finding(True, "every identifier was seen before it was used")
            said = ", ".join(f"{pointer}={shown(value)} of {step.name}" for step, pointer, value in found[:5])
            return Finding(False, f"never seen before: {said}", tuple(dict.fromkeys(step.seq for step, _, _ in found)))

        return judge


def ungrounded(trace: Trace, names: frozenset[str] = frozenset()) -> list[tuple[Step, str, str]]:
    """The identifiers that a write was given and that were in nothing before it: step, JSON pointer, value.

    Args:
        names: the tools to look at; empty for every write.
    """
    writes = {step.seq for step in trace.steps if _is_write(step) and (not names or step.name in names)}
    if not writes:
        return []
    seen = _Seen()
    seen.add(_text(trace.input))
    prompted = False
    found: list[tuple[Step, str, str]] = []
    for step in trace.steps:
        if step.kind == "model":
            if not prompted:
                prompted = True
                seen.add(_prompts(step.input))
            continue
        if step.seq in writes:
            found += [
                (step, pointer, value) for pointer, value in _identifiers(step.input) if not seen.holds(value.lower())
            ]
        seen.add(_text(step.output))
        if step.error is not None:
            seen.add(step.error.message.lower())
    return found


def is_identifier(value: object) -> bool:
    """Whether a value is a string without spaces that holds a digit, and no date."""
    return (
        isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None and _DATE_OR_TIME.fullmatch(value) is None
    )


class _Seen:
    """All text so far, in a few blocks: as many searches as steps, for each of as many writes, would not end."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._found: set[str] = set()

    def add(self, text: str) -> None:
        while self._blocks and len(self._blocks[-1]) <= len(text):
            text = f"{self._blocks.pop()}\n{text}"  # no identifier goes over the end of a line
        self._blocks.append(text)

    def holds(self, value: str) -> bool:
        if value not in self._found and any(value in block for block in self._blocks):
            self._found.add(value)
        return value in self._found


def _is_write(step: Step) -> bool:
    return step.kind == "tool" and step.effect == "write" and not by_user(step)


def _prompts(given: Json) -> str:
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list):
        return ""
    return _text([m for m in messages if isinstance(m, dict) and m.get("role") in ("system", "user", "tool")])


def _identifiers(value: Json) -> Iterator[tuple[str, str]]:
    for pointer, leaf in leaves(value):
        if isinstance(leaf, str) and is_identifier(leaf):
            yield pointer, leaf


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value.lower()
    if value is None:
        return ""
    try:
        return orjson.dumps(value).decode().lower()
    except TypeError:
        return str(value).lower()


ARGUMENTS_GROUNDED = ArgumentsGrounded()
