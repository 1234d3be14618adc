"""Single values inside of JSON, and RE2 patterns that state their form."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import InputError

__all__ = ["ABSENT", "at_pointer", "pattern_of"]

ABSENT: Any = object()
"""Where there is no value."""


def at_pointer(value: Json, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901); `ABSENT` where there is none."""
    found: Any = value
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(found):
            found = found[int(key)]
        else:
            return ABSENT
    return found


def pattern_of(pattern: Any, where: str) -> Any:
    """A compiled RE2 pattern: no pattern can run away.

    Raises:
        InputError: it is none.
    """
    if not isinstance(pattern, str) or not pattern:
        raise InputError(f"{pattern!r} is no pattern", where, "write a text in RE2 syntax")
    return _compiled(pattern, where)


@lru_cache(maxsize=256)
def _compiled(pattern: str, where: str) -> Any:
    """The cases of a suite share many of their patterns."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise InputError(f"{pattern!r} is no RE2 pattern: {error}", where, "correct it") from None
