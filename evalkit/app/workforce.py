"""Who takes a run's samples, as whoever starts it wishes, and who is told how far they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.choose import choose
from evalkit.suite.model import Suite
from evalkit.suite.progress import Progress

__all__ = ["Workforce"]


@dataclass(frozen=True, slots=True)
class Workforce:
    """What is wished for.

    Attributes:
        executor: its name; empty chooses by the amount of work.
        workers: replays at once; None chooses.
        on_progress: is told after each finished item.
    """

    executor: str
    workers: int | None
    on_progress: Callable[[Progress], None]

    def chosen(self, suite: Suite, cases: Sequence[CaseRef], samples: int) -> tuple[str, int]:
        """The executor's name, and how many work at once; see `suite.choose`."""
        return choose(suite, cases, samples, self.executor, self.workers)
