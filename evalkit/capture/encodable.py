"""Values that JSON files can't hold, rendered so that recording goes on.

`plain` turns Python values into JSON; what it leaves are values that are JSON in Python and not in a file: lone
surrogates (a broken UTF-16 string), integers of thousands of digits, nesting without end.
"""

from __future__ import annotations

import math
from typing import Any

from evalkit.canonical import Json

__all__ = ["encodable"]

_MAX_BITS = 13_000
_MAX_DEPTH = 150


def encodable(value: Any, depth: int = 0) -> Json:
    """`value` as JSON that `canonical` takes, containers copied.

    A lone surrogate becomes its escape (``\\\\ud800``), NaN and infinities their text, an integer beyond 3,900 digits
    ``{"int_bits": bits}``, a value nested deeper than 150 levels or of another type ``{"type": name}``.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MAX_BITS else {"int_bits": value.bit_length()}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if depth >= _MAX_DEPTH:
        return {"type": type(value).__name__}
    if isinstance(value, dict):
        return {str(encodable(str(key))): encodable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encodable(item, depth + 1) for item in value]
    return {"type": type(value).__name__}
