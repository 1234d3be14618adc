"""What a run came to, as the commands hand it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.suite.account import NOTHING_SPENT, Account
from evalkit.suite.model import Manifest, Sample
from evalkit.suite.select import CaseRef
from evalkit.verdict.model import CaseVerdict, Decision, SuiteEffect

__all__ = ["Run"]


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: what was replayed, what it came to, and the decision.

    Attributes:
        folder: where its files are.
        samples: by case id, in index order.
        account: what it spent, and whether its budget stopped it.
        effect: the suite against its baseline; None without one.
        notices: what a reader of its numbers should know, a sentence each.
    """

    folder: Path
    manifest: Manifest
    samples: Mapping[str, Sequence[Sample]]
    cases: Sequence[CaseRef]
    verdicts: tuple[CaseVerdict, ...]
    decision: Decision
    account: Account = NOTHING_SPENT
    effect: SuiteEffect | None = None
    notices: tuple[str, ...] = ()

    @property
    def samples_taken(self) -> int:
        """Samples of all cases."""
        return sum(verdict.samples for verdict in self.verdicts)

    @property
    def samples_fixed(self) -> int:
        """Samples that the policies take where none are saved by stopping early."""
        return sum(verdict.samples_fixed for verdict in self.verdicts)

    @property
    def calls_saved(self) -> int:
        """Live model calls that the samples not taken would have made."""
        return sum(verdict.calls_saved for verdict in self.verdicts)
