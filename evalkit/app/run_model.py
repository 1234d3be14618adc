"""A run as the commands hand it on: begun, with its samples, and decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.suite.account import NOTHING_SPENT, Account, read_account
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Manifest, Sample, Suite
from evalkit.suite.results import read_samples
from evalkit.verdict.effect import suite_effect
from evalkit.verdict.model import CaseVerdict, Decision, SuiteEffect
from evalkit.verdict.plans import Plans, make_plans

__all__ = ["Begun", "Run", "Taken"]


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that is to take samples, or took them, and what for.

    Attributes:
        folder: where its files are.
        suite: as it is run: what a continuation changed is in it.
    """

    folder: Path
    manifest: Manifest
    suite: Suite
    cases: Sequence[CaseRef]

    @property
    def run_id(self) -> str:
        """The run's."""
        return self.manifest.run_id

    def plans(self) -> Plans:
        """What the samples are taken by."""
        return make_plans(self.suite, self.cases, self.manifest.measures)

    def taken(self) -> Taken:
        """The run with the samples that it took.

        Raises:
            InputError: it is not finished.
            IntegrityError: its files are broken.
        """
        samples, account = read_samples(self.folder), read_account(self.folder)
        return Taken(self.folder, self.manifest, self.suite, self.cases, samples, account)


@dataclass(frozen=True, slots=True)
class Taken(Begun):
    """A run with the samples that it took; judged by whoever reads them.

    Attributes:
        samples: by case id, in index order.
        account: what it spent, and whether its budget stopped it.
    """

    samples: Mapping[str, Sequence[Sample]]
    account: Account = NOTHING_SPENT

    def decided(self, verdicts: Sequence[CaseVerdict], decision: Decision, notices: Sequence[str]) -> Run:
        """The run with what its samples came to.

        Args:
            notices: what a reader of its numbers should know, a sentence each.
        """
        return Run(
            folder=self.folder,
            manifest=self.manifest,
            samples=self.samples,
            cases=self.cases,
            verdicts=verdicts,
            decision=decision,
            account=self.account,
            effect=suite_effect(verdicts),
            notices=tuple(notices),
        )


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
    account: Account
    effect: SuiteEffect | None
    notices: tuple[str, ...]
