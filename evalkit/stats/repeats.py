"""Repeated runs of one case: does it pass every time, at least once, reliably?

Runs are taken as independent with one rate. Ten passes in ten runs are not "stable": see `stability`.
"""

from __future__ import annotations

from math import comb, nan
from typing import Literal

from evalkit.errors import InputError
from evalkit.stats.arguments import whole_counts
from evalkit.stats.interval import midp

__all__ = ["Stability", "pass_at_k", "pass_hat_k", "pass_hat_k_interval", "stability"]

Stability = Literal["STABLE_PASS", "FLAKY", "STABLE_FAIL", "UNKNOWN"]

_EDGE = 0.05
_SURE = 0.9
_FEWEST = 27  # runs that all came out alike before anything is known


def pass_hat_k(c: int, n: int, k: int) -> float:
    """The unbiased estimate of "all of k runs pass" from `c` passes of `n` runs: C(c, k) / C(n, k).

    Source: Yao et al. 2024 (tau-bench). The obvious (c / n)^k is biased upwards.

    Returns:
        NaN where n < k: so few runs say nothing about k of them.

    Raises:
        InputError: the counts can't be, or `k` is below 1.
    """
    c, n, k = _whole(c, n, k)
    return comb(c, k) / comb(n, k) if n >= k else nan


def pass_at_k(c: int, n: int, k: int) -> float:
    """The unbiased estimate of "at least one of k runs passes": 1 - C(n - c, k) / C(n, k).

    Source: Chen et al. 2021.

    Returns:
        NaN where n < k.

    Raises:
        InputError: the counts can't be, or `k` is below 1.
    """
    c, n, k = _whole(c, n, k)
    return 1 - comb(n - c, k) / comb(n, k) if n >= k else nan


def pass_hat_k_interval(c: int, n: int, k: int, level: float = 0.95) -> tuple[float, float]:
    """An interval for "all of k runs pass": the limits of the mid-P interval of the rate, to the power of k.

    For a suite take the mean of the cases' `pass_hat_k`, with `suite.cluster_t_interval`.

    Raises:
        InputError: the counts or `level` can't be, or `k` is below 1.
    """
    c, n, k = _whole(c, n, k)
    low, high = midp(c, n, level)
    return low**k, high**k


def stability(x: int, n: int) -> Stability:
    """What `x` passes of `n` runs allow to say about the case's rate.

    The posterior Beta(x + 1/2, n - x + 1/2) (Jeffreys' prior) must put 0.9 on a rate above 0.95 (STABLE_PASS: 27 runs
    without a failure), below 0.05 (STABLE_FAIL) or between (FLAKY); otherwise UNKNOWN.

    Raises:
        InputError: the counts can't be.
    """
    x, n = whole_counts(x, n)
    if x in (0, n) and n < _FEWEST:
        return "UNKNOWN"
    from scipy.special import betainc

    low = float(betainc(x + 0.5, n - x + 0.5, _EDGE))
    high = float(betainc(n - x + 0.5, x + 0.5, _EDGE))  # mirrored: 1 - P(rate <= 0.95)
    if high >= _SURE:
        return "STABLE_PASS"
    if low >= _SURE:
        return "STABLE_FAIL"
    return "FLAKY" if 1 - low - high >= _SURE else "UNKNOWN"


def _whole(c: int, n: int, k: int) -> tuple[int, int, int]:
    if not k >= 1 or k % 1:
        raise InputError(f"k is {k}, wanted a whole number, 1 or more", cure="give k >= 1")
    return *whole_counts(c, n), int(k)
