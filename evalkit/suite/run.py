"""CASES x N -> SAMPLES: one execution of a suite, journaled, resumable, written at once when it is whole."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import InputError
from evalkit.playback.endpoint.ledger import LEDGER_NAME, Ledger
from evalkit.suite.executors.protocol import EXECUTORS, Task
from evalkit.suite.journal import JOURNAL_NAME, Journal, encode_batch, head_of, read_heads
from evalkit.suite.manifest import suite_json
from evalkit.suite.model import Sample, Suite
from evalkit.suite.plan import Item, plan_items, split_item
from evalkit.suite.progress import Progress
from evalkit.suite.results import write_results
from evalkit.suite.seen import Seen
from evalkit.suite.select import CaseRef
from evalkit.suite.work import LEDGER, SANITIZING, WORLD

__all__ = ["OpenRun", "execute"]

LOCK_NAME = ".writing.lock"


def execute(folder: Path, suite: Suite, cases: Sequence[CaseRef], **settings: Any) -> str:
    """Every case as often as the suite says, or once, as far as the journal does not hold it; then the run's tables.

    Args:
        settings: see `OpenRun`.

    Returns:
        Why the run stopped before its end; empty for a whole one.

    Raises:
        EvalkitError: what a worker raised on purpose.
        KeyboardInterrupt: stopped; the journal holds what was done.
    """
    with OpenRun(folder, suite, cases, **settings) as run:
        run.up_to({case.id: suite.samples or 1 for case in cases})
        return run.finish()


class OpenRun:
    """A run that is being written, by this process alone.

    What it is asked for it does as far as the journal does not hold it; `finish` writes samples and traces. A run whose
    budget is spent stops: the samples that it came to are written, and its journal stays, since there is more to do.

    Attributes:
        seen: what the samples came to so far.
        progress: the same in numbers; its total is what was asked for so far.
    """

    def __init__(
        self,
        folder: Path,
        suite: Suite,
        cases: Sequence[CaseRef],
        *,
        executor: str,
        workers: int,
        on_progress: Callable[[Progress], None] = lambda _: None,
        sanitizing: Mapping[str, Any] | None = None,
        world: Mapping[str, Any] | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            folder: the run's; holds the manifest.
            executor: name in the registry.
            on_progress: is called after each finished item.
            sanitizing: policy and key file of the sanitizer that outputs go through; see `suite.work.SANITIZING`.
            world: the project's choices about the frozen world; see `suite.work.WORLD`.
        """
        self.seen = Seen()
        self.progress = Progress(total=0)
        self._folder = folder
        self._cases = cases
        self._plan: dict[str, Any] = {**suite_json(suite), SANITIZING: sanitizing, WORLD: world}
        self._suite = suite
        self._executor = executor
        self._workers = workers
        self._on_progress = on_progress
        self._ledger: Ledger | None = None
        self._worked_at = 0.0
        self._whole = True

    def __enter__(self) -> OpenRun:
        self._lock = _sole_writer(self._folder)
        self._lock.__enter__()
        try:
            for head in read_heads(self._folder):
                self.seen.add(head.seen)
                self.progress.count(head.tally)
            self._ledger = _account(self._folder, self._suite)
            if self._ledger is not None:
                self._plan[LEDGER] = str((self._folder / LEDGER_NAME).absolute())
            self._journal = Journal(self._folder)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        self._worked_at = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()
        self._lock.__exit__(None, None, None)

    def up_to(self, wanted: Mapping[str, int]) -> bool:
        """Does what is lacking of the first so many samples of some cases, by id.

        Returns:
            Whether all of them are there now; not where the budget is spent.

        Raises:
            EvalkitError: what a worker raised on purpose.
            KeyboardInterrupt: stopped; the journal holds what was done.
        """
        asked = [case for case in self._cases if wanted.get(case.id)]
        items = plan_items(asked, wanted, self._workers, self.seen)
        self.progress.total = self.progress.done + sum(item.size for item in items)
        while items and not self._over():
            items = self._do(items)
        self._whole = self._whole and self.progress.done == self.progress.total
        return self._whole

    def finish(self) -> str:
        """Writes samples and traces; says why the run stopped before its end, empty for a whole one."""
        self._journal.close()
        write_results(self._folder)
        if self._ledger is not None and not self._whole:
            return self._ledger.stopped()
        (self._folder / JOURNAL_NAME).unlink()
        return ""

    def _do(self, items: Sequence[Item]) -> list[Item]:
        """One pass over the items; gives back those to try again, sample by sample, because their worker died."""
        dead: list[Item] = []
        with _scratch() as scratch:
            task = Task(self._plan, items, self._workers, scratch, self._done, dead.append, self._over)
            EXECUTORS.get(self._executor)(task)
        self._clock()
        again: list[Item] = []
        for item in dead:
            if item.size > 1:
                again += split_item(item, len(again))
            else:
                self._done(item, encode_batch([_died(item)], []))
        return again

    def _done(self, _item: Item, batch: bytes) -> None:
        head = head_of(batch)
        if head.seen:
            self._journal.append(batch)
            self.seen.add(head.seen)
        self._clock()
        self.progress.count(head.tally)
        self._on_progress(self.progress)

    def _clock(self) -> None:
        """Tells the account how long it was worked."""
        now = time.monotonic()
        if self._ledger is not None:
            self._ledger.worked(now - self._worked_at)
        self._worked_at = now

    def _over(self) -> bool:
        return self._ledger is not None and bool(self._ledger.stopped())


def _account(folder: Path, suite: Suite) -> Ledger | None:
    """The run's account, where something is spent or limited; an exact run without limits needs none."""
    if not suite.live and not suite.budget.json() and not (folder / LEDGER_NAME).exists():
        return None
    return Ledger.opened(folder / LEDGER_NAME, suite.budget, 1 if suite.model is None else suite.model.concurrency)


def _died(item: Item) -> Sample:
    portion = item.portions[0]
    return Sample(
        case_id=portion.case_id,
        case_version=portion.version,
        index=portion.samples[0],
        outcome="errored",
        reason="the worker's process died during this replay",
    )


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="evalkit-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Keeps a second process from writing the same run; the system lets go of the lock when this one dies.

    A record lock: unlike `flock`'s it is not shared with forked workers, which may outlive a killed controller.
    """
    try:
        import fcntl
    except ImportError:  # Windows: no such lock
        yield
        return
    path = folder / LOCK_NAME
    with open(path, "wb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another process is writing this run", str(folder), "wait for it, or stop it") from None
        yield
        path.unlink()
