"""Forks of this process: whether they are safe, made without a warning, and ended where they come back."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import getpid

__all__ = ["can_fork", "die_with_parent", "end_if_forked", "forking"]

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


def end_if_forked(process: int) -> None:
    """Ends this process where it is not the one that called an agent: a fork of the agent's that comes back with it.

    Whatever called the agent goes on once, and not in the fork as well. The fork ends as a script does: with the code
    of `sys.exit`, with 1 after any other exception, which is printed, else with 0.

    Args:
        process: id of the process that called the agent.
    """
    if getpid() == process:
        return
    raised = sys.exc_info()[1]
    code = 0 if raised is None else 1
    with contextlib.suppress(Exception):
        if isinstance(raised, SystemExit) and (raised.code is None or isinstance(raised.code, int)):
            code = raised.code or 0
        elif isinstance(raised, SystemExit):
            print(raised.code, file=sys.stderr)
        elif raised is not None:
            traceback.print_exception(raised)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code & 0xFF)
