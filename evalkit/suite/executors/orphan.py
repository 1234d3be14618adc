"""A worker ends when its controller is gone: otherwise it would go on asking a model that nobody listens to."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["die_with_parent"]

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Has the system kill this process when the one that forked it ends, however it ends; on Linux.

    Args:
        parent: its process id; where it ended before this call, so does this process.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
