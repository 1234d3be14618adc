"""Tails of sums of many independent whole numbers, exact to rounding, by the fast Fourier transform.

The distribution is worked out modulo a window of 24 standard deviations: what lies beyond wraps around, and is far
below rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["SMALLEST", "lower_tail"]

SMALLEST = 1e-12
"""Rounding hides smaller tails; they are given as this value."""

_DEVIATIONS = 24
_LEAST_WINDOW = 64

Spectrum = Callable[[int], NDArray[np.complex128]]


def lower_tail(parts: Iterable[tuple[Spectrum, int]], at: int, mean: float, variance: float, widest: int) -> float:
    """P(sum <= `at`) for a sum of independent parts; at least `SMALLEST`.

    Args:
        parts: for each kind of part, how to get the transform of its probabilities at a window's length (as
            `numpy.fft.rfft` gives it), and how many such parts there are.
        at: the value asked for.
        mean: the sum's mean.
        variance: the sum's variance.
        widest: the number of values that the widest single part can take.
    """
    needed = max(_LEAST_WINDOW, widest, _DEVIATIONS * variance**0.5 + 2)
    length = 1 << int(np.ceil(np.log2(needed)))
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    for spectrum, count in parts:
        product *= spectrum(length) ** count
    mass = np.fft.irfft(product, length)
    start = int(np.floor(mean)) - length // 2
    inside = min(max(at - start + 1, 0), length)
    tail = mass[np.arange(start, start + inside) % length].sum()
    return float(min(max(tail, SMALLEST), 1.0))
