"""Items over forked processes: everything is loaded once, the agent too, so the workers start in milliseconds.

A replay freezes clock, randomness and environment of its process, so two at once would live in one another's world. To
have many under way at once, there are many processes: as many as wanted, however few the cores. They are kept from one
round to the next.

A fork copies only the forking thread, and a lock that another thread holds stays locked in the child for good; so this
executor wants a process with one Python thread (`can_fork`), and with no queue of `multiprocessing`'s, whose items the
forks would take from one another (`shares_queues`). The threads that NumPy's BLAS and Arrow's allocator keep are made
anew in the child by these libraries' own fork handlers.
"""

from __future__ import annotations

import contextlib
import gc
from collections import deque
from collections.abc import Iterator
from selectors import EVENT_READ, DefaultSelector
from time import monotonic

from evalkit.forks import can_fork, shares_queues, signals_held
from evalkit.playback.overdue import LOOK_S
from evalkit.suite.executors.hand import DONE, RAISED, SOME, Hand
from evalkit.suite.executors.protocol import EXECUTORS, Job, Round, Rounds
from evalkit.suite.executors.raised import error_from
from evalkit.suite.plan import Item
from evalkit.suite.work import Worker

__all__ = ["forked"]


@contextlib.contextmanager
def forked(job: Job) -> Iterator[Rounds]:
    """Does the items on `job.workers` forks of this process; over xdist where the loaded agent can't be forked."""
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
    if not can_fork() or shares_queues():
        return stack.enter_context(EXECUTORS.get("xdist")(job))
    hands = _Hands(worker)
    stack.callback(hands.end)
    gc.freeze()  # no collection of a fork looks at what is there now, and so it stays shared
    stack.callback(gc.unfreeze)
    return lambda work: _do(work, job, hands)


class _Hands:
    """The workers of a run, kept from one round to the next."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._all: list[Hand] = []
        self._free: list[Hand] = []

    def free(self) -> Hand:
        """One that has nothing to do; forked where there is none."""
        if not self._free:
            with signals_held():
                self._all.append(Hand(self._worker))
                self._free.append(self._all[-1])
        return self._free.pop()

    def back(self, hand: Hand) -> None:
        """Takes one back that has done its item, or died over it."""
        if hand.alive:
            self._free.append(hand)
        else:
            self.lost(hand)

    def lost(self, hand: Hand) -> None:
        """Frees what one had that died."""
        self._all.remove(hand)
        hand.kill()

    def end(self) -> None:
        """Ends all of them."""
        for hand in self._all:
            hand.end()
        for hand in self._all:
            hand.kill()


def _do(work: Round, job: Job, hands: _Hands) -> None:
    waiting = deque(work.items)
    done: list[bytes] = []
    idle = True
    looked = monotonic()
    with DefaultSelector() as busy:
        while True:
            if waiting and job.over():
                waiting.clear()
            while waiting and len(busy.get_map()) < job.workers:
                hand = hands.free()
                if hand.give(waiting[0]):
                    waiting.popleft()
                    busy.register(hand.pipe, EVENT_READ, hand)
                else:  # it died between two items: nobody's fault
                    hands.lost(hand)
            if done:  # told once all have work again: what is told waits for the disk
                work.done(done)
            if not busy.get_map():
                return
            done = []
            if idle:
                job.meanwhile()
                idle = False
            for key, _ in busy.select(LOOK_S):
                if _took(key.data, work, done):
                    busy.unregister(key.data.pipe)
                    hands.back(key.data)
            if monotonic() - looked >= LOOK_S:
                looked = monotonic()
                for key in busy.get_map().values():
                    key.data.look()


def _took(hand: Hand, work: Round, done: list[bytes]) -> bool:
    """Takes what a worker says, its lines into `done`; whether nothing more comes of its item."""
    kind, body = hand.take()
    if kind == RAISED:
        if done:  # the others' work is kept
            work.done(done)
        raise error_from(body)
    if kind in (SOME, DONE):
        done.append(body)
    elif hand.late is not None:
        work.late(hand.item, hand.late)
    else:
        work.died(hand.item, body.decode("utf-8", "replace") or hand.end_of_it())
    return kind != SOME
