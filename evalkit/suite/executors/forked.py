"""Items over forked processes: everything is loaded once, the agent too, so the workers start in milliseconds.

A replay freezes clock, randomness and environment of its process, so two at once would live in one another's world. To
have many under way at once, there are many processes: as many as wanted, however few the cores. They are kept from one
round to the next.

A fork copies only the forking thread, and a lock that another thread holds stays locked in the child for good; so this
executor wants a process with one Python thread (`can_fork`). The threads that NumPy's BLAS and Arrow's allocator keep
are made anew in the child by these libraries' own fork handlers.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from selectors import EVENT_READ, DefaultSelector

from evalkit.errors import EvalkitError
from evalkit.forks import can_fork, die_with_parent, forking
from evalkit.suite.executors.protocol import EXECUTORS, Job, Round, Rounds
from evalkit.suite.executors.raised import error_from, error_text
from evalkit.suite.freed import keep_freed
from evalkit.suite.plan import Item
from evalkit.suite.work import Worker

__all__ = ["forked"]

_SOME, _DONE, _RAISED, _BROKEN = b"s", b"d", b"e", b"x"
"""What a message of a worker begins with: samples of its item, its last ones, an error on purpose, any other."""


@contextlib.contextmanager
def forked(job: Job) -> Iterator[Rounds]:
    """Does the items on `job.workers` forks of this process; over xdist where loading the agent starts threads."""
    with contextlib.ExitStack() as stack:
        opened: Rounds | None = None

        def do(work: Round) -> None:
            nonlocal opened
            if opened is None and work.items:
                opened = _opened(job, work.items[0], stack)
            if opened is not None:
                opened(work)

        yield do


def _opened(job: Job, first: Item, stack: contextlib.ExitStack) -> Rounds:
    worker = Worker(job.suite)
    worker.warm(first)
    if not can_fork():
        return stack.enter_context(EXECUTORS.get("xdist")(job))
    hands: list[_Hand] = []
    stack.callback(_let_go, hands)
    gc.freeze()  # no collection of a fork looks at what is there now, and so it stays shared
    stack.callback(gc.unfreeze)
    return lambda work: _do(work, job, worker, hands)


def _let_go(hands: list[_Hand]) -> None:
    for hand in hands:
        hand.end()
    for hand in hands:
        hand.kill()


def _do(work: Round, job: Job, worker: Worker, hands: list[_Hand]) -> None:
    waiting = deque(work.items)
    free = list(hands)
    done: list[bytes] = []
    idle = True
    with DefaultSelector() as busy:
        while True:
            if waiting and job.over():
                waiting.clear()
            while waiting and len(busy.get_map()) < job.workers:
                if not free:
                    hands.append(_Hand(worker))
                    free.append(hands[-1])
                hand = free.pop()
                if hand.give(waiting[0]):
                    waiting.popleft()
                    busy.register(hand.pipe, EVENT_READ, hand)
                else:  # it died between two items: nobody's fault
                    hands.remove(hand)
                    hand.kill()
            if done:  # told once all have work again: what is told waits for the disk
                work.done(done)
            if not busy.get_map():
                return
            done = []
            if idle:
                job.meanwhile()
                idle = False
            for key, _ in busy.select():
                hand = key.data
                kind, body = hand.take()
                if kind == _RAISED:
                    if done:  # the others' work is kept
                        work.done(done)
                    raise error_from(body)
                if kind in (_SOME, _DONE):
                    done.append(body)
                else:
                    work.died(hand.item, body.decode("utf-8", "replace") or hand.end_of_it())
                if kind == _SOME:
                    continue
                busy.unregister(hand.pipe)
                if hand.alive:
                    free.append(hand)
                else:
                    hands.remove(hand)
                    hand.kill()


class _Hand:
    """One forked worker, and the item that it has in hand."""

    item: Item

    def __init__(self, worker: Worker) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.alive = True
        self._process = context.Process(target=_work, args=(worker, theirs, self.pipe, os.getpid()), daemon=True)
        with forking():
            self._process.start()
        theirs.close()

    def give(self, item: Item) -> bool:
        """Hands it an item; false when the process is gone."""
        self.item = item
        try:
            self.pipe.send(item)
        except OSError:
            return False
        return True

    def take(self) -> tuple[bytes, bytes]:
        """What came of the item; nothing when the process died."""
        try:
            found = self.pipe.recv_bytes()
        except (EOFError, OSError):
            self.alive = False
            return b"", b""
        return found[:1], found[1:]

    def end_of_it(self) -> str:
        """How the process died, in words."""
        self._process.join()
        code = self._process.exitcode or 0
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"

    def end(self) -> None:
        """Ends the process, without waiting until it has."""
        self._process.kill()

    def kill(self) -> None:
        """Ends the process, and frees what it had."""
        self.end()
        self._process.join()
        self._process.close()
        self.pipe.close()


def _work(worker: Worker, pipe: Connection, parents: Connection, parent: int) -> None:
    """The child's life: items in, lines out, until the controller is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the whole group; the controller decides
    die_with_parent(parent)
    keep_freed()
    parents.close()
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(_done(worker, pipe.recv(), pipe))
            for stream in (sys.stdout, sys.stderr):  # what the agent printed: this process ends without a chance to
                stream.flush()


def _done(worker: Worker, item: Item, pipe: Connection) -> bytes:
    try:
        return _DONE + worker.do(item, between=lambda line: pipe.send_bytes(_SOME + line))
    except EvalkitError as error:
        return _RAISED + error_text(error)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # memory, disk, a fault of ours, or an agent that means itself
        return _BROKEN + f"{type(error).__name__}: {error}".encode("utf-8", "replace")
