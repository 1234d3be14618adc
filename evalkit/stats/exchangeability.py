"""Did the runs' order matter? What every other method here takes for granted.

A provider that changed in the middle, a cache that warmed up, a rate limit that was hit: each makes the later runs
differ from the earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.stats.suite import cmh_p

__all__ = ["halves_p"]


def halves_p(outcomes: Sequence[ArrayLike]) -> float:
    """The exact two-sided p-value for "the later half of the runs passes as often as the earlier one", over all cases.

    The conditional Cochran-Mantel-Haenszel test (Birch 1964) of the halves, stratified by case: differences between
    cases don't matter. It assumes one arm, whose runs are in the order in which they were made. With an odd number of
    runs the middle one counts as later.

    Args:
        outcomes: per case whether each run passed, in order; cases of fewer than two runs say nothing.

    Returns:
        1 where no case has two runs. A large value doesn't show that the order is harmless: few runs show nothing.
    """
    runs = [array for case in outcomes if len(array := np.asarray(case, dtype=bool).reshape(-1)) > 1]
    if not runs:
        return 1.0
    early = [array[: len(array) // 2] for array in runs]
    late = [array[len(array) // 2 :] for array in runs]
    return cmh_p(*_counts(early), *_counts(late), alternative="two-sided")


def _counts(halves: list[NDArray[np.bool_]]) -> tuple[list[int], list[int]]:
    return [int(half.sum()) for half in halves], [len(half) for half in halves]
