"""Forks of this process: whether they are safe, made without a warning or a lost signal, ended where they come back."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import getpid
from types import FrameType
from typing import Any, TypeAlias

__all__ = ["can_fork", "die_with_parent", "end_if_forked", "forking", "shares_queues", "signals_held"]

_Handler: TypeAlias = "Callable[[int, FrameType | None], Any]"
_PR_SET_PDEATHSIG = 1


def can_fork() -> bool:
    """Whether forking is safe here: on Linux, in a process with one Python thread."""
    return sys.platform == "linux" and threading.active_count() == 1


def shares_queues() -> bool:
    """Whether this process has open queues of `multiprocessing`, as idle pools do: forks would share the work."""
    util = sys.modules.get("multiprocessing.util")
    queues = sys.modules.get("multiprocessing.queues")
    if util is None or queues is None:
        return False
    known = list(vars(util).get("_afterfork_registry", {}).values())
    return any(isinstance(one, queues.Queue) and not vars(one).get("_closed") for one in known)


@contextmanager
def forking() -> Iterator[None]:
    """Inside, a fork is not warned of (Python 3.12 counts the threads of NumPy's BLAS and Arrow), and loses no signal.

    Python calls what libraries have registered for forks, and drops what a signal's handler raises in there.
    """
    with signals_held(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@contextmanager
def signals_held() -> Iterator[None]:
    """Inside, ctrl-C and SIGTERM wait until the end, so that whoever ends a process knows of it; not in the process."""
    if threading.current_thread() is not threading.main_thread():  # where Python handles no signals
        yield
        return
    process = getpid()
    came: list[int] = []
    before = {one: handler for one in _ENDING if callable(handler := signal.getsignal(one))}
    _HELD.append(before)
    for one in before:
        signal.signal(one, lambda number, _: came.append(number))
    try:
        yield
    finally:
        if getpid() == process:
            _HELD.pop()
            _handled(before)
            for number in came:
                before[signal.Signals(number)](number, None)


_ENDING = (signal.SIGINT, signal.SIGTERM)
_HELD: list[dict[signal.Signals, _Handler]] = []
"""The handlers of signals that wait, the outermost first."""


def _handled(handlers: dict[signal.Signals, _Handler]) -> None:
    for one, handler in handlers.items():
        signal.signal(one, handler)


def _in_fork() -> None:
    if _HELD:
        _handled(_HELD[0])
        _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_fork)


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
