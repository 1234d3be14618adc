"""The border where a client's JSON comes in: what a trace can't hold is rendered as a recording renders it."""

from __future__ import annotations

from typing import Any

from evalkit.canonical import canonical
from evalkit.capture.encodable import encodable
from evalkit.errors import EvalkitError
from evalkit.wire.body import parse_json

__all__ = ["read_body"]


def read_body(body: bytes) -> tuple[Any, bool]:
    """The JSON value of a body, and whether it is as it was sent (lone surrogates, for one, can't be kept).

    Raises:
        ValueError: it is no JSON, or holds what no JSON file can.
    """
    value = parse_json(body)
    try:
        canonical(value)
    except EvalkitError:
        value = encodable(value)
    else:
        return value, True
    try:
        canonical(value)
    except EvalkitError as error:
        raise ValueError(error.what) from None
    return value, False
