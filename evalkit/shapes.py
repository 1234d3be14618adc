"""What JSON from elsewhere holds, of whatever shape it is."""

from __future__ import annotations

from typing import Any, TypeGuard

__all__ = ["dict_at", "dict_of", "dicts", "is_number", "is_whole", "text_of"]


def dicts(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def dict_at(values: Any, index: Any) -> dict[str, Any] | None:
    """The object at a place of a list; None where there is no such list, place or object."""
    if not isinstance(values, list) or type(index) is not int or not 0 <= index < len(values):
        return None
    value = values[index]
    return value if isinstance(value, dict) else None


def dict_of(value: Any) -> dict[str, Any]:
    """The object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """The text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether it is a number; ``true`` is none, though Python counts with it."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether it is a whole number; ``1.0`` and ``true`` are none."""
    return isinstance(value, int) and not isinstance(value, bool)
