"""Intervals for one pass rate: `x` passes of `n` independent runs.

Show mid-P, decide by Clopper-Pearson. Near a rate of 1, where regression cases live, Wilson's and Jeffreys' bounds
fall well below their level; they are here for comparison with other tools. Without runs (`n` = 0) every two-sided
interval is (0, 1).

NumPy and SciPy are loaded by the first call, not by the import: every command that shows a verdict imports this.
"""

from __future__ import annotations

from functools import lru_cache
from math import expm1, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from evalkit.stats.arguments import check_counts, check_share, whole_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "clopper_pearson",
    "clopper_pearson_table",
    "cp_lower",
    "cp_upper",
    "jeffreys",
    "midp",
    "midp_table",
    "wilson",
    "wilson_corrected",
    "zero_failure_bound",
]

_LARGEST_TABLE = 1000
_HALVINGS = 60


@lru_cache(maxsize=128)
def midp_table(n: int, level: float = 0.95) -> NDArray[np.float64]:
    """Two-sided mid-P limits for every count of passes.

    The lower limit solves ``(P(X >= x) + P(X > x)) / 2 = (1 - level) / 2`` (Lancaster 1961; Berry and Armitage 1995);
    at x = n it is ``(1 - level) ** (1 / n)``. Coverage is `level` on average and may fall a little below it for single
    rates (0.912 at worst at a level of 0.95, n up to 100).

    Returns:
        Shape (n + 1, 2), read-only: row x holds the lower and the upper limit.

    Raises:
        InputError: `n` is negative or `level` is no share.
    """
    import numpy as np

    _, n = whole_counts(0, n)
    check_share("level", level)
    lower = _midp_lower(np.arange(n + 1), n, level)
    table = np.column_stack([lower, 1.0 - lower[::-1]])
    table.flags.writeable = False
    return table


def midp(x: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The mid-P interval for `x` passes of `n` runs, see `midp_table`.

    Raises:
        InputError: the counts or `level` can't be.
    """
    x, n = whole_counts(x, n)
    check_share("level", level)
    if n and x in (0, n):  # in closed form: most cases always pass, and NumPy and SciPy take 0.2 s to load
        bound = (1.0 - level) ** (1.0 / n)
        return (bound, 1.0) if x else (0.0, 1.0 - bound)
    if n <= _LARGEST_TABLE:
        low, high = midp_table(n, level)[x].tolist()
        return low, high
    import numpy as np

    low, mirrored = _midp_lower(np.array([x, n - x]), n, level).tolist()
    return low, 1.0 - mirrored


@lru_cache(maxsize=128)
def clopper_pearson_table(n: int, level: float = 0.95) -> NDArray[np.float64]:
    """Two-sided Clopper-Pearson limits for every count of passes; coverage is never below `level`.

    Source: Clopper and Pearson 1934, as quantiles of the beta distribution.

    Returns:
        Shape (n + 1, 2), read-only: row x holds the lower and the upper limit.

    Raises:
        InputError: `n` is negative or `level` is no share.
    """
    import numpy as np
    from scipy.special import betaincinv

    _, n = whole_counts(0, n)
    check_share("level", level)
    passed = np.arange(1, n + 1)
    lower = np.concatenate([[0.0], betaincinv(passed, n - passed + 1, (1.0 - level) / 2)])
    table = np.column_stack([lower, 1.0 - lower[::-1]])
    table.flags.writeable = False
    return table


def clopper_pearson(x: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The two-sided Clopper-Pearson interval for `x` passes of `n` runs.

    Raises:
        InputError: the counts or `level` can't be.
    """
    check_share("level", level)
    tail = (1.0 - level) / 2
    return cp_lower(x, n, tail), cp_upper(x, n, tail)


def cp_lower(x: int, n: int, alpha: float) -> float:
    """The one-sided Clopper-Pearson lower bound: a true rate below it is shown with error at most `alpha`.

    With x = n it is ``alpha ** (1 / n)``.

    Raises:
        InputError: the counts or `alpha` can't be.
    """
    x, n = whole_counts(x, n)
    check_share("alpha", alpha)
    if x == 0:
        return 0.0
    if x == n:
        return float(alpha ** (1.0 / n))
    from scipy.special import betaincinv

    return float(betaincinv(x, n - x + 1, alpha))


def cp_upper(x: int, n: int, alpha: float) -> float:
    """The one-sided Clopper-Pearson upper bound, the mirror image of `cp_lower`.

    Raises:
        InputError: the counts or `alpha` can't be.
    """
    x, n = whole_counts(x, n)
    return 1.0 - cp_lower(n - x, n, alpha)


def zero_failure_bound(n: int, alpha: float = 0.05) -> float:
    """The upper bound, at level 1 - `alpha`, of the failure rate after `n` runs without a failure: 1 - alpha^(1/n).

    The "rule of three", 3/n, approximates it at alpha = 0.05. Without runs it is 1.

    Raises:
        InputError: `n` is negative or `alpha` is no share.
    """
    _, n = whole_counts(0, n)
    check_share("alpha", alpha)
    return -expm1(log(alpha) / n) if n else 1.0


def wilson(x: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927), without continuity correction.

    The counts may be fractional: an effective number of runs is meaningful here.

    Raises:
        InputError: the counts or `level` can't be.
    """
    check_counts(x, n)
    check_share("level", level)
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    middle = (x + z * z / 2) / (n + z * z)
    half = z * sqrt(x * (n - x) / n + z * z / 4) / (n + z * z)
    return (0.0 if x == 0 else middle - half), (1.0 if x == n else middle + half)


def wilson_corrected(x: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval with continuity correction, as R's ``prop.test`` gives it by default (Newcombe 1998).

    It is about as wide as `clopper_pearson`. Here for comparison with other tools.

    Raises:
        InputError: the counts or `level` can't be.
    """
    x, n = whole_counts(x, n)
    check_share("level", level)
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return _corrected_lower(x, n, z), 1.0 - _corrected_lower(n - x, n, z)


def jeffreys(x: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The equal-tailed interval of the Beta(x + 1/2, n - x + 1/2) posterior, with 0 at x = 0 and 1 at x = n.

    Source: Brown, Cai and DasGupta 2001.

    Raises:
        InputError: the counts or `level` can't be.
    """
    x, n = whole_counts(x, n)
    check_share("level", level)
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2
    low = 0.0 if x == 0 else float(betaincinv(x + 0.5, n - x + 0.5, tail))
    high = 1.0 if x == n else float(betaincinv(x + 0.5, n - x + 0.5, 1.0 - tail))
    return low, high


def _corrected_lower(x: int, n: int, z: float) -> float:
    if x == 0:
        return 0.0
    root = sqrt(max(z * z - 2 - 1 / n + 4 * (x / n) * (n - x + 1), 0.0))
    return max(0.0, (2 * x + z * z - 1 - z * root) / (2 * (n + z * z)))


def _midp_lower(x: NDArray[np.int64], n: int, level: float) -> NDArray[np.float64]:
    """The lower mid-P limit for each count in `x`, by bisection; 0 where no run passed."""
    import numpy as np
    from scipy.special import betainc

    low, high = np.zeros(x.shape), np.where(x == 0, 0.0, 1.0)
    at_least = np.maximum(x, 1), n - np.maximum(x, 1) + 1
    more = np.minimum(x, n - 1) + 1, np.maximum(n - x, 1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = np.where(x == n, 0.0, betainc(*more, middle))
        too_high = betainc(*at_least, middle) + beyond > 1.0 - level
        low, high = np.where(too_high, low, middle), np.where(too_high, middle, high)
    return low
