"""JSON bodies read exactly and written always.

orjson is fast, but turns integers beyond 64 bits into floats and refuses lone surrogates; the standard library reads
both. Ids longer than 19 digits are common in order systems, so exactness decides which of the two reads a body.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

__all__ = ["dump_json", "parse_json"]

_LONG_NUMBER = re.compile(rb"\d{19}")


def parse_json(body: bytes | str) -> Any:
    """The JSON value of `body`, integers exact.

    Raises:
        ValueError: `body` is not JSON (NaN and infinities are not), or nested too deeply to be read.
    """
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    if not _LONG_NUMBER.search(raw):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            if b"\\u" not in raw:  # only an escaped lone surrogate is read by the standard library and not by orjson
                raise
    try:
        return json.loads(raw, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dump_json(value: Any) -> bytes:
    """`value` as compact JSON text in UTF-8; what orjson can't write is written by the standard library, as ASCII."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
