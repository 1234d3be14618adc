"""What an agent still has under way when it answers: it is waited for, as Python does at the end of a script.

That are its threads and processes, but for daemons, and what it gave to pools of them.
"""

from __future__ import annotations

from evalkit.capture.seam import Session
from evalkit.playback.deadline import Deadline, ReplayTimeout

__all__ = ["wait_for_work"]

_AT_ONCE_S = 60.0


def wait_for_work(session: Session, deadline: Deadline) -> None:
    """Waits until all of it is done, and what came of it meanwhile.

    Raises:
        ReplayTimeout: the replay's time is over.
    """
    while session.begun:
        name, goes_on = session.begun.pop()
        try:
            while goes_on(min(max(0.0, deadline.left()), _AT_ONCE_S)):
                if deadline.left() <= 0:
                    raise deadline.over()
        except ReplayTimeout as over:
            raise ReplayTimeout(f"{over}: the agent had come to its end, and {name} went on") from None
