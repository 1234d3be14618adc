"""One case, candidate against baseline, in batches: stop as soon as a regression or its absence is shown.

At every look FAIL is asked of the regression test in Lloyd's order (2008) and PASS of the non-inferiority test in the
order of the score statistic (Farrington and Manning 1990). The level at a look grows with the square root of its share
of all runs, and is set so that the largest probability of a wrong answer at any look, over all rates, is at most alpha
for FAIL and beta for PASS. Assumes independent runs with one rate an arm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_share
from evalkit.stats.crossing import Sizes, first_entries, probability
from evalkit.stats.lloyd import cuts_of, estimated_p
from evalkit.stats.orders import levels, monotone
from evalkit.stats.score import score
from evalkit.stats.unconditional import largest_along, rates_on_line

__all__ = ["ComparisonCharacteristics", "ComparisonPlan", "ComparisonStep", "characteristics", "comparison_plan"]

Floats = NDArray[np.float64]
Region = NDArray[np.bool_]

ComparisonStep = Literal["PASS", "FAIL", "WITHIN_MARGIN", "RUN_ON"]
"""WITHIN_MARGIN: a regression is shown, and that it is smaller than the margin."""

_POINTS = 257
_HALVINGS = 14
_MOST_RUNS = 200
_MOST_KNOWN = 1000


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """When to stop comparing a candidate with a baseline.

    Attributes:
        margin: the drop of the pass rate that PASS rules out.
        looks: runs of the baseline and of the candidate at each look.
        fails: at each look, per count of the baseline's passes: below how many passes of the candidate it fails.
        passes: at each look, per count of the candidate's passes: below how many passes of the baseline it passes.
    """

    margin: float
    looks: tuple[tuple[int, int], ...]
    fails: tuple[tuple[int, ...], ...]
    passes: tuple[tuple[int, ...], ...]

    def step(self, x1: int, n1: int, x2: int, n2: int) -> ComparisonStep:
        """What to do after `x1` passes in `n1` runs of the baseline and `x2` in `n2` of the candidate.

        Raises:
            InputError: the plan has no such look, or the counts can't be.
        """
        if (n1, n2) not in self.looks or not (0 <= x1 <= n1 and 0 <= x2 <= n2):
            raise InputError(f"{x1} of {n1} against {x2} of {n2}: no look of this plan", cure=f"look at {self.looks}")
        at = self.looks.index((n1, n2))
        worse, safe = x2 < self.fails[at][x1], x1 < self.passes[at][x2]
        if worse and safe:
            return "WITHIN_MARGIN"
        return "FAIL" if worse else "PASS" if safe else "RUN_ON"


@dataclass(frozen=True, slots=True)
class ComparisonCharacteristics:
    """What a plan comes to at some rates; the rest of the probability is left open at the last look.

    Attributes:
        passed: probability of PASS.
        failed: probability of FAIL.
        within_margin: probability of both at once.
        expected_runs: mean number of the candidate's runs.
    """

    passed: Floats
    failed: Floats
    within_margin: Floats
    expected_runs: Floats


def comparison_plan(
    margin: float,
    runs_max: int,
    alpha: float = 0.05,
    beta: float = 0.1,
    *,
    batch: int = 5,
    baseline_runs: int | None = None,
) -> ComparisonPlan:
    """A plan of looks at every batch, each error below its limit at all rates.

    Either error holds whatever is done about the other answer: a PASS may be overruled and the comparison go on.

    Args:
        margin: the drop of the pass rate that must not pass.
        runs_max: runs of the candidate at the last look, which may follow on less than a batch; at most 200.
        alpha: the probability of ever saying FAIL where the candidate is no worse.
        beta: the probability of ever saying PASS where it is worse by `margin` or more.
        batch: runs between two looks.
        baseline_runs: runs of a baseline that exists already, at most 1000; without it both arms run in step.

    Raises:
        InputError: an argument is outside of its range.
    """
    for name, value in (("margin", margin), ("alpha", alpha), ("beta", beta)):
        check_share(name, value)
    known = runs_max if baseline_runs is None else baseline_runs
    whole = not any(number % 1 for number in (batch, runs_max, known))
    if not (whole and batch >= 1 and 1 <= runs_max <= _MOST_RUNS and 1 <= known <= _MOST_KNOWN):
        raise InputError(
            f"batches of {batch} up to {runs_max} runs, against {known} of the baseline",
            cure=f"give batch >= 1, 1 <= runs_max <= {_MOST_RUNS}, and at most {_MOST_KNOWN} runs of a baseline",
        )
    looks = (*range(batch, runs_max, batch), runs_max)
    return _calibrated(float(margin), looks, float(alpha), float(beta), baseline_runs)


def characteristics(plan: ComparisonPlan, p1: ArrayLike, p2: ArrayLike) -> ComparisonCharacteristics:
    """What a plan comes to when the pass rates are `p1` and `p2`, exactly; one entry a pair of rates.

    Raises:
        InputError: a rate is no probability, or the two differ in number.
    """
    rates1, rates2 = (np.asarray(rates, dtype=np.float64).reshape(-1) for rates in (p1, p2))
    if len(rates1) != len(rates2) or not ((rates1 >= 0) & (rates1 <= 1) & (rates2 >= 0) & (rates2 <= 1)).all():
        raise InputError("rates outside of 0 to 1, or not in pairs", cure="give probabilities, one of each arm")
    worse, safe = _regions(plan)
    stopped = first_entries(plan.looks, [a | b for a, b in zip(worse, safe, strict=True)])
    runs, left = np.zeros(len(rates1)), np.ones(len(rates1))
    before = 0
    for at, (_, n2) in enumerate(plan.looks):
        runs += (n2 - before) * left
        left = left - probability(plan.looks[at : at + 1], stopped[at : at + 1], rates1, rates2)
        before = n2

    def share(keep: Callable[[Region, Region], Region]) -> Floats:
        kept = [np.where(keep(a, b), s, 0.0) for a, b, s in zip(worse, safe, stopped, strict=True)]
        return probability(plan.looks, kept, rates1, rates2)

    return ComparisonCharacteristics(
        passed=share(lambda a, b: b & ~a),
        failed=share(lambda a, b: a & ~b),
        within_margin=share(lambda a, b: a & b),
        expected_runs=runs,
    )


@lru_cache(maxsize=64)
def _calibrated(
    margin: float, looks: tuple[int, ...], alpha: float, beta: float, baseline_runs: int | None
) -> ComparisonPlan:
    sizes = [(baseline_runs or n2, n2) for n2 in looks]
    growth = np.sqrt(np.array(looks) / looks[-1])
    fails = _widest([levels(estimated_p(n1, n2)) for n1, n2 in sizes], sizes, growth, 0.0, alpha)
    turned = [(n2, n1) for n1, n2 in sizes]  # the candidate is the arm that is to be better
    passes = _widest([levels(_score_order(*both, margin), margin) for both in turned], turned, growth, margin, beta)
    return ComparisonPlan(margin, tuple(sizes), fails, passes)


def _score_order(n_a: int, n_b: int, margin: float) -> Floats:
    x_a, x_b = np.indices((n_a + 1, n_b + 1))
    return monotone(-score(x_a, n_a, x_b, n_b, margin))


def _widest(
    reached: Sequence[Floats], sizes: Sizes, growth: Floats, margin: float, error: float
) -> tuple[tuple[int, ...], ...]:
    """Per look the cuts of the widest regions that are ever entered with at most `error`, by halving the last level."""
    low, high = 0.0, error
    cuts = [cuts_of(level, 0.0) for level in reached]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = [cuts_of(level, middle * share) for level, share in zip(reached, growth, strict=True)]
        if _largest_error(sizes, tried, margin) <= error:
            low, cuts = middle, tried
        else:
            high = middle
    return tuple(tuple(cut.tolist()) for cut in cuts)


def _largest_error(sizes: Sizes, cuts: Sequence[NDArray[np.int64]], margin: float) -> float:
    """The largest probability of ever entering the regions, where rate a is at most rate b - `margin`."""
    entries = first_entries(sizes, [_region(cut, n_b) for cut, (_, n_b) in zip(cuts, sizes, strict=True)])

    def entered(theta: Floats) -> Floats:
        return probability(sizes, entries, *rates_on_line(theta, margin))

    theta = np.linspace(0.0, np.pi / 2, _POINTS)
    return largest_along(theta, entered(theta), entered)


def _region(cuts: ArrayLike, n_b: int) -> Region:
    region: Region = np.arange(n_b + 1) < np.asarray(cuts)[:, None]
    return region


def _regions(plan: ComparisonPlan) -> tuple[list[Region], list[Region]]:
    """Per look the tables that fail and those that pass, both as (x1, x2)."""
    worse = [_region(cuts, n2) for cuts, (_, n2) in zip(plan.fails, plan.looks, strict=True)]
    safe = [_region(cuts, n1).T for cuts, (n1, _) in zip(plan.passes, plan.looks, strict=True)]
    return worse, safe
