"""The work of an A/B run: turn after turn, one arm at a time, within one budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evalkit.app.keys import sanitizing_json
from evalkit.app.settings import Settings
from evalkit.playback.endpoint.budget import Budget, Spent
from evalkit.playback.endpoint.ledger import LEDGER_NAME, Ledger
from evalkit.suite.account import read_account
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Suite
from evalkit.suite.progress import Progress
from evalkit.suite.results import is_whole, read_samples, write_results
from evalkit.suite.run import OpenRun
from evalkit.suite.seen import Seen, seen_json
from evalkit.suite.turns import Arm, Turn, turns

__all__ = ["Work", "take_turns"]

_OTHER: Mapping[Arm, Arm] = {"a": "b", "b": "a"}
_COUNTS = ("passed", "failed", "missed", "errored", "cost_usd", "retried")


@dataclass(frozen=True, slots=True)
class Work:
    """Both arms.

    Attributes:
        folder: of the whole; the arms' runs are in it, by their letters.
        samples: a case and arm.
        budget: of both arms together.
        executors: what does the work of each, and how many at once.
        seen: what each arm came to so far.
    """

    folder: Path
    suites: Mapping[Arm, Suite]
    cases: Sequence[CaseRef]
    samples: int
    budget: Budget
    executors: Mapping[Arm, tuple[str, int]]
    seen: dict[Arm, Seen] = field(default_factory=dict)

    def run_of(self, arm: Arm) -> Path:
        """The folder of an arm's run."""
        return self.folder / arm

    def whole(self, arm: Arm) -> bool:
        """Whether an arm's run has come to its end."""
        return is_whole(self.run_of(arm))

    def settled(self, case_id: str) -> bool:
        """Whether more replays of a case could tell nothing new: all are equal, in a world frozen in both arms."""
        if any(suite.mode != "exact" for suite in self.suites.values()) or len(self.seen) < len(self.suites):
            return False
        found = [seen.get(case_id) for seen in self.seen.values()]
        return all(one is not None and one.count > 1 and one.equal for one in found)

    def total(self) -> int:
        """Samples that there will be, as far as is known."""
        counts = {
            case.id: [seen[case.id].count if case.id in seen else 0 for seen in self.seen.values()]
            for case in self.cases
        }
        return sum(sum(counts[case.id]) if self.settled(case.id) else 2 * self.samples for case in self.cases)


def take_turns(work: Work, blocks: int, settings: Settings, on_progress: Callable[[Progress], None]) -> str:
    """Does what both arms lack of their samples, in turns; then writes the runs' tables.

    Returns:
        Why the budget stopped it; empty where it did not.

    Raises:
        EvalkitError: what a worker raised on purpose.
        KeyboardInterrupt: stopped; the journals hold what was done.
    """
    shown = _Shown(on_progress)
    for arm in work.suites:
        if work.whole(arm):  # stopped between the ends of the two
            work.seen[arm] = Seen()
            for samples in read_samples(work.run_of(arm)).values():
                work.seen[arm].add(seen_json(samples))
    left = [arm for arm in work.suites if not work.whole(arm)]
    for turn in turns(work.samples, blocks):
        if turn.arm in left and not _take(work, turn, settings, shown):
            return _stop(work, left, settings, shown)
    for arm in left:
        with _opened(work, arm, settings, shown, work.budget) as run:
            run.finish()
    return ""


def _take(work: Work, turn: Turn, settings: Settings, shown: _Shown) -> bool:
    """One turn; whether the run may go on."""
    limits = _left(work, turn.arm)
    if any(value <= 0 for value in asdict(limits).values() if value is not None):
        return False
    with _opened(work, turn.arm, settings, shown, limits) as run:
        work.seen[turn.arm] = run.seen
        wanted = {case.id: turn.up_to for case in work.cases if not work.settled(case.id)}
        shown.total = work.total()
        return run.up_to(wanted)


def _opened(work: Work, arm: Arm, settings: Settings, shown: _Shown, limits: Budget) -> OpenRun:
    """An arm's run, open for one turn: its account and its clock stand still while the other arm works."""
    executor, workers = work.executors[arm]
    return OpenRun(
        work.run_of(arm),
        replace(work.suites[arm], budget=limits),
        work.cases,
        executor=executor,
        workers=workers,
        on_progress=lambda progress: shown.show(arm, progress),
        sanitizing=sanitizing_json(settings),
        world=settings.world.json(),
    )


def _left(work: Work, arm: Arm) -> Budget:
    """What an arm may spend in all: the budget of both, less what the other arm has spent."""
    told: Mapping[str, Any] = read_account(work.run_of(_OTHER[arm])).spent
    spent, budget = Spent(**told) if told else Spent(), work.budget
    return Budget(
        calls=None if budget.calls is None else budget.calls - spent.calls,
        tokens=None if budget.tokens is None else budget.tokens - spent.tokens,
        cost_usd=None if budget.cost_usd is None else budget.cost_usd - spent.cost_usd,
        seconds=None if budget.seconds is None else budget.seconds - spent.seconds,
    )


def _stop(work: Work, left: Sequence[Arm], settings: Settings, shown: _Shown) -> str:
    """Writes what the arms came to, and leaves their journals for the continuation."""
    told = ", ".join(f"{name} {value}" for name, value in work.budget.json().items())
    reason = f"the budget of both arms is spent: {told}"
    for arm in left:
        with _opened(work, arm, settings, shown, work.budget) as run:  # makes the files of an arm without a turn
            Ledger(work.run_of(arm) / LEDGER_NAME).stop(reason)
        write_results(work.run_of(arm), run.seen.retried())
    return reason


class _Shown:
    """The progress of both arms as one."""

    def __init__(self, on_progress: Callable[[Progress], None]) -> None:
        self._on_progress = on_progress
        self._arms: dict[Arm, Progress] = {}
        self.total = 0

    def show(self, arm: Arm, progress: Progress) -> None:
        """Tells of an arm's progress."""
        self._arms[arm] = progress
        both = Progress(
            self.total, **{name: sum(getattr(one, name) for one in self._arms.values()) for name in _COUNTS}
        )
        self._on_progress(both)
