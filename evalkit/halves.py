"""Work over many items on two cores: a fork of this process does every other item."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import TypeVar

from evalkit.forks import can_fork, forking

__all__ = ["in_halves"]

T = TypeVar("T")

_WORTH_IT = 200


def in_halves(work: Callable[[T], bytes], items: Sequence[T]) -> Iterator[bytes]:
    """What `work` makes of each item, in their order; each process is never far ahead of the other.

    Few items are done here, and so is what the fork leaves: an item that `work` raises of raises here.
    """
    if len(items) < _WORTH_IT or not can_fork() or len(os.sched_getaffinity(0)) < 2:
        yield from map(work, items)
        return
    ours, theirs = Pipe(duplex=False)
    with forking():
        fork = os.fork()
    if fork == 0:
        ours.close()
        _do(work, items[1::2], theirs)
    theirs.close()
    try:
        for at in range(len(items)):  # an item that is not worked on here is not made here
            found = _taken(ours) if at % 2 else None
            yield work(items[at]) if found is None else found
    finally:
        ours.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(fork, signal.SIGKILL)
        os.waitpid(fork, 0)


def _do(work: Callable[[T], bytes], items: Sequence[T], pipe: Connection) -> None:
    """The fork's life; it ends here, and nothing of this process is flushed or undone in it."""
    try:
        gc.disable()  # a collection would copy every page
        for item in items:
            pipe.send_bytes(work(item))
    finally:
        os._exit(0)


def _taken(pipe: Connection) -> bytes | None:
    """The fork's next result; None once it is gone."""
    try:
        return pipe.recv_bytes()
    except (EOFError, OSError):
        return None
