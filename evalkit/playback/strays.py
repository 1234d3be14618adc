"""What an agent does where its replay can't follow: in a process that it forked, or in a thread after its answer.

It gets no answers there, since nobody would see what it did with them; and the case's replay is told, which is missed.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NoReturn

from evalkit.capture.seam import Answer, Call, Session
from evalkit.playback.guard import Guard

__all__ = ["Strays", "Unfollowed"]

_ROOM_BYTES = 4096


class Unfollowed(RuntimeError):
    """Is raised in a forked process in place of an answer; unlike a halt it ends none, for whom a pool would wait."""


class Strays:
    """Tells a process of what the forks and late threads of a case's replays did; one serves them all."""

    def __init__(self) -> None:
        self._room = mmap.mmap(-1, _ROOM_BYTES)  # forks share it

    def tell(self, sentence: str) -> None:
        """Notes what was done, unless something is noted already; from any process."""
        if not self._room[0]:
            text = sentence.encode("utf-8", "replace")[: _ROOM_BYTES - 1]
            self._room[: len(text)] = text

    def told(self) -> str:
        """What was noted since this was asked last; empty for nothing."""
        if not self._room[0]:
            return ""
        text = self._room[:].partition(b"\0")[0].decode("utf-8", "replace")
        self._room[:] = bytes(_ROOM_BYTES)
        return text

    @contextmanager
    def watched(self, session: Session, guard: Guard) -> Iterator[None]:
        """Inside, a fork of this process is none of the replay's; afterwards, neither is any thread."""
        forked = partial(self._leave, session, guard)
        _WATCHING.append(forked)
        try:
            yield
        finally:
            _WATCHING.remove(forked)
            session.answered_by(_Nobody(self._late))

    def _leave(self, session: Session, guard: Guard) -> None:
        session.answered_by(_Nobody(lambda call: self._forked(f"{call.kind} {call.name} was called")))
        guard.refuse = self._forked

    def _forked(self, what: str) -> NoReturn:
        sentence = f"{what} in a process that the agent forked, where no replay can follow"
        self.tell(sentence)
        raise Unfollowed(sentence)

    def _late(self, call: Call) -> NoReturn:
        self.tell(f"{call.kind} {call.name} was called after the agent's answer, in a thread that nobody waits for")
        raise SystemExit  # ends a thread in silence


class _Nobody:
    """Has no answers."""

    def __init__(self, refuse: Callable[[Call], NoReturn]) -> None:
        self._refuse = refuse

    def answer(self, call: Call) -> Answer:
        """Refuses."""
        self._refuse(call)


_WATCHING: list[Callable[[], None]] = []


def _in_fork() -> None:
    for forked in _WATCHING:
        forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_fork)
