"""The JSON Schema of ``verdicts.json``, made from the dataclasses that are written, and their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from evalkit.report.data import SCHEMA
from evalkit.verdict.model import BaselineRow, CaseVerdict, Decision, ManyRuns

__all__ = ["verdicts_schema"]

_ADDED = {
    "n": {"type": "integer", "minimum": 0, "description": "samples that enter the rate"},
    "rate": {
        "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}],
        "description": "share of them that passed; null without any",
    },
}
_NAMES = re.compile(r"([a-z_, `]+): (.*)")


def verdicts_schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Keys are only ever added to the file, so that readers must allow others."""
    case, definitions = _schema_of(CaseVerdict)
    decision, more = _schema_of(Decision)
    case["properties"] |= _ADDED
    case["required"] = sorted(case["properties"])
    decision["required"] = sorted(decision["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "verdicts-1.json",
        "title": "evalkit verdicts",
        "description": "What a run came to: the release decision, and a verdict a case.",
        "type": "object",
        "required": ["schema", "decision", "notices", "cases"],
        "properties": {
            "schema": {"const": SCHEMA},
            "decision": decision,
            "notices": {
                "type": "array",
                "items": {"type": "string"},
                "description": "what a reader of the numbers should know, a sentence each",
            },
            "cases": {"type": "array", "items": case, "description": "in the order of the run"},
        },
        "$defs": {**definitions, **more},
    }


def _schema_of(kind: type) -> tuple[dict[str, Any], dict[str, Any]]:
    schema = TypeAdapter(kind).json_schema()
    definitions: dict[str, Any] = schema.pop("$defs", {})
    for name, one in ((kind.__name__, schema), *definitions.items()):
        _describe(one, next(each for each in (CaseVerdict, Decision, BaselineRow, ManyRuns) if each.__name__ == name))
    return schema, definitions


def _describe(schema: dict[str, Any], kind: type) -> None:
    """Gives each property what the class' docstring says of it."""
    for name, text in _attributes(kind):
        schema["properties"][name]["description"] = text
    schema["description"] = (inspect.getdoc(kind) or "").partition("\n")[0]
    for each in schema["properties"].values():
        each.pop("title", None)
        each.pop("default", None)


def _attributes(kind: type) -> Iterator[tuple[str, str]]:
    _, _, part = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    entries = re.split(r"\n    (?! )", f"\n{part}")
    for entry in entries:
        found = _NAMES.fullmatch(" ".join(entry.split()))
        for name in found[1].split(",") if found else ():
            if name.strip() in kind.__dataclass_fields__:  # type: ignore[attr-defined]  # all of them are dataclasses
                yield name.strip(), str(found[2]) if found else ""
