"""Items over forked processes: everything is loaded once, so the workers start in milliseconds.

For runs whose time is this process's own work. A fork copies only the forking thread, and a lock that another thread
holds stays locked in the child for good; so this executor wants a process with one Python thread (`can_fork`). The
threads that NumPy's BLAS and Arrow's allocator keep are made anew in the child by these libraries' own fork handlers.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
import warnings
from collections import deque
from multiprocessing.connection import Connection, wait

from evalkit.errors import EvalkitError
from evalkit.suite.executors.protocol import Task
from evalkit.suite.plan import Item
from evalkit.suite.work import Worker

__all__ = ["can_fork", "run_forked"]


def can_fork() -> bool:
    """Whether forking is safe here: on Linux, in a process with one Python thread."""
    return sys.platform == "linux" and threading.active_count() == 1


def run_forked(task: Task) -> None:
    """Does the items on `task.workers` forks of this process."""
    worker = Worker(task.suite)
    waiting = deque(task.items)
    hands: list[_Hand] = []
    try:
        while waiting or hands:
            if waiting and task.over():
                waiting.clear()
                continue
            while waiting and len(hands) < task.workers:
                hands.append(_Hand(worker, waiting.popleft()))
            ready = wait([hand.pipe for hand in hands])
            for hand in [hand for hand in hands if hand.pipe in ready]:
                found = hand.take()
                if found is None:
                    task.died(hand.item)
                elif isinstance(found, EvalkitError):
                    raise found
                else:
                    task.done(hand.item, found)
                if found is None or not waiting:
                    hands.remove(hand)
                    hand.end()
                else:
                    hand.give(waiting.popleft())
    finally:
        for hand in hands:
            hand.kill()


class _Hand:
    """One forked worker, and the item that it has in hand."""

    def __init__(self, worker: Worker, item: Item) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(worker, theirs, self.pipe), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 counts the libraries' threads, see above
            self._process.start()
        theirs.close()
        self.item = item
        self.give(item)

    def give(self, item: Item) -> None:
        self.item = item
        self.pipe.send(item)

    def take(self) -> bytes | EvalkitError | None:
        """What came of the item; None when the process died."""
        try:
            found: bytes | EvalkitError = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None
        return found

    def end(self) -> None:
        """Lets the process go."""
        with contextlib.suppress(OSError):  # it may be dead
            self.pipe.send(None)
        self._process.join()
        self.pipe.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _work(worker: Worker, pipe: Connection, parents: Connection) -> None:
    """The child's life: items in, lines out, until the controller says so or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the whole group; the controller decides
    parents.close()
    while True:
        try:
            item = pipe.recv()
            if item is None:
                return
            pipe.send(_done(worker, item))
        except (EOFError, BrokenPipeError):
            return


def _done(worker: Worker, item: Item) -> bytes | EvalkitError:
    try:
        return worker.do(item)
    except EvalkitError as error:
        return error
