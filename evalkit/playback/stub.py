"""Values that stand in for a tool's result: of the right shape, and telling nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.canonical import Json

__all__ = ["stub_by", "stub_like"]

_TEXT = "(stub)"
_DEEPEST = 20
_BY_TYPE: dict[str, Json] = {"string": _TEXT, "integer": 0, "number": 0, "boolean": False, "null": None}


def stub_like(value: Json) -> Json:
    """The shape of a recorded value: its keys, its types, one element a list; none of its texts and numbers."""
    if isinstance(value, dict):
        return {key: stub_like(item) for key, item in value.items()}
    if isinstance(value, list):
        return [stub_like(item) for item in value[:1]]
    if isinstance(value, bool) or value is None:
        return None if value is None else False
    return 0 if isinstance(value, int | float) else _TEXT


def stub_by(schema: Mapping[str, Any]) -> Json:
    """A value that a JSON Schema allows, as far as its types, constants and references say; None where they don't."""
    return _made(schema, schema, 0)


def _made(schema: Any, root: Mapping[str, Any], depth: int) -> Json:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    schema = _resolved(schema, root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]  # type: ignore[no-any-return]  # JSON by what a schema is
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]  # type: ignore[no-any-return]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return _made(schema[key][0], root, depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or (kind is None and isinstance(schema.get("properties"), Mapping)):
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        return {str(name): _made(each, root, depth + 1) for name, each in properties.items()}
    if kind == "array":
        return [_made(schema["items"], root, depth + 1)] if isinstance(schema.get("items"), Mapping) else []
    if kind in ("integer", "number"):
        least = schema.get("minimum")
        return least if isinstance(least, int | float) else 0
    return _BY_TYPE.get(str(kind))


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the schema leads to."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        found: Any = root
        for part in reference[2:].split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return {}
        schema = found
    return {}
