"""What pydantic has against a file, as people are told it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["faults_text"]

_NO_TABLE = frozenset({"dict_type", "model_type", "model_attributes_type"})


def faults_text(error: ValidationError) -> str:
    """Its faults, each with the key: ``policy.alpha: Input should be less than 1; select: a table is wanted``."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc']))}: {'a table is wanted' if fault['type'] in _NO_TABLE else fault['msg']}"
        for fault in error.errors()
    )
