"""What an agent still has under way when it answers: it is waited for, as Python does at the end of a script.

That are its threads, but for daemons, and what it gave to pools of threads.
"""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from time import monotonic  # the system's own, whatever an agent puts in its place
from typing import Any

from evalkit.capture.seam import Session
from evalkit.playback.deadline import ReplayTimeout

__all__ = ["wait_for_work"]


def wait_for_work(session: Session, seconds: float) -> None:
    """Waits until all of it is done, and what came of it meanwhile.

    Raises:
        ReplayTimeout: the replay's time is over, or this took so many seconds.
    """
    until = monotonic() + seconds
    while session.begun:
        work = session.begun.pop()
        try:
            if _goes_on(work, until):
                raise ReplayTimeout(f"stopped after {seconds:g} s")
        except ReplayTimeout as over:
            name = "work that it gave to a pool" if isinstance(work, Future) else f"its thread {work.name}"
            raise ReplayTimeout(f"{over}: the agent had come to its end, and {name} went on") from None


def _goes_on(work: Any, until: float) -> bool:
    left = max(0.0, until - monotonic())
    if not isinstance(work, Future):
        work.join(left)
        return bool(work.is_alive())
    try:
        work.exception(left)
    except CancelledError:
        return False
    except TimeoutError:
        return True
    return False
