"""A command that is told to end: SIGTERM (a cancelled job, a container that stops) is as ctrl-C, several are as one."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["terminated_as_interrupted"]

_ENDING_S = 5.0
"""Seconds after the first signal in which further ones change nothing: thrice ctrl-C is to do what one does."""


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Inside, what was done is kept, workers and temporary files go, and who reads it is told how to continue."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    began: list[float] = []

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if not began or now - began[-1] > _ENDING_S:
            began.append(now)
            raise KeyboardInterrupt

    heard = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, interrupt) for one in heard}  # what is ignored, as in the background, stays so
    try:
        yield
    finally:
        for one, handler in before.items():  # a command that was interrupted ends now, and says how to go on
            signal.signal(one, signal.SIG_IGN if began else handler)
