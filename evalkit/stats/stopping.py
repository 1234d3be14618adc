"""Plans that look at one case several times: pass, fail, or run on. What such a plan comes to, exactly.

A plan is decided at its looks only, on all runs up to the look, taken in the order of their index. Deciding on
whichever runs are finished first is biased: failures and timeouts are slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.binomial import binomial_pmf

__all__ = ["Characteristics", "StoppingPlan", "Step", "characteristics"]

Floats = NDArray[np.float64]

Step = Literal["PASS", "FAIL", "RUN_ON"]


@dataclass(frozen=True, slots=True)
class StoppingPlan:
    """When to stop, by failures counted.

    Attributes:
        looks: numbers of runs at which to look, rising.
        passes: at each look, up to how many failures pass; -1 where none does.
        fails: at each look, from how many failures on it fails; more than the runs where none does.
    """

    looks: tuple[int, ...]
    passes: tuple[int, ...]
    fails: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.looks) == len(self.passes) == len(self.fails) >= 1:
            raise InputError("a plan whose looks and limits differ in number", cure="give both limits for every look")
        if any(later <= earlier for earlier, later in zip((0, *self.looks), self.looks, strict=False)):
            raise InputError(f"looks at {self.looks} do not rise", cure="give rising numbers of runs")
        if any(low >= high for low, high in zip(self.passes, self.fails, strict=True)):
            raise InputError("limits that pass and fail the same count", cure="let passing end below failing")

    def step(self, failures: int, runs: int) -> Step:
        """What to do after `failures` in `runs` runs, of which every look is one.

        Raises:
            InputError: the plan has no look at `runs`, or the count can't be.
        """
        if runs not in self.looks or not 0 <= failures <= runs:
            raise InputError(f"{failures} failures at {runs} runs: no look of this plan", cure=f"look at {self.looks}")
        at = self.looks.index(runs)
        if failures <= self.passes[at]:
            return "PASS"
        return "FAIL" if failures >= self.fails[at] else "RUN_ON"


@dataclass(frozen=True, slots=True)
class Characteristics:
    """What a plan comes to, per true failure rate asked for; all arrays have one entry a rate.

    Attributes:
        passed: probability of passing.
        failed: probability of failing.
        expected_runs: mean number of runs until it stops; where the last look leaves it open, it stops there.
    """

    passed: Floats
    failed: Floats
    expected_runs: Floats


def characteristics(plan: StoppingPlan, failure_rates: ArrayLike) -> Characteristics:
    """The exact characteristics of a plan for independent runs with one failure rate, by dynamic programming.

    Source: Armitage 1957; as recursion over the looks Schultz et al. 1973. The probability of failing
    rises with the failure rate and that of passing falls, for every plan: a run more that fails never lets it pass.

    Raises:
        InputError: a rate is no probability.
    """
    rates = np.asarray(failure_rates, dtype=np.float64).reshape(-1)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InputError("failure rates outside of 0 to 1", cure="give probabilities")
    most = min(plan.looks[-1], max(min(fail, n + 1) for fail, n in zip(plan.fails, plan.looks, strict=True)))
    state = np.zeros((len(rates), most + 1))  # P(still running with k failures); `most` stands for more as well
    state[:, 0] = 1.0
    passed, failed, expected = (np.zeros(len(rates)) for _ in range(3))
    before = 0
    for runs, low, high in zip(plan.looks, plan.passes, plan.fails, strict=True):
        expected += (runs - before) * state.sum(axis=1)
        state = _after(state, binomial_pmf(runs - before, rates))
        passed += state[:, : low + 1].sum(axis=1)
        failed += state[:, high:].sum(axis=1)
        state[:, : low + 1] = 0.0
        state[:, high:] = 0.0
        before = runs
    return Characteristics(passed, failed, expected)


def _after(state: Floats, mass: Floats) -> Floats:
    """The state one batch later; what goes beyond the last count stays at it."""
    width = state.shape[1]
    after = np.zeros_like(state)
    for more in range(mass.shape[1]):
        kept = max(width - more, 0)
        after[:, width - kept :] += state[:, :kept] * mass[:, [more]]
        after[:, -1] += state[:, kept:].sum(axis=1) * mass[:, more]
    return after
