"""What an agent does where its replay can't follow: in a process of its own, or in a thread after its answer.

It gets no answers there, since nobody would see what it did with them; and the case's replay is told, which is missed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from evalkit.capture.seam import Call, Session
from evalkit.capture.unfollowed import REPLAYED, Refusing, Unfollowed, refuse_here, tell
from evalkit.playback.guard import Guard
from evalkit.playback.spawned import told_by_spawned, told_in

__all__ = ["Strays", "none_watched"]


class Strays:
    """Tells of what the processes and late threads of a case's replays did; one serves them all."""

    def __init__(self) -> None:
        self._late = ""
        self.told_in = told_in()
        """The file in which processes tell; a pool's may live longer than this case."""

    def told(self) -> str:
        """What was noted since this was asked last; empty for nothing."""
        late, self._late = self._late, ""
        return told_by_spawned() or late

    def watched(self, session: Session, guard: Guard) -> Watched:
        """Inside, a fork of this process is none of the replay's; afterwards, neither is any thread."""
        return Watched(self, session, guard)

    def tell_of_thread(self, sentence: str) -> None:
        """Notes what was done in a late one."""
        self._late = self._late or sentence


class Watched:
    """A replay while its forks are looked after; a class, since every replay enters it (see `seam.Taken`)."""

    __slots__ = ("_guard", "_session", "_strays")

    def __init__(self, strays: Strays, session: Session, guard: Guard) -> None:
        self._strays = strays
        self._session = session
        self._guard = guard

    def __enter__(self) -> None:
        _WATCHED.append(self)

    def __exit__(self, raised: object, *_: object) -> None:
        _WATCHED.remove(self)
        self._session.answered_by(Refusing(self._late if raised is None else self._late_in_vain))

    def leave(self) -> None:
        """This process is a fork: it gets no answers, and reaches nothing."""
        self._session.answered_by(Refusing(lambda call: self._forked(f"{call.kind} {call.name} was called")))
        self._guard.refuse = self._forked

    def _forked(self, what: str) -> NoReturn:
        sentence = f"{what} in a process that the agent forked, where no replay can follow"
        tell(sentence, self._strays.told_in)
        raise Unfollowed(sentence)

    def _late(self, call: Call) -> NoReturn:
        sentence = (
            f"{call.kind} {call.name} was called after the agent's answer, in a thread that a replay left behind: "
            "wait for its work, or start a worker of many replays where the module is loaded"
        )
        self._strays.tell_of_thread(sentence)
        raise Unfollowed(sentence)

    def _late_in_vain(self, call: Call) -> NoReturn:
        raise Unfollowed(f"{call.kind} {call.name} was called when the replay had been broken off")


@contextmanager
def none_watched() -> Iterator[None]:
    """While an agent's module is loaded: a process that it starts for later is no replay's, and does nothing real."""
    _LOADING.append(None)
    before = os.environ.get(REPLAYED)
    os.environ[REPLAYED] = told_in()
    try:
        yield
    finally:
        _LOADING.pop()
        os.environ.pop(REPLAYED, None)
        if before is not None:
            os.environ[REPLAYED] = before


_WATCHED: list[Watched] = []
_LOADING: list[None] = []


def _in_fork() -> None:
    for replay in _WATCHED:
        replay.leave()
    if _LOADING:
        refuse_here()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_fork)
