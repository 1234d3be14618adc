"""Forks of this process: whether they are safe, and made without a warning of what they are safe from."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["can_fork", "die_with_parent", "forking"]

_PR_SET_PDEATHSIG = 1


def can_fork() -> bool:
    """Whether forking is safe here: on Linux, in a process with one Python thread."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def forking() -> Iterator[None]:
    """Inside, a fork is not warned of: Python 3.12 counts the threads that NumPy's BLAS and Arrow keep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def die_with_parent(parent: int) -> None:
    """Has the system kill this process when the one that forked it ends, however it ends; on Linux.

    Otherwise it would go on with what nobody waits for, such as asking a model.

    Args:
        parent: its process id; where it ended before this call, so does this process.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
