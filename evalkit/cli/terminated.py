"""A command that is told to end (SIGTERM: a job that was cancelled, a container that stops) ends as by ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["terminated_as_interrupted"]


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Inside, what was done is kept, workers and temporary files go, and who reads it is told how to continue."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
