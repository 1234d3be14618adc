"""Where a run stands, for whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Progress"]


@dataclass(slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        total: samples that were asked for so far.
        about: samples that the run comes to, about; None where `total` is all that there will be.
        passed, failed, missed, errored: samples; one that is replayed again counts by its last attempt.
        retried: replays of samples that infrastructure spoiled before.
        cases: that the run has; `cases_done` of them have all samples that were asked for.
        cost_usd: of all replays.
    """

    total: int
    passed: int = 0
    failed: int = 0
    missed: int = 0
    errored: int = 0
    cost_usd: float = 0.0
    cases: int = 0
    cases_done: int = 0
    retried: int = 0
    about: int | None = None

    @property
    def done(self) -> int:
        """Samples that are there."""
        return self.passed + self.failed + self.missed + self.errored

    @property
    def rate(self) -> float | None:
        """Share of passed among the samples that passed or failed; None without any."""
        judged = self.passed + self.failed
        return self.passed / judged if judged else None

    def stands_at(self, counts: Mapping[str, int]) -> None:
        """Takes over the numbers of samples by outcome."""
        for name, value in counts.items():
            setattr(self, name, value)
