"""Cost, time, steps: the same cases in two arms, compared case by case on the logarithm.

Such numbers vary by factors, between cases and from run to run. The mean of the logs per case takes the cases out of
the comparison and keeps one slow run from deciding it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.sign_flip import sign_flip_p
from evalkit.stats.suite import cluster_t_interval

__all__ = ["PairedChange", "paired_change"]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PairedChange:
    """How a positive number changed from arm a to arm b over the same cases.

    Attributes:
        cases: how many cases were compared.
        change: the typical relative change; 0.08 means 8 % more in arm b.
        low: the lower end of its interval.
        high: the upper end of its interval; infinite for a single case.
        p: two-sided p-value of "no change", by sign flips: all of them up to 13 cases, random ones beyond.
        ratio_of_means: plain mean of arm b over that of arm a, averaged over cases: what the bill shows.
        share_lower: the probability that a run of arm b is below one of arm a in the same case, ties counted half.
    """

    cases: int
    change: float
    low: float
    high: float
    p: float
    ratio_of_means: float
    share_lower: float


def paired_change(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    rng: np.random.Generator,
    *,
    shift: float = 0.0,
    level: float = 0.95,
) -> PairedChange:
    """Compare two arms that ran the same cases.

    The interval is Student's t over the cases' differences of mean logs; `p` assumes that these are symmetric about 0
    when nothing changed.

    Args:
        a: per case the values of its runs in arm a.
        b: per case the values of its runs in arm b, in the same order of cases.
        rng: the source of the sign flips.
        shift: added to every value before the logarithm, for numbers that can be 0; the change is that of the
            shifted values.
        level: the level of the interval.

    Raises:
        InputError: no cases, a case without runs in an arm, or a value that is not above -`shift` or not finite.
    """
    if len(a) != len(b) or not len(a):
        raise InputError(f"{len(a)} cases against {len(b)}", cure="give the same cases, one or more, in both arms")
    runs = [(_values(left, shift), _values(right, shift)) for left, right in zip(a, b, strict=True)]
    logs = np.array([_log_change(left, right) for left, right in runs])
    means = np.array([(left.mean() - shift, right.mean() - shift) for left, right in runs]).mean(axis=0)
    low, high = cluster_t_interval(logs, level)
    with np.errstate(over="ignore"):  # infinite is right where a change is beyond all doubles
        change, low, high = np.expm1([logs.mean(), low, high]).tolist()
    return PairedChange(
        cases=len(logs),
        change=change,
        low=low,
        high=high,
        p=sign_flip_p(logs, rng),
        ratio_of_means=float(means[1] / means[0]) if means[0] else float("nan"),
        share_lower=float(np.mean([_share_lower(left, right) for left, right in runs])),
    )


def _log_change(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """The difference of the mean logs; 0 where it is nothing but rounding, which has a sign and would be counted."""
    logs = np.log(left), np.log(right)
    change = float(logs[1].mean() - logs[0].mean())
    return 0.0 if abs(change) <= _ROUNDING * max(1.0, *(float(np.abs(one).max()) for one in logs)) else change


def _values(given: ArrayLike, shift: float) -> NDArray[np.float64]:
    values = np.asarray(given, dtype=np.float64).reshape(-1) + shift
    if not len(values) or not np.isfinite(values).all() or (values <= 0).any():
        raise InputError(
            "a case without runs, or with values whose logarithm is not a number",
            cure="leave the case out, or give a shift that makes all values positive",
        )
    return values


def _share_lower(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    ranked = np.sort(left)
    above = len(left) - np.searchsorted(ranked, right, side="right")
    equal = np.searchsorted(ranked, right, side="right") - np.searchsorted(ranked, right, side="left")
    return float((above + equal / 2).mean() / len(left))
