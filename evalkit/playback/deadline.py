"""A replay's time limit: a timer of the process, where there is one."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Deadline", "ReplayTimeout"]


class ReplayTimeout(BaseException):
    """Stops a replay that takes too long; no `Exception`, so that the agent does not take it for one of its own."""


class Deadline:
    """Raises `ReplayTimeout` in the main thread when a replay takes longer than it may.

    Without effect outside of the main thread, and on systems without interval timers (Windows). The timer is not set
    anew for each replay: one that goes off too early is set again for what is left.

    Args:
        seconds: real seconds that a replay may take.

    Attributes:
        rang: whether the replay was stopped, or was to be: an agent may swallow what should stop it.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._works = False
        self._armed = False
        self._running = False
        self._left = seconds
        self._began = 0.0
        self._waiting = 0
        self._replay = 0
        self.rang = False
        self._lock = threading.Lock()

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Inside, replays can be timed."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            yield
            return
        before = signal.signal(signal.SIGALRM, self._rings)
        self._works = True
        try:
            yield
        finally:
            self._works = self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def start(self) -> None:
        """The time of a replay begins to run."""
        self.rang = False
        if self._works:
            with self._lock:
                self._replay += 1
                self._waiting, self._left = 0, self._seconds
                self._run_on()

    def stop(self) -> None:
        """The replay came to its end."""
        self._running = False

    def waits(self) -> int:
        """The replay waits for the live model from now on: that time is not the agent's. Gives the replay's number."""
        if self._works:
            with self._lock:
                self._waiting += 1
                if self._running and self._waiting == 1:
                    self._left -= time.monotonic() - self._began
        return self._replay

    def goes_on(self, replay: int) -> None:
        """One such wait is over; called from any thread, and maybe after the replay's end."""
        if self._works:
            with self._lock:
                if replay != self._replay:
                    return
                self._waiting -= 1
                if self._running and self._waiting == 0:
                    self._run_on()

    def _run_on(self) -> None:
        self._began = time.monotonic()
        self._running = True
        if not self._armed:
            self._arm(self._left)

    def _arm(self, seconds: float) -> None:
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))

    def _rings(self, _signal: int, _frame: FrameType | None) -> None:
        self._armed = False
        if not self._running or self._waiting:
            return  # whatever runs on arms it again
        left = self._left - (time.monotonic() - self._began)
        if left > 0:
            self._arm(left)
        else:
            self.rang = True
            raise ReplayTimeout(f"stopped after {self._seconds:g} s")
