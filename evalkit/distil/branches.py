"""The branches of a tool's arguments: the ways in which a call can differ for the code behind the tool.

A schema (JSON Schema, as agents are offered it) says which branches there are: each value of an enumeration, both truth
values, an optional argument given and left out, one and several elements of a list. Calls say which of them were taken,
and show some that no schema tells: a null, an empty text or list, zero, a negative number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalkit.canonical import Json, canonical

__all__ = ["Branch", "branches_of_call", "branches_of_schema"]

Branch = tuple[str, str]
"""Argument, a JSON pointer without its first slash; and the branch in words, such as ``left out`` or ``"gold"``."""

GIVEN, LEFT_OUT = "given", "left out"
_MOST_DEEP = 3
_MOST_VALUES = 40


def branches_of_schema(schema: Json) -> Iterator[Branch]:
    """The branches that a tool's schema tells of; nothing where it tells of none."""
    yield from _properties(schema, "", _MOST_DEEP)


def branches_of_call(arguments: Json, schema: Json = None) -> Iterator[Branch]:
    """The branches that one call takes.

    Args:
        schema: the tool's, where it is known: its optional arguments are left out where the call has them not.
    """
    yield from _given(arguments, schema, "", _MOST_DEEP)


def _properties(schema: Json, prefix: str, depth: int) -> Iterator[Branch]:
    required = _required(schema)
    for name, inner in _declared(schema).items():
        path = prefix + name
        yield path, GIVEN
        if name not in required:
            yield path, LEFT_OUT
        yield from _values(inner, path)
        if depth > 1:
            yield from _properties(inner, f"{path}/", depth - 1)


def _values(schema: Json, path: str) -> Iterator[Branch]:
    if not isinstance(schema, Mapping):
        return
    listed = _enumeration(schema)
    yield from ((path, _word(value)) for value in listed[:_MOST_VALUES])
    if listed:
        return
    if schema.get("type") == "boolean":
        yield from ((path, "true"), (path, "false"))
    elif schema.get("type") == "array":
        yield from ((path, "one"), (path, "several"))


def _given(arguments: Json, schema: Json, prefix: str, depth: int) -> Iterator[Branch]:
    if not isinstance(arguments, Mapping):
        return
    declared = _declared(schema)
    for name in declared:
        if name not in arguments:
            yield prefix + name, LEFT_OUT
    for name, value in arguments.items():
        path = prefix + name
        yield path, GIVEN
        yield from ((path, word) for word in _taken(value, declared.get(name)))
        if depth > 1:
            yield from _given(value, declared.get(name), f"{path}/", depth - 1)


def _taken(value: Json, schema: Json) -> Iterator[str]:
    listed = _enumeration(schema) if isinstance(schema, Mapping) else []
    if any(canonical(value) == canonical(one) for one in listed) or isinstance(value, bool) or value is None:
        yield _word(value)
    elif isinstance(value, list):
        yield ("empty", "one")[len(value)] if len(value) < 2 else "several"
    elif value == "":
        yield "empty"
    elif isinstance(value, int | float) and value <= 0:
        yield "zero" if value == 0 else "negative"


def _declared(schema: Json) -> Mapping[str, Json]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _required(schema: Json) -> set[str]:
    found = schema.get("required") if isinstance(schema, Mapping) else None
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _enumeration(schema: Mapping[str, Json]) -> list[Json]:
    found = schema.get("enum")
    return [one for one in found if not isinstance(one, list | Mapping)] if isinstance(found, list) else []


def _word(value: Json) -> str:
    return canonical(value).decode()
