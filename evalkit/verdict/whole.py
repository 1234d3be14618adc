"""Plans of a number of samples that is fixed beforehand: each policy without early stopping, and two that need none.

Where a run is sequential it still stops when the rest can't change the word: one failure decides ``zero_failures``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.percent import percent
from evalkit.stats.interval import cp_lower, cp_upper
from evalkit.suite.model import Policy
from evalkit.verdict.absolute import acceptance, min_rate, zero_failures
from evalkit.verdict.comparative import not_worse
from evalkit.verdict.foresight import foresee_acceptance, foresee_min_rate, foresee_not_worse
from evalkit.verdict.ruling import Ruling

__all__ = ["SAMPLES_ZERO_FAILURES", "Whole", "samples_min_rate"]

SAMPLES_ZERO_FAILURES = 20
"""Taken by ``zero_failures`` where the suite names no number: no failure among them leaves rates below 14 % open."""

_MOST = 100_000
_MOST_LOOKS = 100


def samples_min_rate(rate: float, alpha: float, beta: float) -> int:
    """The fewest samples that show a rate although one of them failed, and a lower one where none passed."""
    n = 2
    while n < _MOST and not cp_lower(n - 1, n, beta) >= rate > cp_upper(0, n, alpha):
        n += 1
    return n


@dataclass(frozen=True, slots=True)
class Whole:
    """See `verdict.plans.CasePlan`.

    Attributes:
        alpha: the policy's, or this case's share of it.
        most: samples, all of which are taken.
        measure: the baseline's passes and samples; only ``not_worse`` needs it.
        early: stop where the rest can't change the word.
    """

    policy: Policy
    alpha: float
    most: int
    measure: tuple[int, int] | None = None
    early: bool = False

    @property
    def fixed(self) -> int:
        """All of them."""
        return self.most

    @property
    def underpowered(self) -> str:
        """What no outcome of so many samples could tell; empty where that is nothing."""
        policy = self.policy
        if policy.kind == "min_rate":
            return foresee_min_rate(self.most, policy.min_rate, alpha=self.alpha, beta=policy.beta)
        if policy.kind == "acceptance":
            rates = {"p_good": policy.p_good, "p_bad": policy.p_bad}
            return foresee_acceptance(self.most, **rates, alpha=self.alpha, beta=policy.beta)
        if policy.kind == "not_worse" and self.measure is not None:
            x1, n1 = self.measure
            return foresee_not_worse(x1, n1, self.most, policy.margin, alpha=self.alpha, beta=policy.beta)
        return ""

    def next_look(self, passed: Sequence[bool]) -> int | None:
        """All samples; by batches where a failure may settle it."""
        n, batch = len(passed), self._batch
        looked_at = n - n % batch  # what a batch that is not whole holds is not looked at
        if n >= self.most or (self.early and self._settled(passed[:looked_at])):
            return None
        return min(self.most, (n // batch + 1) * batch if self.early else self.most)

    def ruling(self, passed: Sequence[bool], p_adjusted: float | None = None) -> Ruling:
        """The policy's word once all samples are there, or the rest can't change it."""
        x, n = sum(passed), len(passed)
        if n < self.most and not self._settled(passed):
            return Ruling("INCONCLUSIVE", f"{x} of {n} passed; {self.most} samples decide", more_samples=self.most - n)
        policy = self.policy
        if policy.kind == "zero_failures":
            return zero_failures(x, n, self.alpha)
        if policy.kind == "min_rate":
            if n < self.most:
                rest = f"even if the other {self.most - n} did"
                return Ruling("FAIL", f"{x} of {n} passed: {rest}, too few for {percent(policy.min_rate)}")
            return min_rate(x, n, policy.min_rate, self.alpha, policy.beta)
        if policy.kind == "acceptance":
            return acceptance(x, n, p_good=policy.p_good, p_bad=policy.p_bad, alpha=self.alpha, beta=policy.beta)
        if self.measure is None:
            return Ruling("INCONCLUSIVE", f"{x} of {n} passed, and the case has no baseline to compare that with")
        (x1, n1), alpha, beta = self.measure, self.alpha, policy.beta
        return not_worse(x1, n1, x, n, policy.margin, alpha=alpha, beta=beta, p_adjusted=p_adjusted)

    def table(self, passed: Sequence[bool]) -> tuple[int, int, int, int] | None:
        """What the family of compared cases judges together; None where there is nothing to compare."""
        if self.policy.kind != "not_worse" or self.measure is None or not passed:
            return None
        return *self.measure, sum(passed), len(passed)

    @property
    def _batch(self) -> int:
        """Samples between two looks: of thousands a hundredth, since each look goes through all there are."""
        return self.policy.batch * max(1, self.most // (_MOST_LOOKS * self.policy.batch))

    def _settled(self, passed: Sequence[bool]) -> bool:
        """Whether the rest of the samples can't keep the case from failing."""
        failed = len(passed) - sum(passed)
        if self.policy.kind == "zero_failures":
            return failed > 0
        if self.policy.kind != "min_rate" or not failed:
            return False
        return cp_upper(self.most - failed, self.most, self.alpha) < self.policy.min_rate
