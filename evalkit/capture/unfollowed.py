"""Calls that no replay can follow are refused: nobody would see what was done, and nothing real may be done.

A Python process that an agent starts in its replay knows of that by a variable of its environment (`REPLAYED`).
Whatever it calls through evalkit is refused there, from the first import on; and it tells the replay, in the file that
the variable names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import NoReturn

from evalkit.capture.http import http_capture
from evalkit.capture.seam import Answer, Call, Session
from evalkit.trace.model import Step

__all__ = ["REPLAYED", "Refusing", "Unfollowed", "refuse_from_environment", "refuse_here", "tell"]

REPLAYED = "EVALKIT_REPLAYED"
"""Is set where an agent is replayed or loaded for that, to the file that refused calls are told in."""

_OPEN = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)

_FOR_GOOD = ExitStack()
"""What is entered and never left."""


class Unfollowed(RuntimeError):
    """Is raised in place of an answer; unlike a halt it ends no pool or loop that a later replay may need."""


class Refusing:
    """Has no answers."""

    def __init__(self, refuse: Callable[[Call], NoReturn]) -> None:
        self._refuse = refuse

    def answer(self, call: Call) -> Answer:
        """Refuses."""
        self._refuse(call)


def refuse_from_environment() -> None:
    """What this process calls is refused, model calls over HTTP too, because a replayed agent started it."""
    _FOR_GOOD.enter_context(http_capture())
    refuse_here()


def refuse_here() -> None:
    """From now on whatever this process calls outside of a replay of its own is refused."""
    told_in = os.environ.get(REPLAYED, os.devnull)  # an agent's module may have emptied it

    def refuse(call: Call) -> NoReturn:
        sentence = f"{call.kind} {call.name} was called in a process that the agent started, where no replay can follow"
        tell(sentence, told_in)
        raise Unfollowed(sentence)

    _FOR_GOOD.enter_context(Session(Refusing(refuse), _Unheard(), time.time).alone())


def tell(sentence: str, told_in: str) -> None:
    """Tells a replay in another process what was refused here."""
    try:
        file = os.open(told_in, _OPEN, 0o600)
    except OSError:  # another user's process, say; it is refused all the same
        return
    try:
        os.write(file, f"{sentence}\n".encode("utf-8", "replace"))
    finally:
        os.close(file)


class _Unheard:
    """An observer that keeps nothing."""

    def started(self, step: Step) -> None:
        pass

    def ended(self, step: Step) -> None:
        pass
