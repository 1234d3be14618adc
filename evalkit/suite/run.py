"""CASES x N -> SAMPLES: one execution of a suite, journaled, resumable, written at once when it is whole."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from evalkit.playback.endpoint.ledger import LEDGER_NAME, Ledger
from evalkit.suite.case_ref import CaseRef, ids_of, libraries_of
from evalkit.suite.died import Lost
from evalkit.suite.executors.protocol import EXECUTORS, Job, Round, Rounds
from evalkit.suite.journal import JOURNAL_NAME, Head, Journal, head_of, read_heads
from evalkit.suite.manifest import suite_json
from evalkit.suite.model import Suite
from evalkit.suite.plan import Item, plan_items, plans_again
from evalkit.suite.progress import Progress
from evalkit.suite.results import Tables
from evalkit.suite.seen import Seen
from evalkit.suite.texts import joined
from evalkit.suite.work import LEDGER, SANITIZING, WORLD
from evalkit.suite.writer import sole_writer

__all__ = ["OpenRun"]


class OpenRun:
    """A run that is being written, by this process alone.

    What it is asked for it does as far as the journal does not hold it; samples that infrastructure spoiled are
    replayed again at the end of what was asked for, as often as the suite says. `finish` writes samples and traces. A
    run whose budget is spent stops: the samples that it came to are written, and its journal stays, since there is more
    to do.

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
        about: int | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Opens nothing yet.

        Args:
            folder: the run's; holds the manifest.
            executor: name in the registry.
            on_progress: is called after each finished item.
            sanitizing: policy and key file of the sanitizer that outputs go through; see `suite.work.SANITIZING`.
            world: the project's choices about the frozen world; see `suite.work.WORLD`.
            about: samples that the run comes to, about, where what is asked for first may be less; for the progress.
            meanwhile: see `executors.protocol.Job`; not every executor comes to it.
        """
        self.seen = Seen(ids_of(cases))
        self.progress = Progress(total=0, cases=len(cases), about=about)
        self._folder = folder
        self._cases = cases
        self._plan: dict[str, Any] = {**suite_json(suite), SANITIZING: sanitizing, WORLD: world}
        self._suite = suite
        self._executor = executor
        self._workers = workers
        self._on_progress = on_progress
        self._meanwhile = meanwhile
        self._ledger: Ledger | None = None
        self._worked_at = 0.0
        self._whole = True
        self._wanted: Mapping[str, int] = {}
        self._rounds: Rounds | None = None
        self._open = ExitStack()
        self._working = ExitStack()

    def __enter__(self) -> OpenRun:
        with ExitStack() as stack:  # let go of again where opening fails
            stack.enter_context(sole_writer(self._folder))
            for head in read_heads(self._folder):
                self._take(head)
            self._ledger = _account(self._folder, self._suite)
            if self._ledger is not None:
                self._plan[LEDGER] = str((self._folder / LEDGER_NAME).absolute())
            self._tables = stack.enter_context(Tables(self._folder))
            self._journal = Journal(self._folder)
            stack.callback(self._journal.close)
            self._open = stack.pop_all()
        self._open.enter_context(self._working)
        self._worked_at = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._rounds = None  # it knows this object: without it, what was held of the samples is gone at once

    def up_to(self, wanted: Mapping[str, int]) -> bool:
        """Does what is lacking of the first so many samples of some cases, by id.

        Returns:
            Whether all of them are there now; not where the budget is spent.

        Raises:
            EvalkitError: what a worker raised on purpose, or a disk that is full.
            KeyboardInterrupt: stopped; the journal holds what was done.
        """
        done = self._done_of(wanted)
        self._wanted = joined(self._wanted, wanted)
        self.progress.cases_done += self._done_of(wanted) - done
        items = plan_items(self._cases, wanted, self._workers, self.seen)
        self.progress.total = self.progress.done + sum(item.size for item in items)
        self._do_all(items)
        self._again(wanted)
        self._whole = self._whole and self.progress.done == self.progress.total
        return self._whole

    def again(self) -> bool:
        """Replays once more what infrastructure had spoiled when the run was stopped; gives back what `up_to` does.

        A case whose samples are lost is given up, so that nothing more is asked for of it: not before that was tried.
        """
        self.progress.total = self.progress.done
        self._again({case_id: len(case.outcomes) for case_id, case in self.seen.items() if case.errored})
        return self._whole

    def finish(self) -> str:
        """Writes samples and traces; says why the run stopped before its end, empty for a whole one.

        Raises:
            DiskFault: the disk is full; the journal holds all samples.
        """
        self._working.close()
        self._journal.close()
        self._tables.finish(self.seen.retried())
        if self._ledger is not None and not self._whole:
            return self._ledger.stopped()
        (self._folder / JOURNAL_NAME).unlink()
        return ""

    def _again(self, wanted: Mapping[str, int]) -> None:
        """Replays what infrastructure spoiled."""
        for items in plans_again(self._cases, wanted, self._workers, self.seen, self._suite.retries):
            if self._over():
                self._whole = False
                return
            self._do_all(items)

    def _do_all(self, items: Sequence[Item]) -> None:
        """The items, and what died of them sample by sample."""
        items = list(items)
        while items and not self._over():
            items = self._do(items)

    def _do(self, items: Sequence[Item]) -> list[Item]:
        """One pass over the items; gives back those to try again, sample by sample, because their worker died."""
        lost = Lost(self._suite, self._done)
        self._working_on()(Round(items, self._done, lost.died, lost.late))
        self._clock()
        return lost.to_do_again(self.seen)

    def _working_on(self) -> Rounds:
        """The executor, opened when it is first needed."""
        if self._rounds is None:
            scratch = self._working.enter_context(_scratch())
            libraries = tuple(map(Path, libraries_of(self._cases)))
            job = Job(self._plan, self._workers, scratch, libraries, self._over, self._meanwhile)
            self._rounds = self._working.enter_context(EXECUTORS.get(self._executor)(job))
        return self._rounds

    def _done(self, lines: Sequence[bytes]) -> None:
        heads = [head_of(line) for line in lines]
        full = [line for line, head in zip(lines, heads, strict=True) if head.seen]
        if full:
            self._journal.append(*full)
        for head in heads:
            self._take(head)
        self._tables.add(full, final=not self.seen.counts["errored"])
        self._clock()
        self._on_progress(self.progress)

    def _take(self, head: Head) -> None:
        """Notes what a journal line holds."""
        cases = dict.fromkeys(entry[0] for entry in head.seen)
        done = self._done_of(cases)
        self.seen.add(head.seen)
        progress = self.progress
        progress.stands_at(self.seen.counts)
        progress.cost_usd += head.cost_usd
        progress.retried += sum(len(entry[1]) for entry in head.seen if len(entry) > 4 and entry[4] > 1)
        progress.cases_done += self._done_of(cases) - done

    def _done_of(self, cases: Iterable[str]) -> int:
        """How many of some cases have all samples that were asked for."""
        return sum(self._has_all(case_id) for case_id in cases)

    def _has_all(self, case_id: str) -> bool:
        return self.seen.count(case_id) >= self._wanted.get(case_id, 1)  # of one that is decided nothing more is wanted

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


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="evalkit-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
