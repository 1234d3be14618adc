"""Many cases against their baselines at once: which are worse, so that a release is not blocked by chance.

Up to three cases the stronger test of one case counts: E+M with Holm's correction. From four on Fisher's test with the
discrete step-down shows more, because a case that hardly ever fails costs the others nothing there. The number of cases
is known beforehand; the smaller p-value of both is never taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Regression", "regressions"]

_FEW = 3

Counts = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Regression:
    """The one-sided p-values of one case against its baseline.

    Attributes:
        worse: for "worse", of this case alone.
        better: for "better", likewise.
        worse_adjusted: for "worse", adjusted over the cases.
        better_adjusted: for "better", likewise.
    """

    worse: float
    better: float
    worse_adjusted: float
    better_adjusted: float


def regressions(tables: Sequence[Counts]) -> list[Regression]:
    """The p-values of each case, adjusted for the family-wise error over all of them; cases may fail together.

    Args:
        tables: per case the baseline's passes and samples, then the candidate's; none of them without samples.

    Raises:
        InputError: counts can't be.
    """
    if not tables:
        return []
    import numpy as np

    from evalkit.stats.multiplicity import holm, step_down  # scipy: only where there is something to compare
    from evalkit.stats.two_sample import fisher_p_many, regression_p_many

    x1, n1, x2, n2 = np.array(tables, dtype=np.int64).T
    if len(tables) <= _FEW:
        worse, better = regression_p_many(x1, n1, x2, n2), regression_p_many(x2, n2, x1, n1)
        adjusted = holm(worse), holm(better)
    else:
        worse, better = fisher_p_many(x1, n1, x2, n2), fisher_p_many(x2, n2, x1, n1)
        adjusted = (
            step_down(worse, np.stack([n1, n2, x1 + x2], axis=1), dependence="any"),
            step_down(better, np.stack([n2, n1, x1 + x2], axis=1), dependence="any"),
        )
    known: dict[tuple[float, ...], Regression] = {}  # most cases came to the same
    rows = zip(*(column.tolist() for column in (worse, better, *adjusted)), strict=True)
    return [known.get(row) or known.setdefault(row, Regression(*row)) for row in rows]
