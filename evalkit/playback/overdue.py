"""Replays that don't end when their time is over: seen, and so ended, from another process.

The time limit of `playback.deadline` is an exception in the agent's own thread. An agent that swallows it, waits for a
thread of its own, or is inside of C code goes on; only its process can be ended.
"""

from __future__ import annotations

import mmap
import os
from ctypes import Structure, c_double, c_int64, sizeof
from pathlib import Path
from time import monotonic  # the system's own, whatever an agent puts in its place

__all__ = ["LOOK_S", "Mark", "Patience", "shared_mark"]

LOOK_S = 1.0
"""Seconds between two looks at a mark."""

_GRACE_S = 5.0
"""Seconds that an agent may take to end by itself, once it was told to."""


class Mark(Structure):
    """Where a process stands with its replays, in memory that another one sees; see `shared_mark`.

    Attributes:
        until: when the replay under way should be over, by the system's monotonic clock; 0 where none is, or while it
            waits for its model.
        place: which of its item's samples is replayed.
        process, work: whose mark it is, and the number of the item; 0 where nobody asks.
    """

    until: float
    place: int
    process: int
    work: int
    _fields_ = (("until", c_double), ("place", c_int64), ("process", c_int64), ("work", c_int64))


def shared_mark(path: Path | None = None) -> Mark:
    """A mark in memory that forks share, or that of a file, which is made where it is not there."""
    if path is None:
        return Mark.from_buffer(mmap.mmap(-1, sizeof(Mark)))
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.truncate(file, sizeof(Mark))
        return Mark.from_buffer(mmap.mmap(file, sizeof(Mark)))
    finally:
        os.close(file)


class Patience:
    """How long a mark's process is waited for.

    Time counts as it is looked at: while both processes are stopped, none goes by.
    """

    def __init__(self, mark: Mark) -> None:
        self.mark = mark
        self._until = self._looked = self._waited = 0.0

    def is_over(self) -> bool:
        """Whether its replay should have ended, and the grace for that is over; to be asked every `LOOK_S`."""
        until, now = self.mark.until, monotonic()
        if not until or now < until:
            self._until = 0.0
            return False
        if until != self._until:
            self._until, self._looked, self._waited = until, now, 0.0
        self._waited += min(now - self._looked, LOOK_S)
        self._looked = now
        return self._waited >= _GRACE_S
