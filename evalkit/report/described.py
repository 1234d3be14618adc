"""JSON Schemas of dataclasses, with what their docstrings say of each field."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

__all__ = ["add_properties", "object_of", "schema_of"]

_ENTRY = re.compile(r"([a-z_, `]+): (.*)")


def schema_of(kind: type, *inner: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of what `dataclasses.asdict` makes of it, and the definitions it refers to. Every key is required.

    Args:
        inner: the dataclasses its fields hold.
    """
    schema = TypeAdapter(kind).json_schema()
    definitions: dict[str, Any] = schema.pop("$defs", {})
    kinds = {each.__name__: each for each in (kind, *inner)}
    for name, one in ((kind.__name__, schema), *definitions.items()):
        _describe(one, kinds[name])
    return schema, definitions


def object_of(properties: Mapping[str, Any], description: str) -> dict[str, Any]:
    """An object all of whose keys are required."""
    found = {"type": "object", "description": description, "properties": dict(properties), "required": []}
    add_properties(found, {})
    return found


def add_properties(schema: dict[str, Any], properties: Mapping[str, Any]) -> None:
    """Adds keys to an object's schema; they are required like the others."""
    schema["properties"] |= properties
    schema["required"] = sorted(schema["properties"])


def _describe(schema: dict[str, Any], kind: type) -> None:
    for each in schema["properties"].values():
        each.pop("title", None)
        each.pop("default", None)
    for name, text in _attributes(kind):
        schema["properties"][name]["description"] = text.replace("None", "null")
    schema["description"] = (inspect.getdoc(kind) or "").partition("\n")[0]
    add_properties(schema, {})


def _attributes(kind: type) -> Iterator[tuple[str, str]]:
    _, _, part = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    for entry in re.split(r"\n    (?! )", f"\n{part}"):
        found = _ENTRY.fullmatch(" ".join(entry.split()))
        for name in found[1].split(",") if found else ():
            if name.strip() in kind.__dataclass_fields__:  # type: ignore[attr-defined]  # all of them are dataclasses
                yield name.strip(), str(found[2]) if found else ""
