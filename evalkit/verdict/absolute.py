"""Policies on a case's own pass rate, without a baseline: no failure, a minimum rate, a good rate against a bad one.

Counts are of samples that passed or failed; what was lost is not for these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from evalkit.errors import InputError
from evalkit.stats.interval import cp_lower, cp_upper
from evalkit.verdict.ruling import Ruling

__all__ = ["acceptance", "acceptance_in_batches", "min_rate", "zero_failures"]

_MOST_SAMPLES = 5000
_STEPS = 300


def zero_failures(passed: int, n: int, alpha: float = 0.05) -> Ruling:
    """PASS where no sample failed; the reason says what failure rate that rules out.

    Raises:
        InputError: the counts can't be.
    """
    bound = 1 - cp_lower(n, n, alpha)
    if passed < n:
        return Ruling("FAIL", f"{n - passed} of {n} samples failed")
    if n == 0:
        return Ruling("INCONCLUSIVE", "no sample came to a result", more_samples=1)
    return Ruling("PASS", f"none of {n} samples failed; the failure rate is below {bound:.1%} ({1 - alpha:.0%})")


def min_rate(passed: int, n: int, rate: float, alpha: float = 0.05) -> Ruling:
    """PASS where the pass rate is shown to be at least `rate`, FAIL where it is shown to be lower.

    Both by one-sided Clopper-Pearson bounds: either error is at most `alpha`.

    Raises:
        InputError: the counts can't be, or `rate` is no share.
    """
    if not 0.0 < rate < 1.0:
        raise InputError(f"a minimum rate of {rate}", cure="give a share below 1; for none to fail use zero_failures")
    lower, upper = cp_lower(passed, n, alpha), cp_upper(passed, n, alpha)
    seen = f"{passed} of {n} passed"
    if lower >= rate:
        return Ruling("PASS", f"{seen}; the pass rate is at least {lower:.1%} ({1 - alpha:.0%})")
    if upper < rate:
        return Ruling("FAIL", f"{seen}; the pass rate is at most {upper:.1%}, wanted {rate:.1%}")
    more = _more_for_rate(passed, n, rate, alpha)
    hope = "" if more is None else f"; about {more} more would, at this rate"
    sentence = f"{seen}: too few samples to tell whether the pass rate is {rate:.1%} or more{hope}"
    return Ruling("INCONCLUSIVE", sentence, more_samples=more)


def acceptance(
    passed: int, n: int, *, p_good: float = 0.99, p_bad: float = 0.9, alpha: float = 0.05, beta: float = 0.05
) -> Ruling:
    """A number of samples that was fixed beforehand, against two rates.

    FAIL where a rate of `p_good` is ruled out with error `alpha`, PASS where `p_bad` is with error `beta`. Where both
    are, the rate lies between: DEGRADED_WITHIN_MARGIN.

    Raises:
        InputError: the counts can't be, or a share is out of its range.
    """
    from evalkit.stats.power import acceptance_plan  # scipy: only where it is needed

    wanted, _ = acceptance_plan(p_good, p_bad, alpha, beta)
    seen = f"{passed} of {n} passed"
    below_good = cp_upper(passed, n, alpha) < p_good
    above_bad = cp_lower(passed, n, beta) > p_bad
    if below_good and above_bad:
        return Ruling("DEGRADED_WITHIN_MARGIN", f"{seen}: below {p_good:.1%}, and yet above {p_bad:.1%}")
    if below_good:
        return Ruling("FAIL", f"{seen}: a pass rate of {p_good:.1%} or more is ruled out ({1 - alpha:.0%})")
    if above_bad:
        return Ruling("PASS", f"{seen}: a pass rate of {p_bad:.1%} or less is ruled out ({1 - beta:.0%})")
    more = wanted - n if wanted > n else None
    hope = f"; {wanted} always tell" if more else ""
    return Ruling("INCONCLUSIVE", f"{seen}: too few to tell {p_good:.1%} from {p_bad:.1%}{hope}", more_samples=more)


def acceptance_in_batches(
    outcomes: Sequence[bool],
    *,
    p_good: float = 0.99,
    p_bad: float = 0.9,
    alpha: float = 0.05,
    beta: float = 0.05,
    batch: int = 5,
) -> Ruling:
    """The same in batches, stopping as soon as it is clear: the plan of `stats.sprt`.

    The first look at which the plan stops decides; what was run beyond it changes nothing.

    Args:
        outcomes: whether each sample passed, in the order of the samples' index: not in that of their end.

    Raises:
        InputError: a share is out of its range.
    """
    from evalkit.stats.sprt import sprt_plan  # scipy: only where it is needed

    plan = sprt_plan(p_good, p_bad, alpha, beta, batch=batch)
    for look in plan.looks:
        if look > len(outcomes):
            break
        failures = look - sum(outcomes[:look])
        step = plan.step(failures, look)
        seen = f"{look - failures} of the first {look} passed"
        if step == "FAIL":
            return Ruling("FAIL", f"{seen}: nearer to {p_bad:.1%} than to {p_good:.1%}")
        if step == "PASS":
            return Ruling("PASS", f"{seen}: nearer to {p_good:.1%} than to {p_bad:.1%}")
    following = next(look for look in plan.looks if look > len(outcomes))
    seen = f"{sum(outcomes)} of {len(outcomes)} passed"
    sentence = f"{seen}: not yet clear; next look at {following}, last at {plan.looks[-1]}"
    return Ruling("INCONCLUSIVE", sentence, more_samples=following - len(outcomes))


@lru_cache(maxsize=4096)
def _more_for_rate(passed: int, n: int, rate: float, alpha: float) -> int | None:
    """About how many further samples make a bound decide, if they pass as those seen did; None beyond thousands."""
    if not 0 < n < _MOST_SAMPLES or passed == rate * n:
        return None
    import numpy as np
    from scipy.special import betaincinv

    total = np.unique(np.geomspace(n + 1, _MOST_SAMPLES, _STEPS).astype(np.int64))
    good = passed > rate * n
    seen = passed if good else n - passed
    x = seen * total // n  # of what is to be shown: passes of a good case, failures of a bad one
    needed = rate if good else 1 - rate
    bounds = np.where(x > 0, betaincinv(np.maximum(x, 1), total - x + 1, alpha), 0.0)
    decided = np.flatnonzero(bounds >= needed if good else bounds > needed)
    return int(total[decided[0]]) - n if len(decided) else None
