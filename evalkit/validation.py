"""What pydantic has against a file, as people are told it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["faults_text"]

_NO_TABLE = frozenset({"dict_type", "model_type", "model_attributes_type"})


def faults_text(error: ValidationError, model: type[BaseModel]) -> str:
    """Its faults, each with the key: ``policy.alpha: Input should be less than 1; select: a table is wanted``.

    Args:
        model: what the file was to be; a key that it lacks is told with the nearest one that it has.
    """
    return "; ".join(
        f"{'.'.join(map(str, fault['loc']))}: {_words(fault, model)}".removeprefix(": ") for fault in error.errors()
    )


def _words(fault: ErrorDetails, model: type[BaseModel]) -> str:
    if fault["type"] in _NO_TABLE:
        return "a table is wanted"
    if fault["type"] != "extra_forbidden":
        return fault["msg"]
    from difflib import get_close_matches  # takes a while to load, which files without a fault need not wait for

    *path, key = fault["loc"]
    near = get_close_matches(str(key), _keys(model, path), 1)
    return f"there is no such key; {near[0]} is meant?" if near else "there is no such key"


def _keys(kind: Any, path: Sequence[int | str]) -> list[str]:
    """The keys that there are at a place of a file; none where it has any."""
    if get_origin(kind) in (list, dict):
        return _keys(get_args(kind)[-1], path[1:]) if path else []
    tables = [one for one in (kind, *get_args(kind)) if hasattr(one, "model_fields")]
    fields = {field.alias or name: field.annotation for one in tables for name, field in one.model_fields.items()}
    return _keys(fields.get(str(path[0])), path[1:]) if path else [*fields]
