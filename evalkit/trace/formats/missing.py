"""Which sides of a call a foreign trace does not hold."""

from __future__ import annotations

from typing import Any

__all__ = ["note_missing"]


def note_missing(attributes: dict[str, Any], *, asked: bool, answered: bool) -> None:
    """Names in a step's own attributes what is not there; see `trace.evidence`.

    Args:
        asked: whether the trace holds what the call was given.
        answered: whether it holds a result, or why there is none.
    """
    missing = [side for side, found in (("input", asked), ("output", answered)) if not found]
    if missing:
        attributes["missing"] = missing
