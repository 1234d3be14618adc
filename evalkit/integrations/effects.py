"""Effects of a framework's tools as its user states them: ``{"refund_*": "write", "search": "read"}``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from evalkit.trace.effect import check_effect, effect_by_pattern
from evalkit.trace.model import Effect

__all__ = ["Effects", "stated"]

Effects: TypeAlias = Mapping[str, Effect]
"""Patterns of tool names to effects; the first that matches counts."""


def stated(effects: Effects | None) -> Callable[[str], Effect | None]:
    """What gives the stated effect of a tool by its name, None where nothing is stated.

    Raises:
        UsageError: an effect is unknown.
    """
    patterns = tuple((effects or {}).items())
    for _, effect in patterns:
        check_effect(effect)
    return lambda name: effect_by_pattern(name, patterns)
