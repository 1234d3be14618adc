"""The sign-flip test: were the cases' differences as likely to point the other way?

It assumes that each case's difference is symmetric about 0 when nothing changed, and nothing else (Fisher 1935).
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.lattice import lower_tail

__all__ = ["Alternative", "sign_flip_p", "sign_flip_p_whole"]

Alternative = Literal["less", "two-sided"]
"""What is to be shown: a negative sum, or one of either sign."""

_BLOCK = 1 << 20
_SAME = 1e-12
_LARGEST = 1e6
"""The root of the sum of squares that can be counted: it takes half a gigabyte."""


def sign_flip_p_whole(differences: ArrayLike, alternative: Alternative = "less") -> float:
    """The exact p-value over all 2^C choices of signs, for whole numbers such as differences of counts.

    Returns:
        P(flipped sum <= sum), or for "two-sided" P(|flipped sum| >= |sum|); at least 1e-12.

    Raises:
        InputError: a difference is not a whole number, or they are too large to be counted.
    """
    given = np.asarray(differences, dtype=np.float64).reshape(-1)
    if not np.isfinite(given).all() or (np.rint(given) != given).any():
        raise InputError("differences that are not whole numbers", cure="use sign_flip_p for measured values")
    if np.hypot.reduce(given, initial=0.0) > _LARGEST:
        raise InputError("differences too large to be counted", cure="use sign_flip_p for measured values")
    whole = given.astype(np.int64)
    if alternative == "two-sided":
        whole = whole if whole.sum() <= 0 else -whole
    # the sum with flipped signs is 2 K - T: K sums the sizes whose sign is +, each with probability 1/2
    sizes, counts = np.unique(np.abs(whole), return_counts=True)
    reach = int(np.abs(whole).sum())
    parts = [(partial(_coin, size), count) for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)]
    tail = lower_tail(parts, (int(whole.sum()) + reach) // 2, reach / 2, float((whole**2).sum()) / 4, 1)
    return tail if alternative == "less" else min(1.0, 2 * tail)


def sign_flip_p(
    differences: ArrayLike, rng: np.random.Generator, alternative: Alternative = "two-sided", *, flips: int = 9999
) -> float:
    """The p-value over signs, for measured values: over all 2^C where that is no more than `flips`, else random ones.

    Of random ones it is (1 + flips at least as extreme) / (1 + flips): counting the data themselves as one flip keeps
    the test exact for any number of flips (Phipson and Smyth 2010).

    Raises:
        InputError: a difference is not finite, or there are no flips.
    """
    values = np.asarray(differences, dtype=np.float64).reshape(-1)
    if not np.isfinite(values).all() or flips < 1:
        raise InputError("differences that are not finite, or no flips", cure="leave out cases without a difference")
    # by size: random signs then say the same in any order of the cases, and of the arms
    sizes = np.sort(np.abs(values))
    seen, most = values.sum(), sizes.sum()
    slack = _SAME * most

    def extreme(signs: NDArray[np.int8]) -> int:
        sums = 2 * (signs @ sizes) - most
        more = sums <= seen + slack if alternative == "less" else np.abs(sums) >= abs(seen) - slack
        return int(np.count_nonzero(more))

    choices = 1 << min(len(sizes), 62)
    if choices <= flips:
        numbers = np.arange(choices)[:, np.newaxis]
        return extreme((numbers >> np.arange(len(sizes)) & 1).astype(np.int8)) / choices
    rows = max(1, _BLOCK // max(1, len(sizes)))
    blocks = (min(rows, flips - start) for start in range(0, flips, rows))
    found = sum(extreme(rng.integers(0, 2, size=(block, len(sizes)), dtype=np.int8)) for block in blocks)
    return (1 + found) / (1 + flips)


def _coin(size: int, length: int) -> NDArray[np.complex128]:
    """The transform of "0 or `size`, with probability 1/2 each"."""
    angle = -2 * np.pi * (np.arange(length // 2 + 1) * size % length) / length
    transform: NDArray[np.complex128] = (1 + np.exp(1j * angle)) / 2
    return transform
