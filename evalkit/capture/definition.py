"""A tool's definition as a model would be shown it: name, description, JSON Schema of its parameters.

Read from the function's signature and docstring when the tool is first called in a recording, never before: pydantic,
which makes the schemas, is not loaded by marking a tool.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any

from evalkit.canonical import Json

__all__ = ["DEFINITION", "definition_of", "function_definition"]

DEFINITION = "definition"
"""The attribute of a run's first step of each tool that holds the tool's definition."""

_SECTION = re.compile(r"(?m)^(Args|Arguments|Parameters|Returns|Raises|Yields|Attributes|Examples?|Notes?)\s*:\s*$")
_GOOGLE = re.compile(r"(?m)^( +)(\w+)(?: *\([^)]*\))? *: *(.+(?:\n\1 +.+)*)")
_SPHINX = re.compile(r"(?m)^:param (?:\w+ )?(\w+): *(.+(?:\n[ \t]+.+)*)")


def definition_of(name: str, description: str | None, parameters: Any, output: Any = None) -> dict[str, Json]:
    """A definition in the form that model steps have in their ``tools``; with the results' schema, if known."""
    told = {"name": name, "description": description or "", "parameters": parameters}
    return {**told, "output_schema": output} if output else told


def function_definition(name: str, function: Callable[..., Any]) -> dict[str, Json]:
    """The definition of a Python function; a parameter whose annotation says nothing has the schema ``{}``."""
    text = inspect.getdoc(function) or ""
    told = _told_parameters(text)
    parameters = inspect.signature(function).parameters
    named = list(parameters.values())[1 if next(iter(parameters), "") in ("self", "cls") else 0 :]
    hints = _hints(function)
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for parameter in named:
        if parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            continue
        schema = _schema(hints.get(parameter.name, Any))
        definitions.update(schema.pop("$defs", {}))
        if parameter.name in told:
            schema["description"] = told[parameter.name]
        properties[parameter.name] = schema
    shape: dict[str, Any] = {"type": "object", "properties": properties}
    required = [p.name for p in named if p.name in properties and p.default is inspect.Parameter.empty]
    if required:
        shape["required"] = required
    if definitions:
        shape["$defs"] = definitions
    result = _schema(hints["return"]) if hints.get("return") is not None else None
    return definition_of(name, _SECTION.split(text)[0].split("\n:param")[0].strip(), shape, result)


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001  # an annotation that can't be evaluated says nothing
        return {}


def _schema(annotation: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter

    try:
        return dict(TypeAdapter(annotation).json_schema())
    except Exception:  # noqa: BLE001  # pydantic has no schema for the type
        return {}


def _told_parameters(text: str) -> dict[str, str]:
    """What a docstring says of each parameter, in Google's or Sphinx' form."""
    found = {match[1]: _one_line(match[2]) for match in _SPHINX.finditer(text)}
    parts = _SECTION.split(text)
    for title, body in zip(parts[1::2], parts[2::2], strict=False):
        if title in ("Args", "Arguments", "Parameters"):
            found |= {match[2]: _one_line(match[3]) for match in _GOOGLE.finditer(body)}
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())
