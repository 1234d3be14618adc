"""Python values as plain JSON, the way tools' arguments and results are recorded.

Recording must never break the agent, so every value has a form: what JSON lacks is rendered by the rules below, and
what can't be rendered at all is named by its type (never by `repr`, which may hold addresses or secrets).
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from evalkit.canonical import Json

__all__ = ["AS_THEY_ARE", "plain"]

_MAX_DEPTH = 100
AS_THEY_ARE = frozenset({str, int, bool, type(None)})
"""Types whose values are plain JSON as they are."""


def plain(value: Any, depth: int = 0, lost: list[str] | None = None) -> Json:
    """`value` as JSON, containers copied.

    Tuples, sets (sorted by text) and iterables of keys become lists; dataclasses, pydantic models and attrs classes
    become objects; enums their value; dates, times and UUIDs their ISO text; decimals and NaN their text; bytes
    ``{"base64": text}``; anything else ``{"type": "module.Class"}``.

    Args:
        lost: gets what of the value the JSON does not hold, in words.
    """
    kind = type(value)
    if kind in AS_THEY_ARE:
        return value  # type: ignore[no-any-return]  # by its type
    if depth > _MAX_DEPTH:
        return _named(value, lost)
    if kind is dict:
        made = {
            key if type(key) is str else str(key): item if type(item) in AS_THEY_ARE else plain(item, depth + 1, lost)
            for key, item in value.items()
        }
        if len(made) < len(value) and lost is not None:
            lost.append("keys that are one as texts")
        return made
    if kind is list or kind is tuple:
        return [plain(item, depth + 1, lost) for item in value]
    return _rendered(value, depth, lost)


def _rendered(value: Any, depth: int, lost: list[str] | None) -> Json:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, Enum):
        return plain(value.value, depth + 1, lost)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1, lost) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1, lost) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth + 1, lost) for item in value), key=str)
    return _fields(value, depth, lost)


def _fields(value: Any, depth: int, lost: list[str] | None) -> Json:
    if isinstance(value, type):
        return {"type": _type_name(value)}
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name), depth + 1, lost) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):  # pydantic; imported by the agent, if at all
        return plain(value.model_dump(mode="json"), depth + 1, lost)
    if hasattr(value, "__attrs_attrs__"):
        return {field.name: plain(getattr(value, field.name), depth + 1, lost) for field in value.__attrs_attrs__}
    if isinstance(value, Iterable) and hasattr(value, "__len__"):
        return [plain(item, depth + 1, lost) for item in value]
    return _named(value, lost)


def _named(value: Any, lost: list[str] | None) -> Json:
    name = _type_name(value)
    if lost is not None:
        lost.append(f"a {name}, of which only the type is kept")
    return {"type": name}


def _type_name(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
