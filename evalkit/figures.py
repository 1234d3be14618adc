"""Numbers in words: measured ones with so many figures, never a power of ten; counts with what they count."""

from __future__ import annotations

from math import floor, isfinite, log10

__all__ = ["counted", "figures", "signed_figures"]


def figures(value: float, count: int) -> str:
    """A number with its first `count` figures: ``0.0000513``, ``12.5``, ``1,400`` of 1397 for 3."""
    if not isfinite(value) or not value:
        return f"{value + 0.0:g}"
    decimals = count - 1 - floor(log10(abs(value)))
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if decimals > 0 else text


def signed_figures(value: float, count: int) -> str:
    """The same with its sign: ``+12.5``, ``+0``."""
    return figures(value, count) if value < 0 else f"+{figures(value, count)}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 case``, ``2 cases``; thousands are separated."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
