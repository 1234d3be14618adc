"""Work on two cores: a fork of this process does every other item, or something else meanwhile."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe
from typing import TypeVar

from evalkit.forks import can_fork, die_with_parent, forking

__all__ = ["beside", "in_halves"]

T = TypeVar("T")

_WORTH_IT = 200


def in_halves(work: Callable[[T], bytes], items: Sequence[T]) -> Iterator[bytes]:
    """What `work` makes of each item, in their order; each process is never far ahead of the other.

    Few items are done here, and so is what the fork leaves: an item that `work` raises of raises here.
    """
    if not _worth_it(len(items)):
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


@contextmanager
def beside(work: Callable[[], object], items: int) -> Iterator[None]:
    """Does some work that leaves files, while this process does what is inside.

    Args:
        items: how many things the work goes over. With few it is done here, at the end; so is what the fork
            could not do, and what it raises is raised here.
    """
    if not _worth_it(items):
        yield
        work()
        return
    parent = os.getpid()
    with forking():
        fork = os.fork()
    if fork == 0:
        _do_all(work, parent)
    try:
        yield
    except BaseException:
        os.kill(fork, signal.SIGKILL)
        raise
    finally:
        status = os.waitpid(fork, 0)[1]
    if status:
        work()


def _worth_it(items: int) -> bool:
    return items >= _WORTH_IT and can_fork() and len(os.sched_getaffinity(0)) > 1


def _do_all(work: Callable[[], object], parent: int) -> None:
    """The life of a fork that does something else; it ends here."""
    done = False
    try:
        die_with_parent(parent)
        gc.disable()
        work()
        done = True
    finally:
        os._exit(not done)


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
