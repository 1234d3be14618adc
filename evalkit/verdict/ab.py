"""Two arms over the same cases, and what comparing them came to: plain values, made by `verdict.ab_compare`.

A difference is always arm b's less arm a's. Rates are shares from 0 to 1, intervals have the level 1 - alpha.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["METRICS", "ABVerdict", "ArmOfCase", "Better", "CasePair", "Loss", "Metric", "MetricChange", "RateChange"]

Metric: TypeAlias = Literal["pass_rate", "cost", "latency", "steps", "tokens"]
"""What arms are compared on. Cost is in dollars a sample, latency in seconds, steps are model and tool calls, tokens
those of a live model, in and out; of these less is better."""

METRICS: tuple[Metric, ...] = ("pass_rate", "cost", "latency", "steps", "tokens")

Better: TypeAlias = Literal["a", "b", "neither shown", "not compared"]
"""Which arm is shown to be better; nothing is where too few samples tell, or none can be compared."""


@dataclass(frozen=True, slots=True)
class ArmOfCase:
    """One case's samples in one arm.

    Attributes:
        passed, failed: samples that enter the rate.
        missed, errored: samples that were lost; they enter nothing.
        means: plain means of the samples that enter the rate, by metric, in its unit.
    """

    passed: int = 0
    failed: int = 0
    missed: int = 0
    errored: int = 0
    means: Mapping[Metric, float] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Samples that enter the rate."""
        return self.passed + self.failed

    @property
    def lost(self) -> int:
        """Samples that do not."""
        return self.missed + self.errored

    @property
    def rate(self) -> float | None:
        """Share of samples that passed; None without samples."""
        return self.passed / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class CasePair:
    """One case in both arms.

    Attributes:
        permanent: whether the case blocks releases.
        difference: of the pass rates; None where the case was not compared.
        low, high: its interval, MOVER of the two mid-P intervals.
        p: two-sided exact p-value of "no difference" for this case alone; None where it was not compared.
        p_adjusted: after correction over all compared cases.
        better: the arm that `p_adjusted` shows to be better in this case.
        deterministic: in each arm all replays were equal, so that the difference is a fact and not an estimate.
        reason: why the case was not compared; empty for one that was.
    """

    case_id: str
    title: str
    permanent: bool
    a: ArmOfCase
    b: ArmOfCase
    better: Better
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    deterministic: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RateChange:
    """The pass rate over all compared cases, each counted alike.

    Attributes:
        cases: how many were compared.
        a, b: the arms' pass rates, as means over the cases.
        low, high: interval of the difference for this suite: its cases being fixed, only repeated runs vary.
        low_like, high_like: for cases like these, the suite's being a sample; None for fewer than two.
        p: two-sided exact p-value of "no difference in this suite" (CMH).
        p_adjusted: after correction over the metrics; `p` itself where the pass rate is the primary metric.
        detectable: the difference that so many samples show 4 times of 5, about; None where none can be named.
        better: the arm that is shown to be better.
        opposed: the test shows a difference, but cases with more samples point the other way than the mean does.
    """

    cases: int
    a: float
    b: float
    low: float
    high: float
    low_like: float | None
    high_like: float | None
    p: float
    p_adjusted: float
    detectable: float | None
    better: Better
    opposed: bool = False

    @property
    def difference(self) -> float:
        """The mean difference over the cases."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One of the other metrics, compared case by case on the logarithm.

    Attributes:
        cases: how many were compared.
        a, b: plain means over the cases, in the metric's unit.
        change: the typical relative change; 0.08 means 8 % more in arm b.
        low, high: its interval for this suite: its cases being fixed, only repeated runs vary; None where so few runs
            leave it open.
        low_like, high_like: for cases like these, the suite's being a sample; None where all changed alike, as one
            does.
        p: two-sided p-value of "no change in this suite", by dealing each case's runs anew to the arms.
        least_p: the smallest that `p` can be with so many runs; None where all replays of each case were equal, so that
            the change is a fact of this suite and `p` is `p_like`.
        p_like: two-sided p-value of "no change" for cases like these, by sign flips over the cases.
        p_adjusted: after correction over the metrics; `p` itself where this is the primary metric.
        ratio_of_means: plain mean of b over that of a: what the bill shows.
        share_lower: the probability that a run of b is below one of a in the same case, ties counted half.
        shift: what was added to every value, because some were 0.
        better: the arm that is shown to need less.
        reason: why the metric was not compared; the numbers are None then.
    """

    metric: Metric
    better: Better
    cases: int = 0
    a: float | None = None
    b: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    low_like: float | None = None
    high_like: float | None = None
    p: float | None = None
    least_p: float | None = None
    p_like: float | None = None
    p_adjusted: float | None = None
    ratio_of_means: float | None = None
    share_lower: float | None = None
    shift: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """Samples that entered nothing, over all cases of an arm.

    Attributes:
        samples: all there are.
        reason: why most of them were lost, by the words of the samples; empty where none was.
    """

    samples: int
    missed: int
    errored: int
    reason: str = ""

    @property
    def lost(self) -> int:
        """Missed and errored ones."""
        return self.missed + self.errored

    @property
    def share(self) -> float:
        """Their share; 0 without samples."""
        return self.lost / self.samples if self.samples else 0.0


@dataclass(frozen=True, slots=True)
class ABVerdict:
    """What two arms came to.

    Attributes:
        a, b: what the arms are, in words ("prompt=old.txt").
        sentence: the verdict on the primary metric, and what else is shown.
        primary: the metric that was to decide; the others are corrected for being several (Holm).
        better: the arm that is shown to be better on the primary metric.
        alpha: the error of showing a difference where there is none; each level is 1 - alpha.
        rate: the pass rates; None where no case could be compared.
        metrics: the others, compared or not, in the order of `METRICS`.
        pairs: every case, in order; the loudest first is the reader's affair.
        loss_a, loss_b: lost samples.
        unequal_loss: one arm lost more than the other than chance explains: what is left may not be comparable. It is
            called better where it were so if all that it lost had failed.
        deterministic: every compared case is, in both arms.
        notes: what a reader must know before believing the sentence, one each.
    """

    a: str
    b: str
    sentence: str
    primary: Metric
    better: Better
    alpha: float
    rate: RateChange | None
    metrics: tuple[MetricChange, ...]
    pairs: tuple[CasePair, ...]
    loss_a: Loss
    loss_b: Loss
    unequal_loss: bool = False
    deterministic: bool = False
    notes: tuple[str, ...] = ()
