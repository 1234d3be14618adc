"""A replay's time limit: a timer of the process, where there is one; another process may see that it is over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic  # the system's own, whatever an agent puts in its place
from types import FrameType
from typing import Any

from evalkit.playback.overdue import Mark

__all__ = ["LONGEST_S", "Deadline", "ReplayTimeout", "alarm_at_hand", "watched"]

LONGEST_S = 10_000_000.0
"""Seconds of the longest time limit; the system has no timer for many more."""


class ReplayTimeout(BaseException):
    """Stops a replay that takes too long; no `Exception`, so that the agent does not take it for one of its own."""


class Deadline:
    """Raises `ReplayTimeout` in the main thread when a replay takes longer than it may.

    Works inside of `alarm_at_hand`: not outside of the main thread, nor on systems without interval timers (Windows).
    Inside of `watched` another process sees it, and can do what an exception can't.

    Args:
        seconds: real seconds that a replay may take.

    Attributes:
        rang: whether the replay was stopped, or was to be: an agent may swallow what should stop it.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._rings = self._running = False
        self._mark: Mark | None = None
        self._left = seconds
        self._began = 0.0
        self._waiting = 0
        self._replay = 0
        self.rang = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """The time of a replay begins to run."""
        self.rang = False
        self._rings, self._mark = _ALARM.works_here(), _MARKS[-1] if _MARKS else None
        with self._lock:
            self._replay += 1
            self._waiting, self._left = 0, self._seconds
            if self._rings:
                _ALARM.deadline = self
            self._run_on()

    def stop(self) -> None:
        """The replay came to its end."""
        self._running = False
        if self._mark is not None:
            self._mark.until = 0.0

    def waits(self) -> int:
        """The replay waits for the live model from now on: that time is not the agent's. Gives the replay's number."""
        with self._lock:
            self._waiting += 1
            if self._running and self._waiting == 1:
                self._left -= monotonic() - self._began
                if self._mark is not None:
                    self._mark.until = 0.0
        return self._replay

    def goes_on(self, replay: int) -> None:
        """One such wait is over; called from any thread, and maybe after the replay's end."""
        with self._lock:
            if replay != self._replay:
                return
            self._waiting -= 1
            if self._running and self._waiting == 0:
                self._run_on()

    def left(self) -> float:
        """Seconds that the replay under way has left; they don't pass while it waits for the live model."""
        return self._left if self._waiting else self._left - (monotonic() - self._began)

    def over(self) -> ReplayTimeout:
        """What stops a replay that has none left."""
        return ReplayTimeout(f"stopped after {self._seconds:g} s")

    def rings(self) -> None:
        """The alarm went off: for this replay, or for one before.

        Raises:
            ReplayTimeout: for this one.
        """
        if not self._running or self._waiting:
            return  # whatever runs on sets it again
        left = self.left()
        if left > 0:
            _ALARM.set(left)
        else:
            self.rang = True
            raise self.over()

    def _run_on(self) -> None:
        self._began = monotonic()
        self._running = True
        if self._mark is not None:
            self._mark.until = self._began + self._left
        if self._rings:
            _ALARM.set(self._left)


class _Alarm:
    """The process's one timer. It is not set anew for each replay: going off too early, it is set for what is left.

    Attributes:
        deadline: of the replay that began last.
    """

    def __init__(self) -> None:
        self.deadline: Deadline | None = None
        self._goes_off_at: float | None = None
        self._thread = 0
        self._before: Any = None
        self._others_at: float | None = None

    def works_here(self) -> bool:
        """Whether it goes off in this thread."""
        return self._thread == threading.get_ident()

    def ready(self) -> None:
        """Lets it go off in this thread, the main one; also where an agent has taken the signal for itself."""
        if not self._thread:
            self._before = signal.getsignal(signal.SIGALRM)
            others = signal.getitimer(signal.ITIMER_REAL)[0]
            self._others_at = monotonic() + others if others else None
            self._thread = threading.get_ident()
        if signal.getsignal(signal.SIGALRM) != self.goes_off:
            signal.signal(signal.SIGALRM, self.goes_off)

    def set(self, seconds: float) -> None:
        """Goes off within `seconds`."""
        at = monotonic() + max(seconds, 0.001)
        if self._goes_off_at is None or at < self._goes_off_at:
            self._goes_off_at = at
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))

    def goes_off(self, _signal: int, _frame: FrameType | None) -> None:
        """The signal's handler."""
        self._goes_off_at = None
        if self.deadline is not None:
            self.deadline.rings()

    def stop(self) -> None:
        """Goes off no more. Whoever had the timer before has it again, if late: a limit of pytest's tests, say."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        if self._others_at is not None:
            signal.setitimer(signal.ITIMER_REAL, max(self._others_at - monotonic(), 0.001))
        self._thread, self.deadline, self._goes_off_at = 0, None, None


_ALARM = _Alarm()
_MARKS: list[Mark] = []


@contextmanager
def watched(mark: Mark) -> Iterator[None]:
    """Inside, `mark` says when the replay under way should be over."""
    _MARKS.append(mark)
    try:
        yield
    finally:
        _MARKS.remove(mark)


@contextmanager
def alarm_at_hand() -> Iterator[None]:
    """Inside, replays can be timed, where this process can do it; setting it up anew for each case takes a while."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    first = not _ALARM.works_here()
    _ALARM.ready()
    try:
        yield
    finally:
        if first:
            _ALARM.stop()
