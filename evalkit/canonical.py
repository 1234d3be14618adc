"""Canonical JSON and digests: one text for each value, so that equal values have equal keys.

Rules (design: "Matching fixtures"): object keys sorted, strings exactly as they are (no Unicode normalisation),
integral floats equal to ints, ``-0.0`` to ``0``, integers of any size exact, NaN and infinities refused. It differs
from RFC 8785 in two points on purpose: integers beyond 2**53 stay exact (order ids are often larger), and keys are
sorted by code point.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from typing import Any, TypeAlias

import orjson

from evalkit.errors import InputError

__all__ = ["Json", "canonical", "digest", "exact_text", "parse_exact", "same"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_INT64_MIN, _UINT64_MAX = -(2**63), 2**64 - 1
_AS_THEY_ARE = frozenset({str, bool, type(None)})
_KNOWN = _AS_THEY_ARE | {dict, list, int, float}
_LOOKED_INTO = 3
"""So many levels down, a value that is large as a whole may have parts that need no care: a step's messages."""
_MAX_DEPTH = 200
_MAX_INT = int(sys.float_info.max)
_BEYOND_64_BIT = re.compile(rb"-\d{19}|\d{20}")
_DIGITS_AS_ZEROS = bytes.maketrans(b"-123456789", b"0" * 10)
_LONG = b"0" * 20


def canonical(value: Json) -> bytes:
    """The canonical JSON text of `value` as UTF-8 bytes.

    Raises:
        InputError: `value` is no JSON (NaN, infinity, another type, a lone surrogate, deeper than 200 levels).
    """
    try:
        if _is_canonical(value, 0):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits, or what the long way names better
        pass
    try:
        return orjson.dumps(_normal(value, 0), option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise InputError(f"not canonical JSON: {error}", cure="pass JSON values only") from None


def exact_text(value: Any) -> bytes:
    """`value` as JSON text that reads back as it is: keys in their order, ``1.0`` as ``1.0``, integers of any size.

    For storing: an agent may print what a tool gave, and a model's prompt shows the order of its keys.

    Raises:
        InputError: `value` is no JSON. (NaN is not seen here; `canonical` refuses it.)
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        try:
            return orjson.dumps(_with_big_integers(value))
        except (TypeError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", cure="pass JSON values only") from None


def parse_exact(text: bytes | str) -> Any:
    """The value of a text that `exact_text` or `canonical` wrote.

    Raises:
        ValueError: it is no JSON.
    """
    value = orjson.loads(text)
    if len(text) < len(_LONG):
        return value
    data = text.encode() if isinstance(text, str) else text
    if _LONG in data.translate(_DIGITS_AS_ZEROS) and _BEYOND_64_BIT.search(data):  # the first sees it 20 times as fast
        return json.loads(data)  # orjson makes integers beyond 64 bits floats
    return value


def digest(value: Json) -> str:
    """Hex SHA-256 of the canonical text of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def same(left: Json, right: Json) -> bool:
    """Whether two JSON values are equal under the canonical rules (``1 == 1.0``, but ``True != 1``)."""
    return canonical(left) == canonical(right)


def _is_canonical(value: object, depth: int) -> bool:
    """Whether only the order of keys needs care: no number or type in it that `_normal` writes in its own way.

    It looks at all values, level by level, which takes a fifth of the time of going through them one by one.
    """
    level: list[Any] = [value]
    for _ in range(depth, _MAX_DEPTH):
        if not _KNOWN.issuperset(map(type, level)):
            return False
        inner = [item for item in level if type(item) not in _AS_THEY_ARE]
        if not inner:
            return True
        level = []
        for item in inner:
            if type(item) is dict:
                level += item.values()
            elif type(item) is list:
                level += item
            elif type(item) is int:
                if not _INT64_MIN <= item <= _UINT64_MAX:
                    return False
            elif not math.isfinite(item) or item.is_integer():
                return False
    return False


def _normal(value: object, depth: int) -> object:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if 0 < depth < _LOOKED_INTO and (kind is dict or kind is list) and _is_canonical(value, depth):
        return value
    if kind is int:
        if _INT64_MIN <= value <= _UINT64_MAX:  # type: ignore[operator]  # narrowed by `kind`
            return value
        return orjson.Fragment(_int_text(value))  # type: ignore[arg-type]  # narrowed by `kind`
    if kind is dict or kind is list:
        if depth > _MAX_DEPTH:
            raise InputError(f"nested deeper than {_MAX_DEPTH} levels", cure="flatten the value")
        if kind is dict:
            return {key: _normal(item, depth + 1) for key, item in value.items()}  # type: ignore[attr-defined]
        return [_normal(item, depth + 1) for item in value]  # type: ignore[attr-defined]
    if kind is float:
        return _number(value)  # type: ignore[arg-type]  # narrowed by `kind`
    raise InputError(f"{kind.__name__} is not a JSON type", cure="pass JSON values only")


def _with_big_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_big_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_big_integers(item) for item in value]
    if type(value) is int and not _INT64_MIN <= value <= _UINT64_MAX:
        return orjson.Fragment(_int_text(value))
    return value


def _number(value: float) -> object:
    if not math.isfinite(value):
        raise InputError(f"{value} is not a JSON number", cure="replace NaN and infinities by null or a string")
    if value.is_integer():
        whole = int(value)
        return whole if abs(whole) < 2**63 else orjson.Fragment(_int_text(whole))
    return value


def _int_text(value: int) -> bytes:
    if abs(value) > _MAX_INT:
        raise InputError("an integer is larger than any double, which JSON readers refuse", cure="store it as a string")
    return str(value).encode()
