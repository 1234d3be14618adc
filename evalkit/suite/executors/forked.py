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
from time import monotonic, sleep
from types import FrameType

from evalkit.errors import EvalkitError
from evalkit.forks import can_fork, die_with_parent, forking, signals_held
from evalkit.playback.overdue import LOOK_S, Mark, Patience, shared_mark
from evalkit.suite.executors.protocol import EXECUTORS, Job, Round, Rounds
from evalkit.suite.executors.raised import error_from, error_text
from evalkit.suite.freed import keep_freed
from evalkit.suite.plan import Item
from evalkit.suite.work import Worker

__all__ = ["forked"]

_SOME, _DONE, _RAISED, _BROKEN = b"s", b"d", b"e", b"x"
"""What a message of a worker begins with: samples of its item, its last ones, an error on purpose, any other."""

_LAST_S = 2.0
"""Seconds that a worker may take to end once it has closed its pipe."""


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
    looked = monotonic()
    with DefaultSelector() as busy:
        while True:
            if waiting and job.over():
                waiting.clear()
            while waiting and len(busy.get_map()) < job.workers:
                if not free:
                    with signals_held():
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
            for key, _ in busy.select(LOOK_S):
                hand = key.data
                kind, body = hand.take()
                if kind == _RAISED:
                    if done:  # the others' work is kept
                        work.done(done)
                    raise error_from(body)
                if kind in (_SOME, _DONE):
                    done.append(body)
                elif hand.late is not None:
                    work.late(hand.item, hand.late)
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
            if monotonic() - looked >= LOOK_S:
                looked = monotonic()
                for key in busy.get_map().values():
                    key.data.look()


class _Hand:
    """One forked worker, and the item that it has in hand.

    Attributes:
        late: which of the item's samples did not end in time, where the process was ended for that.
    """

    item: Item
    late: int | None

    def __init__(self, worker: Worker) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.alive = True
        self._patience = Patience(shared_mark())
        given = worker, self._patience.mark, theirs, self.pipe, os.getpid()
        self._process = context.Process(target=_work, args=given, daemon=True)
        with forking():
            self._process.start()
        assert self._process.pid is not None
        self._pid = self._process.pid
        theirs.close()

    def give(self, item: Item) -> bool:
        """Hands it an item; false when the process is gone."""
        self.item, self.late = item, None
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

    def look(self) -> None:
        """Ends the process where its replay goes on though its time is over; what it handed in is taken still."""
        if self.late is None and self._patience.is_over():
            self.late = self._patience.mark.place
            self.end()

    def end_of_it(self) -> str:
        """How the process died, in words."""
        until = monotonic() + _LAST_S
        while (code := self._process.exitcode) is None:  # `join` would wait for the agent's own processes, too
            if monotonic() >= until:
                return "it closed what it was to answer on"
            sleep(0.01)
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"

    def end(self) -> None:
        """Ends the process and what the agent left running, without waiting until they have."""
        self._process.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)

    def kill(self) -> None:
        """Ends the process, and frees what it had."""
        self.end()
        self._process.join()
        self._process.close()
        self.pipe.close()


def _work(worker: Worker, mark: Mark, pipe: Connection, parents: Connection, parent: int) -> None:
    """The child's life: items in, lines out, until the controller is gone."""
    multiprocessing.current_process().daemon = False  # one may have no processes; the agent may
    os.setsid()  # a group that ends as one; and ctrl-C reaches the controller alone, which decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, _unmoved)  # not ignored: the agent's programs would inherit that
    die_with_parent(parent)
    keep_freed()
    parents.close()
    os.register_at_fork(after_in_child=pipe.close)  # else a process of the agent's hides the end of this one
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(_done(worker, pipe.recv(), pipe, mark))
            for stream in (sys.stdout, sys.stderr):  # what the agent printed: this process ends without a chance to
                with contextlib.suppress(Exception):  # it may have closed them, or put something else in their place
                    stream.flush()


def _unmoved(_signal: int, _frame: FrameType | None) -> None:
    """Takes a signal for nothing."""


def _done(worker: Worker, item: Item, pipe: Connection, mark: Mark) -> bytes:
    try:
        return _DONE + worker.do(item, between=lambda line: pipe.send_bytes(_SOME + line), mark=mark)
    except EvalkitError as error:
        return _RAISED + error_text(error)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # memory, disk, a fault of ours, or an agent that means itself
        return _BROKEN + f"{type(error).__name__}: {error}".encode("utf-8", "replace")
