"""Words of a verdict: per case, and the release decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.stats.repeats import Stability
from evalkit.suite.model import PolicyKind

__all__ = [
    "BaselineRow",
    "CaseVerdict",
    "Change",
    "Decision",
    "Estimate",
    "GateOutcome",
    "ManyRuns",
    "ReleaseEffect",
    "SuiteEffect",
    "Word",
]

Word: TypeAlias = Literal["PASS", "FAIL", "DEGRADED_WITHIN_MARGIN", "INCONCLUSIVE"]
"""DEGRADED_WITHIN_MARGIN: worse than it should be, and shown to be so by less than is tolerated."""

ReleaseEffect: TypeAlias = Literal["passes", "blocks", "unmeasured"]
Change: TypeAlias = Literal["regressed", "improved", "no change shown", "no baseline", "stale baseline"]
GateOutcome: TypeAlias = Literal["PASS", "BLOCKED", "INCONCLUSIVE"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A case's pass rate without the bias of a number of samples that hung on what they came to.

    Attributes:
        rate: over many runs of the case its mean is the true rate, whenever they stop.
        variance: of the rate, likewise; a single one may be below 0. None where the samples tell nothing of it.
        passed, n: of the first look: samples whose number nothing could change, for tests that take that for granted.
    """

    rate: float
    variance: float | None
    passed: int
    n: int


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A case's counts in the baseline run, with the 95 % mid-P interval of the rate.

    Attributes:
        deterministic: its replays there were equal, in a frozen world.
        estimate: see `CaseVerdict`.
    """

    passed: int
    n: int
    low: float
    high: float
    deterministic: bool = False
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """What a case's samples say of `k` runs in a row; see `stats.repeats`.

    Attributes:
        all_pass: pass^k, the estimated chance that all of them pass; None for fewer than `k` samples.
        low, high: its 95 % interval.
        one_passes: pass@k, the estimated chance that at least one does; likewise.
    """

    k: int
    all_pass: float | None
    low: float
    high: float
    one_passes: float | None


@dataclass(frozen=True, slots=True)
class SuiteEffect:
    """A whole suite against its baseline, over the cases that have one.

    Attributes:
        cases: how many were compared.
        difference: mean of the cases' pass rates less the baseline's, without bias; see `Estimate`.
        this_suite: 95 % interval of it, these cases being the whole question.
        cases_like_these: the same where they stand for others like them; infinite for a single case.
        p_worse: exact one-sided test of "this suite is worse" (Cochran-Mantel-Haenszel), over samples whose number
            nothing could change: of a run that may stop early, each case's first look. Of a screened run two such
            tests, of the first samples and of the suspects' fresh ones, taken together (`stats.screening`).
        deterministic: all replays of each case were equal, here and in the baseline: the difference is a fact, its
            interval that alone, and `p_worse` 0 or 1.
    """

    cases: int
    difference: float
    this_suite: tuple[float, float]
    cases_like_these: tuple[float, float]
    p_worse: float
    deterministic: bool = False


@dataclass(slots=True)  # nobody changes it, but a run makes very many, and freezing would triple the time of that
class CaseVerdict:
    """What a case's samples came to.

    Attributes:
        permanent: whether the case blocks releases.
        passed, failed: samples that enter the rate; `missed` and `errored` do not.
        low, high: 95 % mid-P interval of the pass rate; 0 and 1 without samples.
        p_value: one-sided exact test of "worse than the baseline"; None without a baseline, and where all replays were
            equal here and there: a change is a fact then.
        p_adjusted: after correction over the suite's cases.
        stale: why the baseline that there is was not compared with, with the cure; empty where it was.
        deterministic: all replays were equal, step by step.
        reason: one sentence for the verdict.
        failing_checks: (check id, sentence, samples failing it), most first.
        policy: the policy that decided.
        on_degraded: what DEGRADED_WITHIN_MARGIN does to the release.
        detectable_drop: of an inconclusive case, the smallest drop that its samples show 4 times of 5, where known.
        more_samples: of an inconclusive case, further samples after which a clear word is likely, where known.
        underpowered: what so few samples could not tell, as was said before the run; empty where they were enough.
        stability: what the samples allow to say about the rate; see `stats.repeats.stability`.
        many_runs: pass^k and pass@k for the suite's k.
        samples_fixed: samples that its policy takes where none are saved by stopping early.
        model_calls: live model calls of its samples.
        screened: few samples raised no suspicion, and no more were taken: shown to be neither good nor bad.
        estimate: the pass rate where there are as many samples as there are because of what they came to, which makes
            the share that passed a biased one; what is told of the suite is made of it. None where it is that share.
        steps: of a case that was screened, what the suite's exact test takes of it: the passes and samples of a part of
            the baseline, then of its own first few samples; and of a suspect those of the rest and of its fresh ones.
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
    policy: PolicyKind = "acceptance"
    on_degraded: Literal["block", "pass"] = "pass"
    detectable_drop: float | None = None
    more_samples: int | None = None
    underpowered: str = ""
    stability: Stability = "UNKNOWN"
    many_runs: tuple[ManyRuns, ...] = ()
    samples_fixed: int = 0
    model_calls: int = 0
    screened: bool = False
    estimate: Estimate | None = None
    steps: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def n(self) -> int:
        """Samples that enter the rate."""
        return self.passed + self.failed

    @property
    def rate(self) -> float | None:
        """Share of samples that passed; None without samples."""
        return self.passed / self.n if self.n else None

    @property
    def samples(self) -> int:
        """Samples taken, lost ones too."""
        return self.n + self.missed + self.errored

    @property
    def samples_saved(self) -> int:
        """Samples fewer than without early stopping; negative where it took more, or lost ones had to be replaced.

        Nothing was saved where a case was given up, or its run was stopped, before it was decided.
        """
        decided = self.screened or self.verdict != "INCONCLUSIVE"
        return self.samples_fixed - self.samples if decided else min(0, self.samples_fixed - self.samples)

    @property
    def calls_saved(self) -> int:
        """Live model calls that these samples would have made, going by those that were taken."""
        return round(self.samples_saved * self.model_calls / self.samples) if self.samples else 0

    @property
    def effect(self) -> ReleaseEffect:
        """What the verdict does to a release, were the case permanent."""
        if self.verdict == "DEGRADED_WITHIN_MARGIN":
            return "blocks" if self.on_degraded == "block" else "passes"
        return "passes" if self.verdict == "PASS" else "blocks" if self.verdict == "FAIL" else "unmeasured"


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
