"""Reading a check's parameters: each getter gives one typed value or says what was wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.errors import InputError
from evalkit.shapes import is_whole

__all__ = ["flag", "known_only", "number", "object_of", "pointer", "text", "texts"]


def known_only(params: Mapping[str, Any], type_name: str, *names: str) -> None:
    """Refuses a parameter that the check type does not have: a misspelt one would silently weaken the check.

    Raises:
        InputError: there is an unknown parameter.
    """
    unknown = sorted(set(params) - set(names))
    if unknown:
        known = ", ".join(names) or "none"
        raise InputError(f"unknown parameter: {', '.join(unknown)}", f"check {type_name}", f"use: {known}")


def text(params: Mapping[str, Any], name: str, type_name: str) -> str:
    """A string that must be there and must not be empty.

    Raises:
        InputError: it is missing, empty or no string.
    """
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} is {value!r}, a text is wanted", f"check {type_name}", f'write "{name}": "..."')
    return value


def texts(params: Mapping[str, Any], name: str, type_name: str) -> tuple[str, ...]:
    """A list of strings; empty when it is not there.

    Raises:
        InputError: it is no list of strings.
    """
    value = params.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name} is {value!r}, a list of texts is wanted", f"check {type_name}", f'"{name}": ["..."]')
    return tuple(value)


def number(params: Mapping[str, Any], name: str, type_name: str, default: int | None = None) -> int | None:
    """A count of zero or more; `default` when it is not there.

    Raises:
        InputError: it is no whole number, or below zero.
    """
    value: object = params.get(name, default)
    if value is None:
        return None
    if is_whole(value) and value >= 0:
        return value
    raise InputError(f"{name} is {value!r}, a whole number is wanted", f"check {type_name}", f'write "{name}": 3')


def flag(params: Mapping[str, Any], name: str, type_name: str, default: bool = False) -> bool:
    """True or false; `default` when it is not there.

    Raises:
        InputError: it is neither: ``"false"`` would be taken for true.
    """
    value = params.get(name, default)
    if not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}", f"check {type_name}", "write true or false")
    return value


def pointer(value: Any, name: str, type_name: str) -> str:
    """A JSON pointer (RFC 6901); the empty one is the whole value.

    Raises:
        InputError: it is none: without its slash it would point at the whole value.
    """
    if not isinstance(value, str) or (value and not value.startswith("/")):
        raise InputError(f"{name} is {value!r}, no JSON pointer", f"check {type_name}", f'"{name}": "/total"')
    return value


def object_of(params: Mapping[str, Any], name: str, type_name: str) -> dict[str, Any]:
    """A JSON object; empty when it is not there.

    Raises:
        InputError: it is no object.
    """
    value = params.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name} is {value!r}, an object is wanted", f"check {type_name}", f'write "{name}": {{}}')
    return value
