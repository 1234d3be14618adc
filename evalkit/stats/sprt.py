"""One case against two rates, run in batches: stop as soon as the answer is clear.

Wald's sequential probability ratio test (Wald 1945), truncated at a largest number of runs where it decides either way.
Wald's own limits assume neither truncation nor batches; here the limits are chosen so that both errors hold exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log, log1p

import numpy as np
from numpy.typing import NDArray

from evalkit.errors import InputError
from evalkit.stats.acceptance import LONGER, LONGEST, acceptance_plan, in_batches
from evalkit.stats.binomial import binomial_cdf, binomial_pmf
from evalkit.stats.stopping import StoppingPlan

__all__ = ["sprt_plan", "wald_bound"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_WIDEST = 3.0  # times Wald's limits: no limit beyond is of use
_DISTANCES, _FEWEST_DISTANCES, _SMALL_LAST = 240, 16, 20
_FEW_LOOKS = 100
_LASTS = 8
_NEARLY = 1.5
_TRIES = 20
_ROUNDING = 1e-12


def sprt_plan(
    p_good: float,
    p_bad: float,
    alpha: float = 0.05,
    beta: float = 0.05,
    *,
    batch: int = 5,
    runs_max: int | None = None,
) -> StoppingPlan:
    """The truncated sequential plan with the fewest runs, on average over a good and a bad case.

    At each look it passes or fails where the likelihood ratio of `p_bad` to `p_good` leaves a band, or where the rest
    of the runs can't change the outcome; the last look always decides. Band and last limit are searched, and both
    errors worked out exactly for every candidate. They are largest at the two rates, so the plan also holds for all
    better and all worse ones. Assumes independent runs with one rate.

    Args:
        p_good: a pass rate that must pass.
        p_bad: a lower pass rate that must fail.
        alpha: the probability of failing at `p_good`. With K gates, alpha / K holds it for all of them together.
        beta: the probability of passing at `p_bad`.
        batch: runs between two looks.
        runs_max: where to truncate, rounded down to whole batches; about 1.3 times the fixed plan's runs by default.

    Raises:
        InputError: an argument is outside of its range, no plan of at most `runs_max` runs holds both errors, or the
            rates are so close that thousands of runs were needed.
    """
    fixed, _ = acceptance_plan(p_good, p_bad, alpha, beta)
    if not batch >= 1 or batch % 1:
        raise InputError(f"a batch of {batch} runs", cure="give a whole number, 1 or more")
    if runs_max is not None and not runs_max >= batch:
        raise InputError(f"{runs_max} runs are less than a batch of {batch}", cure="give runs_max >= batch")
    wanted = in_batches(fixed, batch) if runs_max is None else runs_max
    if wanted > LONGEST:
        raise InputError(
            f"telling {p_good} from {p_bad} takes {fixed} runs, too many to look at in turn",
            cure="give rates that are further apart, or larger errors",
        )
    looks = int(wanted // batch)
    for more in range(1 if runs_max is not None else _TRIES):
        if (found := _searched(p_good, p_bad, alpha, beta, batch, looks + more)) is not None:
            return found
    raise InputError(f"no plan of at most {runs_max} runs holds both errors", cure=f"give {ceil(LONGER * fixed)} runs")


def wald_bound(p_good: float, p_bad: float, alpha: float = 0.05, beta: float = 0.05) -> tuple[float, float]:
    """The fewest runs on average, at the good and at the bad rate, that any test with these errors can need.

    Source: Wald 1945; relative entropy of the errors over that of the rates.

    Raises:
        InputError: an argument is outside of its range.
    """
    acceptance_plan(p_good, p_bad, alpha, beta)
    return _entropy(alpha, 1 - beta) / _entropy(p_good, p_bad), _entropy(beta, 1 - alpha) / _entropy(p_bad, p_good)


@dataclass(frozen=True, slots=True)
class _Line:
    """What the band is made of: failures that are as likely under either rate, per run; and the looks."""

    looks: Counts
    slope: float
    reach: float
    rates: Floats

    def distances(self, last: int) -> Floats:
        """Distances of the band's edges from the line, one for each band that differs on whole failures.

        A large plan gets fewer of them, which costs it little: its bands differ less.
        """
        parts = np.unique(np.round((-self.looks * self.slope) % 1.0, 12))
        steps = (np.arange(ceil(self.reach) + 1)[:, None] + parts).ravel()
        if len(self.looks) <= _FEW_LOOKS:  # and none at all, for plans that are hardly longer than the fixed one
            steps = np.concatenate([steps[steps <= self.reach], [self.looks[-1] + 1.0, self.looks[-1] + 2.0]])
        wanted = min(_DISTANCES, max(_FEWEST_DISTANCES, _DISTANCES * _SMALL_LAST // (last + 1)))
        between: Floats = np.convolve(steps, [0.5, 0.5], "valid")[:: -max(1, len(steps) // wanted)][::-1]
        return between


@lru_cache(maxsize=256)
def _searched(p_good: float, p_bad: float, alpha: float, beta: float, batch: int, looks: int) -> StoppingPlan | None:
    fails_more, fails_less = log((1 - p_bad) / (1 - p_good)), log(p_bad / p_good)
    line = _Line(
        looks=batch * np.arange(1, looks + 1),
        slope=-fails_less / (fails_more - fails_less),
        reach=_WIDEST * log(1 / min(alpha, beta)) / (fails_more - fails_less) + 1,
        rates=np.array([1 - p_good, 1 - p_bad]),
    )
    best, plan = np.inf, None
    for last in _last_limits(line, alpha, beta):
        runs, found = _best_band(line, batch, last, alpha, beta)
        if runs < best:
            best, plan = runs, found
    return plan


def _last_limits(line: _Line, alpha: float, beta: float) -> list[int]:
    """Numbers of failures to pass at the last look: those that hold both errors, or nearly, without any other look."""
    good, bad = binomial_cdf(int(line.looks[-1]), line.rates)[:, 1:]
    found = np.flatnonzero((1 - good <= _NEARLY * alpha) & (bad <= _NEARLY * beta))
    picked: list[int] = np.unique(
        found[np.linspace(0, len(found) - 1, _LASTS).astype(int)] if len(found) else found
    ).tolist()
    return picked


def _best_band(line: _Line, batch: int, last: int, alpha: float, beta: float) -> tuple[float, StoppingPlan | None]:
    """The band with the fewest runs for a limit at the last look: for every upper edge the closest lower one."""
    edges = line.distances(last)
    fails = np.minimum(np.ceil(edges[:, None] + line.looks * line.slope).astype(np.int64), last + 1)
    too_close, lower = np.full(len(edges), -1), np.full(len(edges), len(edges) - 1)
    while (lower - too_close > 1).any():
        middle = (lower + too_close) // 2
        _, wrong, _ = _errors(line, batch, _passes(line, edges[middle], fails, last), fails)
        held = wrong <= beta + _ROUNDING
        lower, too_close = np.where(held, middle, lower), np.where(held, too_close, middle)
    passes = _passes(line, edges[lower], fails, last)
    refused, wrong, runs = _errors(line, batch, passes, fails)
    runs = np.where((refused <= alpha + _ROUNDING) & (wrong <= beta + _ROUNDING), runs, np.inf)
    at = int(runs.argmin())
    if not np.isfinite(runs[at]):
        return np.inf, None
    return float(runs[at]), StoppingPlan(*(tuple(row.tolist()) for row in (line.looks, passes[at], fails[at])))


def _passes(line: _Line, edge: Floats, fails: Counts, last: int) -> Counts:
    """Up to how many failures pass at each look, for each lower edge: below the band, or safe from failing any more."""
    below = np.floor(line.looks * line.slope - edge[:, None]).astype(np.int64)
    safe = last - (line.looks[-1] - line.looks)
    passes: Counts = np.maximum(np.minimum(np.maximum(below, safe), fails - 1), -1)
    return passes


def _errors(line: _Line, batch: int, passes: Counts, fails: Counts) -> tuple[Floats, Floats, Floats]:
    """For each band: P(fail) at the good rate, P(pass) at the bad one, and the mean runs over both."""
    mass = binomial_pmf(batch, line.rates)
    state, first = np.ones((len(fails), 2, 1)), 0  # P(still running) by failures, from `first` on
    failed, passed, runs = np.zeros(len(fails)), np.zeros(len(fails)), np.zeros(len(fails))
    for at in range(len(line.looks)):
        runs += batch * state.sum(axis=(1, 2)) / 2
        width = state.shape[2]
        spread = np.zeros((len(fails), 2, width + batch))
        for more in range(batch + 1):
            spread[:, :, more : more + width] += state * mass[:, more, None]
        count = first + np.arange(width + batch)
        low, high = count <= passes[:, [at]], count >= fails[:, [at]]
        passed += (spread[:, 1] * low).sum(axis=1)
        failed += (spread[:, 0] * high).sum(axis=1)
        inside = slice(max(int(passes[:, at].min()) + 1 - first, 0), max(int(fails[:, at].max()) - first, 0))
        state = (spread * ~(low | high)[:, None])[:, :, inside]
        first += inside.start
    return failed, passed, runs


def _entropy(a: float, b: float) -> float:
    return a * log(a / b) + (1 - a) * (log1p(-a) - log1p(-b))
