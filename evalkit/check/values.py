"""Single values inside of JSON, and the two languages that state their form: RE2 patterns and JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import InputError

__all__ = ["ABSENT", "at_pointer", "pattern_of", "schema_of"]

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


def schema_of(schema: Any, where: str) -> Callable[[Json], str]:
    """A function that says what breaks a JSON Schema (2020-12 unless ``$schema`` says otherwise); empty when nothing.

    References to other documents are not followed, and ``pattern`` is RE2.

    Raises:
        InputError: it is no schema.
    """
    import jsonschema
    from referencing import Registry

    if not isinstance(schema, dict | bool):
        raise InputError(f"{schema!r} is no JSON Schema", where, '{"type": "object", "required": ["id"]}')
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise InputError(f"no JSON Schema: {error.message}", where, "correct it") from None
    validator = jsonschema.validators.extend(kind, {"pattern": _pattern})(schema, registry=Registry())

    def broken(value: Json) -> str:
        found = jsonschema.exceptions.best_match(validator.iter_errors(value))
        return "" if found is None else f"{found.json_path}: {found.message}"

    return broken


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema

    if isinstance(value, str) and pattern_of(pattern, "JSON Schema").search(value) is None:
        yield jsonschema.ValidationError(f"{value[:80]!r} does not match {pattern!r}")
