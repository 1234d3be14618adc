"""The command line of a program that was recorded from outside, as the program's own code reads it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evalkit.canonical import Json

__all__ = ["own_arguments", "recorded_line"]

_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})
"""Options of the interpreter whose value is the next word."""


@contextmanager
def recorded_line(given: Json) -> Iterator[None]:
    """While inside, `sys.argv` is the one of the recorded program, where the case's input tells it.

    Args:
        given: the input; ``{"argv": [...]}`` is what `evalkit record` writes.
    """
    line = given.get("argv") if isinstance(given, dict) else None
    if not isinstance(line, list):
        yield
        return
    before = sys.argv
    sys.argv = own_arguments([str(word) for word in line])
    try:
        yield
    finally:
        sys.argv = before


def own_arguments(line: Sequence[str]) -> list[str]:
    """`sys.argv` of a program by the words that Python was started with: ``python -X dev agent.py A-7``."""
    words = iter(line[1:])
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif word == "-m":
            return [*words]  # the module's name stands for its file, which Python puts there
        elif word == "-c":
            next(words, None)
            return ["-c", *words]
        elif not word.startswith("-"):
            return [word, *words]
    return [""]
