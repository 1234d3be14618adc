"""Before a run: can so many samples come to a clear word at all? Else UNDERPOWERED is said, with these sentences.

A policy that no outcome could pass blocks every release, and one that none could fail guards nothing. Each function
gives an empty text where the samples are enough.
"""

from __future__ import annotations

from evalkit.percent import percent, points
from evalkit.stats.acceptance import acceptance_plan
from evalkit.stats.interval import cp_lower, cp_upper

__all__ = ["foresee_acceptance", "foresee_min_rate", "foresee_not_worse"]

_MOST_SAMPLES = 5000
_MOST_COMPARED = 100


def foresee_min_rate(n: int, rate: float, *, alpha: float = 0.05, beta: float = 0.05) -> str:
    """Whether `n` samples show a pass rate of `rate` where all pass, and a lower one where none does.

    Raises:
        InputError: `n` is negative, or `alpha` or `beta` is no share.
    """
    can_pass = cp_lower(n, n, beta) >= rate
    if can_pass and cp_upper(0, n, alpha) < rate:
        return ""
    longer = range(n + 1, _MOST_SAMPLES)
    needed = next((m for m in longer if cp_lower(m, m, beta) >= rate > cp_upper(0, m, alpha)), None)
    what = "fail do not show a rate below" if can_pass else "pass do not show a rate of"
    return _short(f"{n} samples that all {what} {percent(rate)}", n, needed)


def foresee_acceptance(
    n: int, *, p_good: float = 0.99, p_bad: float = 0.9, alpha: float = 0.05, beta: float = 0.05
) -> str:
    """Whether `n` samples rule out `p_bad` where all pass, and `p_good` where none does.

    Raises:
        InputError: a share is out of its range.
    """
    if cp_lower(n, n, beta) > p_bad and cp_upper(0, n, alpha) < p_good:
        return ""
    needed, _ = acceptance_plan(p_good, p_bad, alpha, beta)
    return _short(f"{n} samples can't tell a pass rate of {percent(p_good)} from {percent(p_bad)}", n, needed)


def foresee_not_worse(x1: int, n1: int, n2: int, margin: float, *, alpha: float = 0.05, beta: float = 0.1) -> str:
    """Whether `n2` samples can show a regression from this baseline, and rule it out.

    Raises:
        InputError: the counts can't be, or a share is out of its range.
    """
    from evalkit.stats.non_inferiority import non_inferiority_p  # scipy: only where it is needed
    from evalkit.stats.power import n_for_drop
    from evalkit.stats.two_sample import regression_p

    can_fail = regression_p(x1, n1, 0, n2) <= alpha
    can_pass = non_inferiority_p(x1, n1, n2, n2, margin) <= beta
    if can_fail and can_pass:
        return ""
    drop = min(margin, x1 / n1) if x1 else 0.0
    needed = n_for_drop(x1 / n1, drop, alpha, 1 - beta, n1, n_max=_MOST_COMPARED) if drop else None
    what = f"a drop of {points(margin)} can't be ruled out" if can_fail else "no drop can be shown"
    return _short(f"with {n2} samples against {x1} of {n1}, {what}", n2, needed)


def _short(sentence: str, n: int, needed: int | None) -> str:
    return sentence + (f"; {needed} are needed" if needed is not None and needed > n else "")
