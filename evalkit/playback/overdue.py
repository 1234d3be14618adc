"""Replays that don't end when their time is over: seen, and so ended, from another process.

The time limit of `playback.deadline` is an exception in the agent's own thread. An agent that swallows it, waits for a
thread of its own, or is inside of C code goes on; only its process can be ended.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from time import monotonic  # the system's own, whatever an agent puts in its place

__all__ = ["LOOK_S", "Mark", "Patience"]

LOOK_S = 1.0
"""Seconds between two looks at a mark."""

_GRACE_S = 5.0
"""Seconds that an agent may take to end by itself, once it was told to."""

_UNTIL, _PLACE, _PROCESS, _WORK = range(4)
_BYTES = 4 * 8


class Mark:
    """Where a process stands with its replays, in memory that another one sees.

    Args:
        path: a file for it, which is made where it is not there; None for memory that forks share.

    Attributes:
        until: when the replay under way should be over, by the system's monotonic clock; 0 where none is, or while it
            waits for its model.
        place: which of its item's samples is replayed.
        process, work: whose mark it is, and the number of the item; 0 where nobody asks.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is None:
            memory = mmap.mmap(-1, _BYTES)
        else:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.truncate(file, _BYTES)
                memory = mmap.mmap(file, _BYTES)
            finally:
                os.close(file)
        self._numbers = memoryview(memory).cast("d")

    @property
    def until(self) -> float:
        """See the class."""
        return self._numbers[_UNTIL]

    @until.setter
    def until(self, value: float) -> None:
        self._numbers[_UNTIL] = value

    @property
    def place(self) -> int:
        """See the class."""
        return _number(self._numbers[_PLACE])

    @place.setter
    def place(self, value: int) -> None:
        self._numbers[_PLACE] = value

    @property
    def process(self) -> int:
        """See the class."""
        return _number(self._numbers[_PROCESS])

    @process.setter
    def process(self, value: int) -> None:
        self._numbers[_PROCESS] = value

    @property
    def work(self) -> int:
        """See the class."""
        return _number(self._numbers[_WORK])

    @work.setter
    def work(self, value: int) -> None:
        self._numbers[_WORK] = value


def _number(value: float) -> int:
    """A whole number, whatever a hostile process wrote."""
    return int(value) if 0 <= value < 2**53 else -1


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
