"""Many cases, few different tables: which are there, and which case has which."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct_rows"]

Counts = NDArray[np.int64]

_LARGEST_KEY = 2**62


def distinct_rows(rows: Counts) -> tuple[Counts, NDArray[np.intp], NDArray[np.intp]]:
    """The different rows of a matrix of counts, in rising order; per row its place among them; how often each is there.

    Each row becomes one whole number where that fits: numbers are sorted several times as fast as rows are.
    """
    sizes = [int(largest) + 1 for largest in rows.max(axis=0, initial=0)]
    if prod(sizes) > _LARGEST_KEY or (len(rows) and rows.min() < 0):
        found, place, times = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        return found, place.reshape(-1), times
    key = np.zeros(len(rows), dtype=np.int64)
    for column, size in zip(rows.T, sizes, strict=True):
        key = key * size + column
    _, first, place, times = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return rows[first], place.reshape(-1), times
