"""Different tables among many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.stats.distinct import distinct_rows


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=30),
    st.sampled_from([1, 10**7]),  # the second is too large for one number a row
)
def test_rows_are_found_placed_and_counted(rows: list[tuple[int, ...]], scale: int) -> None:
    """As NumPy finds them, which sorts whole rows."""
    matrix = np.array(rows, dtype=np.int64).reshape(-1, 3) * scale
    found, place, times = distinct_rows(matrix)
    known, inverse, counts = np.unique(matrix, axis=0, return_inverse=True, return_counts=True)
    assert found.tolist() == known.tolist()
    assert place.tolist() == inverse.reshape(-1).tolist()
    assert times.tolist() == counts.tolist()


@pytest.mark.parametrize("rows", [[[-1, 2], [-1, 2], [0, 1]], [[0, -1], [-1, 2]], [[2**40, 2**40], [2**40, 2**40]]])
def test_numbers_that_do_not_fit_are_found_too(rows: list[list[int]]) -> None:
    """Negative and huge ones."""
    found, place, times = distinct_rows(np.array(rows))
    assert found[place].tolist() == rows
    assert times.sum() == len(rows)
