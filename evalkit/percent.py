"""Shares in words: percentages and percentage points with as many digits as they mean something."""

from __future__ import annotations

from math import floor, log10

__all__ = ["percent", "points", "points_between", "signed_points", "whole_percent"]

_NOISE = 1e-9
"""What rounding leaves of a difference that is none."""
_TINY = 1e-6


def percent(share: float) -> str:
    """A share from 0 to 1: ``12.5%``, ``99.95%``.

    One decimal at most, but two digits of what a share lacks of 0 or 1: only exactly these are shown as 0% and 100%.
    """
    rest = min(share, 1 - share)
    if 0 < share < 1 and rest < _TINY:
        return "<0.0001%" if share < 0.5 else ">99.9999%"
    return f"{_digits(100 * share, 100 * rest)}%"


def whole_percent(share: float) -> str:
    """A share in whole percents where they tell enough: near 0 and 1 as `percent` has it."""
    return f"{share:.0%}" if 0.01 <= share <= 0.99 else percent(share)


def points(share: float) -> str:
    """A difference of rates: ``12.5 points``, ``0.01 points``, ``0 points`` for none."""
    number = _points(share)
    return f"{number} point" + ("" if number == "1" else "s")


def signed_points(share: float) -> str:
    """The same with its sign: ``+12.5 points``, ``-1 point``."""
    return f"+{points(share)}" if share >= _NOISE else points(share)


def points_between(low: float, high: float) -> str:
    """An interval of differences: ``-2 to 10``."""
    return f"{_points(low)} to {_points(high)}"


def _points(share: float) -> str:
    return "0" if abs(share) < _NOISE else _digits(100 * share, 100 * abs(share))


def _digits(value: float, size: float) -> str:
    """One decimal where `size` is 1 or more, else those of two of its digits; without zeros at the end."""
    decimals = 1 - floor(log10(size)) if 0 < size < 1 else 1
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".")
