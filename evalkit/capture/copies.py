"""Copies of one plain value, many times: what does not change in it is looked at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.canonical import Json

__all__ = ["copies"]


def copies(value: Json) -> Callable[[], Any]:
    """What makes copies of `value`, which must stay as it is; whoever gets one may change it, and no other changes."""
    if not isinstance(value, dict | list):
        return lambda: value
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [(place, copies(item)) for place, item in pairs if isinstance(item, dict | list)]
    whole: Callable[[], Any] = value.copy
    if not inner:
        return whole

    def made() -> Any:
        copied = whole()
        for place, copy in inner:
            copied[place] = copy()
        return copied

    return made
