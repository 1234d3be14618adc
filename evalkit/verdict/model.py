"""Words of a verdict: per case, and the release decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["BaselineRow", "CaseVerdict", "Change", "Decision", "GateOutcome", "Word"]

Word: TypeAlias = Literal["PASS", "FAIL", "INCONCLUSIVE"]
Change: TypeAlias = Literal["regressed", "improved", "no change shown", "no baseline", "stale baseline"]
GateOutcome: TypeAlias = Literal["PASS", "BLOCKED", "INCONCLUSIVE"]


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A case's counts in the baseline run, with the 95 % mid-P interval of the rate."""

    passed: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What a case's samples came to.

    Attributes:
        permanent: whether the case blocks releases.
        passed, failed: samples that enter the rate; `missed` and `errored` do not.
        low, high: 95 % mid-P interval of the pass rate; 0 and 1 without samples.
        p_value: one-sided exact test of "worse than the baseline"; None without a baseline.
        p_adjusted: after correction over the suite's cases.
        stale: why the baseline that there is was not compared with, with the cure; empty where it was.
        deterministic: all replays were equal, step by step.
        reason: one sentence for the verdict.
        failing_checks: (check id, sentence, samples failing it), most first.
    """

    case_id: str
    version: int
    digest: str
    title: str
    permanent: bool
    passed: int
    failed: int
    missed: int
    errored: int
    low: float
    high: float
    verdict: Word
    change: Change
    reason: str
    baseline: BaselineRow | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    deterministic: bool = False
    failing_checks: tuple[tuple[str, str, int], ...] = ()
    cost_usd: float = 0.0
    owner: str = ""
    link: str = ""
    signature: str = ""
    tags: tuple[str, ...] = ()
    stale: str = ""

    @property
    def n(self) -> int:
        """Samples that enter the rate."""
        return self.passed + self.failed

    @property
    def rate(self) -> float | None:
        """Share of samples that passed; None without samples."""
        return self.passed / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Decision:
    """The release decision.

    Attributes:
        reason: one sentence.
        blocking: what blocks, each (case id or ``gates.lock``, sentence).
        inconclusive: what could not be measured, likewise.
    """

    outcome: GateOutcome
    reason: str
    blocking: tuple[tuple[str, str], ...] = ()
    inconclusive: tuple[tuple[str, str], ...] = ()
