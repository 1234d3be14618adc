"""A series of nights: did the pass rate change at some night, and at which? Once, or several times?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from evalkit.errors import InputError
from evalkit.stats.arguments import whole_numbers
from evalkit.stats.binomial import log_ways
from evalkit.stats.distinct import distinct_rows

__all__ = ["ChangePoint", "change_p_many", "change_point", "change_points"]

Floats = NDArray[np.float64]

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Where a series most likely changed.

    Attributes:
        at: index of the first entry after the change.
        before: pass rate of the entries before it.
        after: pass rate from it on.
        p: p-value of "the rate was the same all the time", with every possible place accounted for.
    """

    at: int
    before: float
    after: float
    p: float


def change_point(
    passed: ArrayLike, runs: ArrayLike, rng: np.random.Generator, *, draws: int = 999
) -> ChangePoint | None:
    """The most likely single change of a pass rate in a series of counts.

    The largest likelihood ratio over all places (Hinkley and Hinkley 1970; Worsley 1983). Its p-value is that among
    random series with the same total of passes, (1 + at least as large) / (1 + draws), which is exact for any number of
    draws (Phipson and Smyth 2010). Assumes independent runs with one rate all the time when nothing changed.

    Args:
        passed: passes of each entry, in order.
        runs: runs of each entry; entries without runs are possible.
        rng: the source of the random series.
        draws: how many.

    Returns:
        None where fewer than two entries have runs.

    Raises:
        InputError: counts can't be, or differ in number; or no draws.
    """
    x, n = (whole_numbers(values).reshape(-1) for values in (passed, runs))
    if len(x) != len(n) or (x < 0).any() or (x > n).any() or draws < 1:
        raise InputError("counts that can't be, or no draws", cure="give passes and runs of each entry")
    if np.count_nonzero(n) < 2:
        return None
    gain = _gains(x[None, :], n)[0]
    seen = np.cumsum(n)[:-1]
    at = int(np.where((seen > 0) & (seen < n.sum()), gain, -1.0).argmax()) + 1  # with runs on either side
    series = rng.multivariate_hypergeometric(n, int(x.sum()), size=draws, method="marginals")
    as_large = np.count_nonzero(_gains(series, n).max(axis=1) >= gain.max() - _SAME)
    before, after = x[:at].sum() / n[:at].sum(), x[at:].sum() / n[at:].sum()
    return ChangePoint(at, float(before), float(after), (1 + int(as_large)) / (1 + draws))


def change_p_many(passed: ArrayLike, runs: ArrayLike) -> Floats:
    """A p-value of "the rate was the same all the time" for many series of one length, without random draws.

    For each place the exact chance of a likelihood ratio as large as the largest one seen, given the total of passes;
    the sum over the places is never below the p-value of `change_point` (Bonferroni's bound; Worsley 1983 for this
    use), and small ones are exact enough to be corrected over thousands of series, where random draws are too coarse.

    Args:
        passed: passes, a row a series.
        runs: runs, likewise.

    Returns:
        1 for a series that can show nothing: fewer than two entries with runs, or all runs alike.

    Raises:
        InputError: counts can't be, or are of other shapes.
    """
    x, n = (whole_numbers(values) for values in (passed, runs))
    if x.ndim != 2 or x.shape != n.shape or (x < 0).any() or (x > n).any():
        raise InputError("counts that can't be", cure="give passes and runs of each entry, a row a series")
    p = np.ones(len(x))
    totals = x.sum(axis=1)
    rows = np.flatnonzero((totals > 0) & (totals < n.sum(axis=1)) & (np.count_nonzero(n, axis=1) > 1))
    if not len(rows):
        return p
    groups, group_of, _ = distinct_rows(np.column_stack([n[rows], totals[rows]]))
    for number, group in enumerate(groups):
        members = rows[group_of == number]
        gains, chances = _places(group[:-1], int(group[-1]))
        best = _gains(x[members], group[:-1]).max(axis=1)
        p[members] = np.append(np.cumsum(chances[::-1])[::-1], 0.0)[np.searchsorted(gains, best - _SAME)]
    return np.minimum(p, 1.0)


def _places(n: NDArray[np.int64], total: int) -> tuple[Floats, Floats]:
    """Every gain that one place can show, rising, with its chance given the total of passes."""
    every = int(n.sum())
    rarer = min(total, every - total)  # passes and failures have the same gains
    before = np.unique(np.cumsum(n)[:-1])
    before = before[(before > 0) & (before < every)][:, None]
    x = np.arange(rarer + 1)[None, :]
    possible = (x <= before) & (rarer - x <= every - before)
    early, late = np.where(possible, x, 0), np.where(possible, rarer - x, 0)
    chance = log_ways(before, early) + log_ways(every - before, late) - log_ways(every, rarer)
    gained = _log_likelihood(early, before) + _log_likelihood(late, every - before)
    gained = gained - _log_likelihood(np.array(rarer), every)
    gains, chances = gained[possible], np.exp(chance[possible])
    order = np.argsort(gains, kind="stable")
    return gains[order], chances[order]


def change_points(
    passed: ArrayLike, runs: ArrayLike, rng: np.random.Generator, *, alpha: float = 0.05, draws: int = 999
) -> list[ChangePoint]:
    """All changes of a pass rate in a series, in order: where one is shown, either side is looked at likewise.

    Binary segmentation (Scott and Knott 1974; Vostrikova 1981). Each look has the error `alpha`; a series without any
    change is looked at once. A short dip between two equal stretches may be missed.

    Args:
        passed: passes of each entry, in order.
        runs: runs of each entry.
        rng: the source of the random series.
        alpha: a change with a larger p-value is none.
        draws: see `change_point`.

    Returns:
        `before` and `after` are the rates between a change and its neighbours.

    Raises:
        InputError: see `change_point`.
    """
    x, n = (whole_numbers(values).reshape(-1) for values in (passed, runs))
    found: dict[int, float] = {}
    stretches = [(0, len(x))]
    while stretches:
        start, stop = stretches.pop()
        change = change_point(x[start:stop], n[start:stop], rng, draws=draws) if stop - start > 1 else None
        if change is None or change.p > alpha:
            continue
        found[start + change.at] = change.p
        stretches += [(start, start + change.at), (start + change.at, stop)]
    ends = [0, *sorted(found), len(x)]
    rates = [float(x[a:b].sum() / n[a:b].sum()) for a, b in pairwise(ends)] if found else []
    return [
        ChangePoint(at, before, after, found[at])
        for at, (before, after) in zip(ends[1:-1], pairwise(rates), strict=True)
    ]


def _gains(x: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
    """The log-likelihood gained by a change after each entry but the last, a row a series; 0 where a side is empty."""
    runs, passes = np.cumsum(n)[:-1], np.cumsum(x, axis=1)[:, :-1]
    total_runs, total_passes = int(n.sum()), x.sum(axis=1, keepdims=True)
    split = _log_likelihood(passes, runs) + _log_likelihood(total_passes - passes, total_runs - runs)
    gained: Floats = np.where((runs > 0) & (runs < total_runs), split - _log_likelihood(total_passes, total_runs), 0.0)
    return gained


def _log_likelihood(x: NDArray[np.int64], n: NDArray[np.int64] | int) -> Floats:
    rate = x / np.maximum(n, 1)
    found: Floats = xlogy(x, rate) + xlogy(n - x, 1 - rate)
    return found
