"""What a run came to, as the commands hand it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.suite.account import NOTHING_SPENT, Account
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Manifest, Sample, Suite
from evalkit.verdict.model import CaseVerdict, Decision, SuiteEffect
from evalkit.verdict.plans import Plans, make_plans

__all__ = ["Run", "Taken"]


@dataclass(frozen=True, slots=True)
class Taken:
    """The samples that a run took, and what for; judged by whoever reads them.

    Attributes:
        samples: by case id, in index order.
    """

    folder: Path
    manifest: Manifest
    suite: Suite
    cases: Sequence[CaseRef]
    samples: Mapping[str, Sequence[Sample]]

    @property
    def run_id(self) -> str:
        """The run's."""
        return self.manifest.run_id

    def plans(self) -> Plans:
        """What the samples were taken by."""
        return make_plans(self.suite, self.cases, self.manifest.measures)


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
    verdicts: Sequence[CaseVerdict]
    decision: Decision
    account: Account = NOTHING_SPENT
    effect: SuiteEffect | None = None
    notices: tuple[str, ...] = ()
