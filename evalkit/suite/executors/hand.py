"""A forked worker: items in, lines out, until its controller is gone or it is ended."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import Connection
from time import monotonic, sleep
from types import FrameType

from evalkit.errors import EvalkitError
from evalkit.forks import die_with_parent, forking
from evalkit.playback.overdue import Mark, Patience, shared_mark
from evalkit.suite.executors.raised import error_text
from evalkit.suite.freed import keep_freed
from evalkit.suite.plan import Item
from evalkit.suite.work import Worker

__all__ = ["DONE", "RAISED", "SOME", "Hand"]

SOME, DONE, RAISED, _BROKEN = b"s", b"d", b"e", b"x"
"""What a message of a worker begins with: samples of its item, its last ones, an error on purpose, any other."""

_LAST_S = 2.0
"""Seconds that a worker may take to end once it has closed its pipe."""


class Hand:
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
        return DONE + worker.do(item, between=lambda line: pipe.send_bytes(SOME + line), mark=mark)
    except EvalkitError as error:
        return RAISED + error_text(error)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # memory, disk, a fault of ours, or an agent that means itself
        return _BROKEN + f"{type(error).__name__}: {error}".encode("utf-8", "replace")
