"""The smallest plan that tells two pass rates apart at once: so many runs, of which so many may fail.

Without NumPy: a run asks for it at its start, and most of them need nothing else of statistics.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, fsum, lgamma, log, log1p, sqrt
from statistics import NormalDist

from evalkit.errors import InputError
from evalkit.stats.arguments import check_rates, check_share

__all__ = ["LONGER", "LONGEST", "acceptance_plan", "in_batches"]

LONGER = 1.3
"""Times the plan's runs: where a plan with looks is cut."""
LONGEST = 3000
"""Runs of a plan with looks at most."""
_MOST = 4000


@lru_cache(maxsize=1024)
def acceptance_plan(p_good: float, p_bad: float, alpha: float = 0.05, beta: float = 0.05) -> tuple[int, int]:
    """The smallest plan "run n times, accept up to c failures" that tells two rates apart.

    Args:
        p_good: a rate that must be accepted, but for an error of `alpha`.
        p_bad: a lower rate that must be refused, but for an error of `beta`.
        alpha: the probability of refusing `p_good`.
        beta: the probability of accepting `p_bad`.

    Returns:
        (n, c).

    Raises:
        InputError: an argument is no share, `p_bad` is not below `p_good`, or they are so close that thousands of runs
            were needed.
    """
    check_rates(p_good, p_bad)
    check_share("alpha", alpha)
    check_share("beta", beta)
    if (about := _about(p_good, p_bad, alpha, beta)) > _MOST:
        raise InputError(
            f"telling {p_good} from {p_bad} takes about {about:.0f} runs, too many to plan",
            cure="give rates that are further apart, or larger errors",
        )
    c = 0
    # more runs only refuse more: for each c the fewest that refuse the bad rate are the ones that best accept the good
    while _accepted(n := _fewest_refusing(c, p_bad, beta), c, p_good) < 1 - alpha:
        c += 1
    return n, c


def in_batches(runs: int, batch: int) -> int:
    """Runs of a plan with looks after each batch, where all at once take `runs`: about 1.3 times as many."""
    return int(max(LONGER * runs, batch * ceil(runs / batch)) // batch) * batch


def _about(p_good: float, p_bad: float, alpha: float, beta: float) -> float:
    """The runs by the normal formula."""
    z = NormalDist().inv_cdf
    spread = z(1 - alpha) * sqrt(p_good * (1 - p_good)) + z(1 - beta) * sqrt(p_bad * (1 - p_bad))
    return (spread / (p_good - p_bad)) ** 2


def _accepted(n: int, c: int, rate: float) -> float:
    """P(at most c failures in n runs)."""
    if n <= c:
        return 1.0
    failing, passing, all_ways = log1p(-rate), log(rate), lgamma(n + 1)
    return fsum(
        exp(all_ways - lgamma(k + 1) - lgamma(n - k + 1) + k * failing + (n - k) * passing) for k in range(c + 1)
    )


def _fewest_refusing(c: int, p_bad: float, beta: float) -> int:
    few, enough = c, 2 * c + 2
    while _accepted(enough, c, p_bad) > beta:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        if _accepted(middle, c, p_bad) > beta:
            few = middle
        else:
            enough = middle
    return enough
