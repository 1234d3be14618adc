"""The policy "not worse than the baseline by a margin": one case, a candidate's counts against a baseline's.

"No regression shown" is never a PASS: few samples show nothing either way.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from evalkit.percent import percent, points
from evalkit.stats.normal_power import normal_n_for_drop
from evalkit.verdict.ruling import Ruling

__all__ = ["not_worse", "undecided"]

_POWER = 0.8
_MOST_SAMPLES = 100


def not_worse(
    x1: int,
    n1: int,
    x2: int,
    n2: int,
    margin: float,
    *,
    alpha: float = 0.05,
    beta: float = 0.1,
    p_adjusted: float | None = None,
) -> Ruling:
    """FAIL where a regression is shown, PASS where one of `margin` or more is ruled out.

    Both: DEGRADED_WITHIN_MARGIN. Neither: INCONCLUSIVE, with the drop that could have been seen and the samples needed.

    Args:
        x1: the baseline's passes, of `n1` samples.
        n1: see `x1`.
        x2: the candidate's passes, of `n2` samples.
        n2: see `x2`.
        margin: the tolerated drop of the pass rate, such as 0.1.
        alpha: the error of FAIL, over all cases together where `p_adjusted` is.
        beta: the error of PASS. A release passes when all its gates do, so this one needs no adjustment (Berger 1982).
        p_adjusted: the p-value of the regression test after `stats.multiplicity`; that of this case alone if None.

    Raises:
        InputError: the counts can't be, or a share is out of its range.
    """
    from evalkit.stats.non_inferiority import non_inferiority_p  # scipy: only where it is needed
    from evalkit.stats.two_sample import regression_p

    worse = (regression_p(x1, n1, x2, n2) if p_adjusted is None else p_adjusted) <= alpha
    safe = non_inferiority_p(x1, n1, x2, n2, margin) <= beta
    seen = f"{x2} of {n2} passed against {x1} of {n1}"
    if worse and safe:
        return Ruling("DEGRADED_WITHIN_MARGIN", f"{seen}: worse, but by less than {points(margin)}")
    if worse:
        return Ruling("FAIL", f"{seen}: worse than the baseline")
    if safe:
        return Ruling("PASS", f"{seen}: not worse by {points(margin)} or more ({percent(1 - beta)})")
    return undecided(x1, n1, x2, n2, margin, alpha, beta)


def undecided(x1: int, n1: int, x2: int, n2: int, margin: float, alpha: float = 0.05, beta: float = 0.1) -> Ruling:
    """INCONCLUSIVE, with the drop that could have been seen and the samples that would likely tell."""
    from evalkit.stats.power import detectable_drop

    rate = x1 / n1 if x1 else 0.0
    visible = detectable_drop(rate, n1, n2, alpha, _POWER) if rate and n1 and n2 else None
    drop = min(margin, rate)
    needed = _needed(rate, drop, alpha, 1 - beta, n1) if drop else None
    more = needed - n2 if needed is not None and needed > n2 else None
    seen = f"{x2} of {n2} passed against {x1} of {n1}"
    parts = [f"{seen}: neither shown to be worse nor to be as good within {points(margin)}"]
    few = "too few samples to show even the largest drop 4 times of 5" if rate else "no drop is possible from there"
    parts.append(f"could have seen a drop of {points(visible)}" if visible else few)
    if more:
        parts.append(f"{more} more samples would likely tell")
    elif needed is None and drop:
        both = ceil(normal_n_for_drop(rate, drop, alpha, 1 - beta))
        parts.append(f"the baseline is too small: about {both} samples of each would likely tell")
    return Ruling("INCONCLUSIVE", "; ".join(parts), visible, more)


@lru_cache(maxsize=1024)
def _needed(rate: float, drop: float, alpha: float, power: float, n1: int) -> int | None:
    from evalkit.stats.power import n_for_drop

    return n_for_drop(rate, drop, alpha, power, n1, n_max=_MOST_SAMPLES)
