"""Where a run stands, for whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Progress"]


@dataclass(slots=True)
class Progress:
    """Where a run stands, in samples."""

    total: int
    passed: int = 0
    failed: int = 0
    missed: int = 0
    errored: int = 0
    cost_usd: float = 0.0

    @property
    def done(self) -> int:
        """Samples finished."""
        return self.passed + self.failed + self.missed + self.errored

    def count(self, tally: Mapping[str, float]) -> None:
        """Adds a batch's tally (see `journal.encode_batch`)."""
        for name, value in tally.items():
            setattr(self, name, getattr(self, name) + value)
