"""Shares in words: no digit too few, none too many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.percent import percent, points, points_between, signed_points, whole_percent


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_only_all_and_none_are_shown_as_such(share: float) -> None:
    """A rate short of 100 % is never rounded up to it, nor one above 0 down to it."""
    assert percent(share) not in ("0%", "100%")
    assert whole_percent(share) not in ("0%", "100%")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (1.0, "100%"), (0.7, "70%"), (1 / 3, "33.3%"), (0.9997, "99.97%"), (1e-9, "<0.0001%")],
)
def test_percent(share: float, text: str) -> None:
    """At most one decimal, none where it is zero; near the ends two digits of what is lacking."""
    assert percent(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.01, "1 point"), (0.0001, "0.01 points"), (-0.000_12, "-0.012 points"), (1e-17, "0 points")],
)
def test_points(share: float, text: str) -> None:
    """A small difference is not called none; what rounding leaves is."""
    assert points(share) == text


def test_a_sign_is_shown_of_what_has_one() -> None:
    """None for zero, from either side."""
    assert [signed_points(share) for share in (0.02, -0.02)] == ["+2 points", "-2 points"]
    assert {signed_points(share) for share in (0.0, -1e-17, 1e-17)} == {"0 points"}
    assert points_between(-0.02, 0.0004) == "-2 to 0.04"
