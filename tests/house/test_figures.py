"""Measured numbers are told as people write them."""

from __future__ import annotations

import pytest

from evalkit.figures import counted, figures, signed_figures


@pytest.mark.parametrize(
    ("value", "count", "text"),
    [
        (1397.0, 3, "1,400"),
        (12345.6, 4, "12,350"),
        (0.00005126, 3, "0.0000513"),
        (999.96, 3, "1,000"),
        (12.5, 3, "12.5"),
        (5.0, 4, "5"),
        (-0.629, 3, "-0.629"),
        (-0.0, 3, "0"),
        (float("inf"), 3, "inf"),
    ],
)
def test_figures(value: float, count: int, text: str) -> None:
    """Never a power of ten, no zeros that say nothing."""
    assert figures(value, count) == text


def test_signed_figures() -> None:
    """A rise has its sign, and so has no change."""
    assert [signed_figures(value, 3) for value in (15.54, 0.0, -0.0, -2.0)] == ["+15.5", "+0", "+0", "-2"]


def test_counted() -> None:
    """Singular, plural, thousands."""
    assert [counted(1, "case"), counted(2_000, "case"), counted(2, "policy", "policies")] == [
        "1 case",
        "2,000 cases",
        "2 policies",
    ]
