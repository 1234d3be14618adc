"""Cost, time, steps: the same cases in two arms, compared case by case on the logarithm.

Such numbers vary by factors, between cases and from run to run. The mean of the logs per case takes the cases out of
the comparison and keeps one slow run from deciding it. As of a pass rate, two questions are answered: whether these
cases' runs changed, and whether cases like these would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.permutation import stratified_permutation
from evalkit.stats.sign_flip import sign_flip_p
from evalkit.stats.suite import cluster_t_interval
from evalkit.stats.welch import stratified_welch

__all__ = ["PairedChange", "paired_change"]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PairedChange:
    """How a positive number changed from arm a to arm b over the same cases.

    Attributes:
        cases: how many cases were compared.
        change: the typical relative change; 0.08 means 8 % more in arm b.
        low, high: its interval in these cases: only repeated runs vary. From -1 to infinity where so few leave it open.
        p: two-sided p-value of "no change in any of these cases", by dealing each case's runs anew to the arms.
        least_p: the smallest that `p` can be with so many runs.
        low_like, high_like: the change's interval for cases like these; from -1 to infinity where all changed alike, as
            a single case does: that tells nothing of others.
        p_like: two-sided p-value of "no change" for cases like these, by sign flips.
        ratio_of_means: plain mean of arm b over that of arm a, averaged over cases: what the bill shows.
        share_lower: the probability that a run of arm b is below one of arm a in the same case, ties counted half.
    """

    cases: int
    change: float
    low: float
    high: float
    p: float
    least_p: float
    low_like: float
    high_like: float
    p_like: float
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

    In these cases: `permutation`, on the logarithm. Where an arm has fewer runs than the other, runs that vary more
    could pass for runs that changed: then Welch's test has to show the change, too; or, where most cases have a single
    run in an arm, of which nobody can tell how it varies, Student's over the cases' differences: of one case nothing.
    For cases like these: Student's t over the cases' differences of mean logs, and sign flips, which assume that these
    are symmetric about 0 when nothing changed.

    Args:
        a: per case the values of its runs in arm a.
        b: per case the values of its runs in arm b, in the same order of cases.
        rng: the source of random deals and flips.
        shift: added to every value before the logarithm, for numbers that can be 0; the change is that of the
            shifted values.
        level: the level of the intervals.

    Raises:
        InputError: no cases, a case without runs in an arm, or a value that is not above -`shift` or not finite.
    """
    if len(a) != len(b) or not len(a):
        raise InputError(f"{len(a)} cases against {len(b)}", cure="give the same cases, one or more, in both arms")
    runs = [(_values(left, shift), _values(right, shift)) for left, right in zip(a, b, strict=True)]
    in_logs = [(np.log(left), np.log(right)) for left, right in runs]
    logs = np.array([_log_change(left, right) for left, right in in_logs])
    means = np.array([(left.mean() - shift, right.mean() - shift) for left, right in runs]).mean(axis=0)
    p_like = sign_flip_p(logs, rng)
    ends_like = cluster_t_interval(logs, level) if np.ptp(logs) > _ROUNDING else (-np.inf, np.inf)
    within = stratified_permutation(in_logs, rng, level)
    p, low, high, least_p = within.p, within.low, within.high, within.least_p
    if any(len(left) != len(right) for left, right in runs):  # one that varies more could pass for one that changed
        also = _though_spreads_differ(in_logs, logs, level)
        p, low, high, least_p = max(p, also[0]), min(low, also[1]), max(high, also[2]), max(least_p, also[3])
    typical = float(logs.mean())
    if abs(typical) <= _ROUNDING * float(np.abs(logs).max()):  # what rounding leaves where they cancel out
        typical = 0.0
    ends = typical, low, high, *ends_like
    with np.errstate(over="ignore"):  # infinite is right where a change is beyond all doubles
        change, low, high, low_like, high_like = np.expm1(ends).tolist()
    return PairedChange(
        cases=len(logs),
        change=change,
        low=low,
        high=high,
        p=p,
        least_p=least_p,
        low_like=low_like,
        high_like=high_like,
        p_like=p_like,
        ratio_of_means=float(means[1] / means[0]) if means[0] else float("nan"),
        share_lower=float(np.mean([_share_lower(left, right) for left, right in runs])),
    )


def _log_change(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """The difference of the means; 0 where it is nothing but rounding, which has a sign and would be counted."""
    change = float(right.mean() - left.mean())
    return 0.0 if abs(change) <= _ROUNDING * max(1.0, *(float(np.abs(one).max()) for one in (left, right))) else change


def _though_spreads_differ(
    cases: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], logs: NDArray[np.float64], level: float
) -> tuple[float, float, float, float]:
    """p, interval and the smallest that p can be, where the runs of the arms may vary differently."""
    if all(2 * sum(len(runs) > 1 for runs in arm) >= len(arm) for arm in zip(*cases, strict=True)):
        return *stratified_welch(cases, level), 0.0
    if len(logs) > 1:
        return *stratified_welch([(np.zeros(2), logs)], level), 0.0  # Student's: against an arm that does not vary
    return 1.0, -np.inf, np.inf, 1.0


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
