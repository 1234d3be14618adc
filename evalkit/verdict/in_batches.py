"""The plan of policy ``acceptance``: look after every batch, stop as soon as a good rate is told from a bad one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from evalkit.errors import InputError
from evalkit.percent import percent
from evalkit.stats.acceptance import LONGEST, acceptance_plan, in_batches
from evalkit.suite.model import Policy
from evalkit.verdict.absolute import detectable_below
from evalkit.verdict.ruling import Ruling

if TYPE_CHECKING:
    from evalkit.stats.stopping import StoppingPlan

__all__ = ["InBatches"]


@dataclass(frozen=True, slots=True)
class InBatches:
    """See `verdict.plans.CasePlan`. The plan is searched when the first look asks for it: many runs need none.

    Attributes:
        alpha: the policy's, or this case's share of it.
        cap: samples at most; None for as many as the plan takes.
    """

    policy: Policy
    alpha: float
    cap: int | None = None

    @property
    def measure(self) -> None:
        """None: two rates are told apart, whatever a baseline was."""
        return

    @property
    def most(self) -> int:
        """Samples at the last look."""
        last = self._stopping.looks[-1]
        return last if self.cap is None else min(last, self.cap)

    @property
    def fixed(self) -> int:
        """Samples of the smallest plan without early stopping."""
        n, _ = acceptance_plan(*self._asked)
        return n if self.cap is None else min(n, self.cap)

    @property
    def underpowered(self) -> str:
        """Why so few samples may leave a case open, and how many do not; empty where they are enough.

        Raises:
            InputError: the rates are so close that thousands of samples were needed.
        """
        n, _ = acceptance_plan(*self._asked)
        needed = in_batches(n, self.policy.batch)
        if needed > LONGEST:
            _ = self._stopping  # says so, before anything is run
        if self.cap is None:
            return ""
        if self.cap >= n:  # there may be a plan that is as short, and the usual one may be longer than its rule says
            needed = self._stopping.looks[-1]
            if self.cap >= needed:
                return ""
        rates = f"{percent(self.policy.p_good)} from {percent(self.policy.p_bad)}"
        return f"{self.cap} samples are too few to tell a pass rate of {rates} for sure; {needed} are needed"

    def next_look(self, passed: Sequence[bool]) -> int | None:
        """The plan's next look, or the last sample that is allowed."""
        n = len(passed)
        if n == 0:
            return min(self.policy.batch, self.cap or self.policy.batch)
        if self._decided(passed) is not None:
            return None
        later = next((look for look in self._stopping.looks if look > n), n)
        at = later if self.cap is None else min(later, self.cap)
        return at if at > n else None

    def ruling(self, passed: Sequence[bool], p_adjusted: float | None = None) -> Ruling:
        """The word of the first look that decides; between looks, what the next one can't but say."""
        found = self._decided(passed) or self._foregone(passed)
        if found is None:
            return self._open(passed)
        word, n = found
        good, bad = f"{percent(self.policy.p_good)}", f"{percent(self.policy.p_bad)}"
        seen = f"{sum(passed[:n])} of the first {n} passed"
        if word == "FAIL":
            return Ruling("FAIL", f"{seen}: nearer to {bad} than to {good}")
        return Ruling("PASS", f"{seen}: nearer to {good} than to {bad}")

    def table(self, passed: Sequence[bool]) -> None:
        """Nothing is compared."""
        return

    @property
    def _asked(self) -> tuple[float, float, float, float]:
        return self.policy.p_good, self.policy.p_bad, self.alpha, self.policy.beta

    @property
    def _stopping(self) -> StoppingPlan:
        return _searched(*self._asked, self.policy.batch, self.cap)

    def _decided(self, passed: Sequence[bool]) -> tuple[str, int] | None:
        """The first look that passes or fails."""
        for look in self._stopping.looks:
            if look > len(passed):
                return None
            word = self._stopping.step(look - sum(passed[:look]), look)
            if word != "RUN_ON":
                return word, look
        return None

    def _foregone(self, passed: Sequence[bool]) -> tuple[str, int] | None:
        """What the next look will say whatever the samples up to it come to."""
        n, plan = len(passed), self._stopping
        at = next((at for at, look in enumerate(plan.looks) if look > n), None)
        if at is None:
            return None
        failed, left = n - sum(passed), plan.looks[at] - n
        if failed >= plan.fails[at]:
            return "FAIL", n
        return ("PASS", n) if failed + left <= plan.passes[at] else None

    def _open(self, passed: Sequence[bool]) -> Ruling:
        x, n = sum(passed), len(passed)
        plan = self._stopping
        clear = [look for look, most in zip(plan.looks, plan.passes, strict=True) if look > n and n - x <= most]
        more = (clear[0] if clear else plan.looks[-1]) - n
        rates = f"{percent(self.policy.p_good)} from {percent(self.policy.p_bad)}"
        if more <= 0:  # only a cap below the plan's own leaves a case open beyond its last look
            return Ruling("INCONCLUSIVE", f"{x} of {n} passed: not told {rates}")
        sentence = f"{x} of {n} passed: too few to tell {rates}; {more} more would tell, if they pass"
        return Ruling("INCONCLUSIVE", sentence, detectable_below(self.policy.p_good, n, self.alpha), more)


@lru_cache(maxsize=256)
def _searched(p_good: float, p_bad: float, alpha: float, beta: float, batch: int, cap: int | None) -> StoppingPlan:
    """The plan within so many samples where there is one that holds both errors; else the usual one, cut short."""
    from evalkit.stats.sprt import sprt_plan  # scipy: only where it is needed

    usual = sprt_plan(p_good, p_bad, alpha, beta, batch=batch)
    if cap is None or cap >= usual.looks[-1] or cap < acceptance_plan(p_good, p_bad, alpha, beta)[0]:
        return usual
    try:
        return sprt_plan(p_good, p_bad, alpha, beta, batch=batch, runs_max=cap)
    except InputError:  # whole batches up to the cap are too few
        return usual
