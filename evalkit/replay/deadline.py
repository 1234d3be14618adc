"""A replay's time limit: a timer of the process, where there is one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ReplayTimeout", "deadline"]


class ReplayTimeout(BaseException):
    """Stops a replay that takes too long; no `Exception`, so that the agent does not take it for one of its own."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raises `ReplayTimeout` in the main thread after `seconds`.

    Without effect outside of the main thread, and on systems without interval timers (Windows).
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_signal: int, _frame: object) -> None:
        raise ReplayTimeout(f"stopped after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
