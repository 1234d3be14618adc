"""Argument paths, ``/rows/*/id``: where in a value something stands; ``*`` is every key of an object or item of a list.

A case names the volatile ones of each tool: what stands there is new in every run and says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalkit.canonical import Json
from evalkit.trace.model import Trace

__all__ = ["pattern_of", "trace_without", "united", "values_at", "without"]


def values_at(value: Json, path: str) -> list[Json]:
    """The values at a path, in order."""
    found: list[Json] = [value]
    for part in _parts(path):
        inner: list[Json] = []
        for each in found:
            if isinstance(each, dict):
                inner += each.values() if part == "*" else [each[part]] if part in each else []
            elif isinstance(each, list):
                inner += each if part == "*" else [item for at, item in enumerate(each) if str(at) == part]
        found = inner
    return found


def without(value: Json, path: str) -> Json:
    """The value without what stands at a path; the value itself where nothing does."""
    return _without(value, _parts(path))


def pattern_of(value: Json, pointer: str) -> str:
    """The path of one place, with ``*`` for the numbers of items: what holds for one item holds for all."""
    parts: list[str] = []
    for part in _parts(pointer):
        if isinstance(value, list):
            parts.append("*")
            value = value[int(part)] if part.isdecimal() and int(part) < len(value) else None
        else:
            parts.append(part)
            value = value.get(part) if isinstance(value, dict) else None
    return "".join(f"/{part}" for part in parts)


def trace_without(trace: Trace, volatile: Mapping[str, Sequence[str]]) -> Trace:
    """The trace, its calls without their volatile arguments.

    Args:
        volatile: per capability the paths.
    """
    if not volatile or not any(step.name in volatile for step in trace.steps):
        return trace
    steps = []
    for step in trace.steps:
        given = step.input
        for path in volatile.get(step.name, ()):
            given = without(given, path)
        steps.append(step if given is step.input else replace(step, input=given))
    return replace(trace, steps=tuple(steps))


def united(one: Mapping[str, Sequence[str]], other: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """All paths of both, by tool."""
    return {name: tuple(dict.fromkeys((*one.get(name, ()), *other.get(name, ())))) for name in sorted({*one, *other})}


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _without(value: Json, parts: list[str]) -> Json:
    if not parts:
        return value
    head, rest = parts[0], parts[1:]
    if isinstance(value, dict) and (head in value or head == "*"):
        keys = list(value) if head == "*" else [head]
        return {
            key: _without(item, rest) if key in keys else item for key, item in value.items() if rest or key not in keys
        }
    if isinstance(value, list) and (head == "*" or head.isdecimal()):
        return [
            _without(item, rest) if head in ("*", str(at)) else item
            for at, item in enumerate(value)
            if rest or head not in ("*", str(at))
        ]
    return value
