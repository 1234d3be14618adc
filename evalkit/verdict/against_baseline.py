"""The plan of policy ``not_worse``: look after every batch, stop when a regression or its absence is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from evalkit.percent import percent, points
from evalkit.stats.acceptance import LONGER
from evalkit.suite.model import Policy
from evalkit.verdict.comparative import undecided
from evalkit.verdict.foresight import foresee_not_worse
from evalkit.verdict.ruling import Ruling

if TYPE_CHECKING:
    from evalkit.stats.group_sequential import ComparisonPlan

__all__ = ["AgainstBaseline", "samples_not_worse"]

_MOST = 120
"""Samples of the candidate at most: a margin that takes more takes a larger baseline first."""


@lru_cache(maxsize=1024)
def samples_not_worse(x1: int, n1: int, margin: float, alpha: float, beta: float) -> int | None:
    """Samples that show a loss of `margin` with probability 1 - `beta`; None where the baseline is too small for it.

    The baseline's rate is taken a little lower than it looks (Laplace), since few samples flatter it.
    """
    from evalkit.stats.power import n_for_drop  # scipy: only where it is needed

    rate = (x1 + 1) / (n1 + 2)
    return n_for_drop(rate, min(margin, rate), alpha, 1 - beta, n1, n_max=_MOST)


@dataclass(frozen=True, slots=True)
class AgainstBaseline:
    """See `verdict.plans.CasePlan`.

    Attributes:
        alpha: the policy's, or this case's share of it.
        measure: the baseline's passes and samples.
        cap: samples at most; None for as many as the plan takes.
    """

    policy: Policy
    alpha: float
    measure: tuple[int, int]
    cap: int | None = None

    @property
    def most(self) -> int:
        """Samples at the last look: 1.3 times those without looks, in whole batches."""
        needed, batch = self._needed, self.policy.batch
        longest = _MOST if needed is None else min(_MOST, batch * ceil(LONGER * needed / batch))
        return longest if self.cap is None else min(longest, self.cap)

    @property
    def fixed(self) -> int:
        """Samples without early stopping."""
        return min(self.most, self._needed or self.most)

    @property
    def underpowered(self) -> str:
        """What no outcome of so many samples could tell; empty where that is nothing."""
        (x1, n1), policy = self.measure, self.policy
        found = foresee_not_worse(x1, n1, self.most, policy.margin, alpha=self.alpha, beta=policy.beta)
        if found:
            return found
        if self._needed is None:
            margin = points(self.policy.margin)
            return f"a baseline of {n1} samples is too small to tell a drop of {margin} for sure"
        if self._needed > self.most:
            return f"{self.most} samples are too few to tell a drop of {points(self.policy.margin)} for sure; " \
                   f"{self._needed} are needed"  # fmt: skip
        if x1 <= policy.margin * n1 and self.ruling((False,) * self.most).word == "PASS":
            return f"even where all samples fail, that is no drop of {points(policy.margin)} from {x1} of {n1}"
        return ""

    def next_look(self, passed: Sequence[bool]) -> int | None:
        """The plan's next look."""
        n = len(passed)
        if n >= self.most or (n and self._decided(passed) is not None):
            return None
        batch = self.policy.batch
        return min(self.most, (n // batch + 1) * batch)

    def ruling(self, passed: Sequence[bool], p_adjusted: float | None = None) -> Ruling:
        """The word of the first look that decides."""
        found = self._decided(passed)
        (x1, n1), margin = self.measure, self.policy.margin
        if found is None:
            return undecided(x1, n1, sum(passed), len(passed), margin, self.alpha, self.policy.beta)
        word, n = found
        seen = f"{sum(passed[:n])} of the first {n} passed against {x1} of {n1}"
        if word == "FAIL":
            return Ruling("FAIL", f"{seen}: worse than the baseline")
        if word == "WITHIN_MARGIN":
            return Ruling("DEGRADED_WITHIN_MARGIN", f"{seen}: worse, but by less than {points(margin)}")
        return Ruling("PASS", f"{seen}: not worse by {points(margin)} or more ({percent(1 - self.policy.beta)})")

    def table(self, passed: Sequence[bool]) -> None:
        """Its error is held by its share of alpha, not by a family of p-values."""
        return

    @property
    def _needed(self) -> int | None:
        return samples_not_worse(*self.measure, self.policy.margin, self.alpha, self.policy.beta)

    @property
    def _plan(self) -> ComparisonPlan:
        from evalkit.stats.group_sequential import comparison_plan  # scipy: only where it is needed

        policy = self.policy
        return comparison_plan(
            policy.margin, self.most, self.alpha, policy.beta, batch=policy.batch, baseline_runs=self.measure[1]
        )

    def _decided(self, passed: Sequence[bool]) -> tuple[str, int] | None:
        plan = self._plan
        for n1, n2 in plan.looks:
            if n2 > len(passed):
                return None
            word = plan.step(self.measure[0], n1, sum(passed[:n2]), n2)
            if word != "RUN_ON":
                return word, n2
        return None
