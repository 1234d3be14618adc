"""The stratified permutation test: did the arm matter in any of these cases?

Where it did not, a case's runs could as well have been dealt to the two arms otherwise: every way of dealing them is
equally likely (Fisher 1935; stratified, Pesarin 2001). Nothing is assumed of how runs vary, nor that cases are alike;
what is shown is of these cases. What is added to every run of arm b, and is then no longer refused, is the interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, erfc, inf, prod, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_share

__all__ = ["Permuted", "stratified_permutation"]

_DEALS, _FEWEST_DEALS = 9_999, 999
_MOST_RUNS = 2_000
_FEW_MATTER = 1 / 400
_BLOCK = 1 << 20
_SAME = 1e-12

Floats = NDArray[np.float64]
Runs = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Permuted:
    """What dealing the runs anew tells.

    Attributes:
        difference: arm b's mean less arm a's, averaged over the cases.
        low, high: the interval of what every run of arm b has more; infinite where so few runs leave it open.
        p: two-sided p-value of "the arm did not matter".
        least_p: the smallest p-value that so many runs can have.
    """

    difference: float
    low: float
    high: float
    p: float
    least_p: float


def stratified_permutation(
    cases: Sequence[Runs], rng: np.random.Generator, level: float = 0.95, *, deals: int = _DEALS
) -> Permuted:
    """Compare two arms within each case.

    All ways of dealing are counted where there are no more than `deals`, else as many random ones, with the data
    themselves as one more (Phipson and Smyth 2010). For more than 2,000 runs they are not drawn where so many add up to
    the normal distribution with the mean and variance of all deals (Lyapunov's condition: no few runs make most of the
    variance, as four that took a step more than all others do). Else the more runs, the fewer deals, down to 999.

    Args:
        cases: per case the values of its runs in arm a and in arm b.
        rng: the source of random deals.
        level: of the interval.
        deals: how many to draw.

    Raises:
        InputError: no cases, an arm of a case without runs, a value that is not finite, `level` is no share, or there
            are no deals.
    """
    check_share("level", level)
    values = [one for runs in cases for one in runs]
    if deals < 1 or not values or not all(len(one) and np.isfinite(one).all() for one in values):
        raise InputError(
            "no deals, an arm without runs, or with values that are not finite", cure="leave such cases out"
        )
    if _difference(cases) < 0:  # the same deals for arms that are swapped
        turned = stratified_permutation([(b, a) for a, b in cases], rng, level, deals=deals)
        return replace(turned, difference=-turned.difference, low=-turned.high, high=-turned.low)
    runs = sum(map(len, values))
    if runs > _MOST_RUNS:
        if _add_up(cases):
            return _normal(cases, level)
        deals = min(deals, max(_FEWEST_DEALS, deals * _MOST_RUNS // runs))
    ways = prod(comb(len(a) + len(b), len(b)) for a, b in cases)
    if ways <= deals:
        effects, shares = _every(cases)
    else:
        in_order = sorted(cases, key=lambda runs: [one.tolist() for one in runs])  # cases in another order: the same p
        effects, shares = _random(in_order, rng, deals)
    return _counted(cases, effects, shares, level, ways)


def _counted(cases: Sequence[Runs], effects: Floats, shares: Floats, level: float, ways: int) -> Permuted:
    """By counting deals, of which the data are one.

    Args:
        effects: of each deal the difference that it would have made.
        shares: by how much it grows with what all runs of arm b have more.
    """
    seen = _difference(cases)
    slack = _SAME * (1.0 + max(float(np.abs(one).max()) for runs in cases for one in runs))
    p = float(np.mean(np.abs(effects) >= abs(seen) - slack))
    # once every run of b is `seen + d` lower, a deal is at least as extreme as the data up to some d of its own
    beyond = effects - seen * shares
    signs = np.sign(np.where(np.abs(beyond) <= slack, 0.0, beyond))
    outside = int((1 - level) * len(effects) * (1 + _SAME))

    def end(towards: int) -> float:
        room = 1 + np.where(signs, towards * signs * shares, -np.abs(shares))
        reach = np.full(len(room), inf)
        np.divide(np.abs(signs * beyond), room, out=reach, where=room > _SAME)
        return float(np.sort(reach)[-1 - outside])

    mirrored = all(len(a) == len(b) for a, b in cases)
    return Permuted(seen, seen - end(-1), seen + end(1), p, max((1 + mirrored) / ways, 1 / len(effects)))


def _every(cases: Sequence[Runs]) -> tuple[Floats, Floats]:
    effects = shares = np.zeros(1)
    for a, b in cases:
        n = len(a) + len(b)
        dealt = np.zeros((comb(n, len(b)), n), dtype=bool)
        for row, at in enumerate(combinations(range(n), len(b))):
            dealt[row, list(at)] = True
        effect, share = _of_deals(a, b, dealt)
        effects, shares = np.add.outer(effects, effect).ravel(), np.add.outer(shares, share).ravel()
    return effects / len(cases), shares / len(cases)


def _random(cases: Sequence[Runs], rng: np.random.Generator, deals: int) -> tuple[Floats, Floats]:
    effects, shares = np.zeros(deals + 1), np.zeros(deals + 1)  # the first deal is the data
    for a, b in cases:
        data = np.arange(len(a) + len(b)) >= len(a)
        rows = max(1, _BLOCK // len(data))
        for start in range(0, deals + 1, rows):
            dealt = np.tile(data, (min(rows, deals + 1 - start), 1))
            rng.permuted(dealt[not start :], axis=1, out=dealt[not start :])
            effect, share = _of_deals(a, b, dealt)
            effects[start : start + rows] += effect
            shares[start : start + rows] += share
    return effects / len(cases), shares / len(cases)


def _of_deals(a: Floats, b: Floats, dealt: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Of each deal of a case, which says of each run whether it is dealt to arm b: its effect and share."""
    runs = np.concatenate([a, b])
    each = 1 / len(a) + 1 / len(b)
    effect = (dealt @ runs) * each - runs.sum() / len(a)
    share = dealt[:, len(a) :].sum(axis=1) * each - len(b) / len(a)
    return effect, share


def _add_up(cases: Sequence[Runs]) -> bool:
    """Whether so many runs matter that their deals are normal: by fourth moments, as if each were dealt by itself."""
    fourth = second = 0.0
    for a, b in cases:
        runs, share = np.concatenate([a, b]), len(b) / (len(a) + len(b))
        squares = ((runs - runs.mean()) * (1 / len(a) + 1 / len(b))) ** 2
        second += share * (1 - share) * float(squares.sum())
        fourth += share * (1 - share) * (share**3 + (1 - share) ** 3) * float((squares**2).sum())
    return fourth <= _FEW_MATTER * second**2


def _normal(cases: Sequence[Runs], level: float) -> Permuted:
    """By the mean, 0, and the variance of all deals."""
    seen = _difference(cases)
    moments = np.sum([_moments(a, b) for a, b in cases], axis=0) / len(cases) ** 2
    effect, both, share = moments.tolist()
    if effect <= _SAME**2:
        return Permuted(seen, seen, seen, 1.0, 0.0)
    p = erfc(abs(seen) / sqrt(2 * effect))
    z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    # where (seen - x)^2 = z^2 (variance of the deals once every run of b is x lower)
    square, half, rest = 1 - z2 * share, seen - z2 * both, seen**2 - z2 * effect
    if square <= 0:
        return Permuted(seen, -inf, inf, p, 0.0)
    root = sqrt(max(0.0, half**2 - square * rest))
    return Permuted(seen, (half - root) / square, (half + root) / square, p, 0.0)


def _moments(a: Floats, b: Floats) -> tuple[float, float, float]:
    """Of a case's deals: variance of the effect, its covariance with the share, variance of the share."""
    runs, n = np.concatenate([a, b]), len(a) + len(b)
    weight = n / (len(a) * len(b)) / (n - 1)
    return weight * float(((runs - runs.mean()) ** 2).sum()), float(b.mean() - a.mean()) / (n - 1), 1 / (n - 1)


def _difference(cases: Iterable[Runs]) -> float:
    return float(np.mean([b.mean() - a.mean() for a, b in cases]))
