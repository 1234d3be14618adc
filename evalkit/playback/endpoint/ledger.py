"""The one account of a run's live model: what all workers spent, what they may, and how many ask at once.

A small JSON file that every process changes under a lock: it holds over executors, and over continuations of a run. It
is read and written around each model call and before each replay, in some 0.1 ms.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from evalkit.canonical import Json
from evalkit.errors import IntegrityError
from evalkit.playback.endpoint.budget import Budget, Spent
from evalkit.playback.endpoint.model import EndpointHalt
from evalkit.playback.endpoint.pacing import Pace
from evalkit.trace.model import Usage

__all__ = ["LEDGER_NAME", "Entry", "Ledger"]

LEDGER_NAME = "budget.json"
_BLOCK = 4096
"""The file's size is a multiple: it is written in one call, and never shortened."""
_LOOK_EVERY_S = 0.02
_THREADS = threading.Lock()
"""Where the system has no file locks (Windows), and one process is all that writes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A call's place among those at once."""

    name: str
    began: float


@dataclass(slots=True)
class _Book:
    """What the file holds."""

    limits: dict[str, Json]
    spent: Spent
    pace: Pace
    busy: list[list[Any]]
    """Calls under way: name, and the process that makes them."""
    stopped: str
    until: float | None
    """When the time is up, on the system's monotonic clock."""


class Ledger:
    """The account in a file; every process may have its own of these on the same file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count = 0

    @classmethod
    def opened(cls, path: Path, budget: Budget, concurrency: int) -> Ledger:
        """The account for a run, or for its continuation: what was spent stays, and so do limits not named anew."""
        ledger = cls(path)
        if not path.exists():
            path.write_bytes(b" " * _BLOCK)
        with ledger._locked() as (file, data):
            book = _book(data, path)
            limits = Budget(**book.limits).with_limits(budget)  # type: ignore[arg-type]  # what `json` made
            book.limits, book.stopped, book.busy = limits.json(), "", []
            book.pace = Pace(float(concurrency), concurrency)
            left = None if limits.seconds is None else limits.seconds - book.spent.seconds
            book.until = None if left is None else time.monotonic() + left
            _write(file, book)
        return ledger

    def enter(self, *, again: bool = False, given_up: Callable[[], bool] = lambda: False) -> Entry:
        """Takes a place among the calls at once, waiting for one.

        Args:
            again: whether it is another try of a call that counted already, which a limit of calls does not stop.
            given_up: whether nobody waits for the call any more.

        Raises:
            EndpointHalt: the budget is spent, or the call was given up.
        """
        while True:
            if given_up():
                raise EndpointHalt("outage", "the call was given up")
            now = time.monotonic()
            with self._book() as book:
                stopped = _reached(book, but="calls") if again else book.stopped or _reached(book)
                if stopped:
                    book.stopped = book.stopped or stopped
                    raise EndpointHalt("budget", stopped)
                busy = [each for each in book.busy if _alive(each[1])]
                book.busy = busy
                if now >= book.pace.pause_until and len(busy) < int(book.pace.limit):
                    self._count += 1
                    entry = Entry(f"{os.getpid()}-{threading.get_ident()}-{self._count}", now)
                    busy.append([entry.name, os.getpid()])
                    book.spent.calls += not again
                    book.spent.retries += again
                    return entry
                wait = book.pace.pause_until - now
            time.sleep(min(max(wait, _LOOK_EVERY_S), 1.0))

    def leave(
        self,
        entry: Entry,
        usage: Usage | None = None,
        *,
        cost_usd: float | None = None,
        estimated: bool = False,
        broken: bool = False,
        wait_s: float | None = None,
    ) -> None:
        """A try came to its end.

        Args:
            usage: of a call that was answered.
            cost_usd: of it; None without a price.
            broken: whether the answer did not come to its end: that says nothing for more calls at once.
            wait_s: how long the endpoint wants to be left alone, where it said that it is too much.
        """
        with self._book() as book:
            book.busy = [each for each in book.busy if each[0] != entry.name]
            if wait_s is not None:
                book.pace.refused(entry.began, time.monotonic(), wait_s)
            if usage is None:
                return
            if not broken:
                book.pace.answered()
            spent = book.spent
            spent.input_tokens += usage.input_tokens or 0
            spent.output_tokens += usage.output_tokens or 0
            spent.cached_tokens += usage.cached_tokens or 0
            spent.reasoning_tokens += usage.reasoning_tokens or 0
            spent.estimated += estimated
            spent.unpriced += cost_usd is None
            spent.cost_usd += cost_usd or 0.0

    def stop(self, reason: str) -> None:
        """Lets no further call or replay begin."""
        with self._book() as book:
            book.stopped = book.stopped or reason

    def stopped(self) -> str:
        """Why no further replay may begin; empty while it may."""
        with self._book() as book:
            book.stopped = book.stopped or _reached(book)
            return book.stopped

    def left_s(self) -> float:
        """Seconds until the time is up; infinite without a limit."""
        with self._book() as book:
            return math.inf if book.until is None else max(0.0, book.until - time.monotonic())

    def worked(self, seconds: float) -> None:
        """Adds time of work."""
        with self._book() as book:
            book.spent.seconds += seconds

    def told(self) -> tuple[dict[str, Json], dict[str, Json]]:
        """What was spent, and the limits, as JSON."""
        with self._book() as book:
            return asdict(book.spent), dict(book.limits)

    @contextmanager
    def _book(self) -> Iterator[_Book]:
        """The account, written back when the block ends, also by an error."""
        with self._locked() as (file, data):
            book = _book(data, self._path)
            try:
                yield book
            finally:
                _write(file, book)

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, bytes]]:
        """The file and what is in it, for this thread of this process alone."""
        file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        try:
            with _alone(file):
                yield file, os.read(file, 1 << 24)
        finally:
            os.close(file)


def _reached(book: _Book, but: str = "") -> str:
    """Which limit is reached, in words; empty for none, or none but the one of that name."""
    limits = Budget(**{name: value for name, value in book.limits.items() if name != but})  # type: ignore[arg-type]  # what `json` made
    if book.until is not None and time.monotonic() >= book.until:
        return f"budget reached: {limits.seconds:,.0f} seconds"
    return book.spent.reached(limits)


def _book(data: bytes, path: Path) -> _Book:
    if not data.strip():
        return _Book({}, Spent(), Pace(1.0, 1), [], "", None)
    try:
        body = orjson.loads(data)
        return _Book(**{**body, "spent": Spent(**body["spent"]), "pace": Pace(**body["pace"])})
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise IntegrityError(f"the account is broken: {error}", str(path), "run the suite again") from None


def _write(file: int, book: _Book) -> None:
    data = orjson.dumps(book)
    os.lseek(file, 0, os.SEEK_SET)
    size = max(os.fstat(file).st_size, -(-len(data) // _BLOCK) * _BLOCK)
    os.write(file, data.ljust(size))


@contextmanager
def _alone(file: int) -> Iterator[None]:
    """A lock of the open file, which threads of one process respect, too, as each opens it anew."""
    try:
        import fcntl
    except ImportError:
        with _THREADS:
            yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    yield  # closing the file lets go


def _alive(process: int) -> bool:
    """Whether a process that has a place is there; one that died gives it back."""
    if process == os.getpid() or sys.platform == "win32":  # where signal 0 is no question
        return True
    with contextlib.suppress(PermissionError):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True
