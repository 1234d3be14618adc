"""An error that a worker raised on purpose, on its way to the controller: JSON, even from a hostile process."""

from __future__ import annotations

import orjson

from evalkit import errors
from evalkit.errors import EvalkitError

__all__ = ["error_from", "error_text"]


def error_text(error: EvalkitError) -> bytes:
    """The error as JSON."""
    return orjson.dumps([type(error).__name__, error.what, error.where, error.cure])


def error_from(text: bytes | str) -> EvalkitError:
    """The error again, of its own class where that is one of `evalkit.errors`."""
    kind, what, where, cure = map(str, orjson.loads(text))
    found = getattr(errors, kind, EvalkitError)
    if not (isinstance(found, type) and issubclass(found, EvalkitError)):
        found = EvalkitError
    return found(what, where, cure)
