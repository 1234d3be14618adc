"""How a recorded answer and one of today differ: in their shape, which breaks agents, and in their values."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from evalkit.canonical import Json

__all__ = ["Drift", "drift_of"]

_NAMED = 10


@dataclass(frozen=True, slots=True)
class Drift:
    """Where two answers differ, in words, at most some of each.

    Attributes:
        shape: keys that came or went, other types.
        values: other values of the same type, other numbers of list items.
    """

    shape: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def drift_of(then: Json, now: Json, place: str, hidden: Collection[str] = ()) -> Drift:
    """What differs.

    Args:
        place: how the sanitizer's record names the answer, such as ``tool lookup.output``.
        hidden: the places whose values are pseudonyms: there only types are compared.
    """
    shape: list[str] = []
    values: list[str] = []
    for is_shape, words in _differences(then, now, "", place, frozenset(hidden)):
        (shape if is_shape else values).append(words)
    return Drift(_first(shape), _first(values))


def _differences(then: Json, now: Json, path: str, place: str, hidden: frozenset[str]) -> Iterator[tuple[bool, str]]:
    """(whether it is one of shape, in words), from the outside in."""
    at = path or "/"
    if _kind(then) != _kind(now):
        yield True, f"{at}: {_kind(then)} then, {_kind(now)} now"
    elif isinstance(then, dict) and isinstance(now, dict):
        for key in then:
            if key in now:
                yield from _differences(then[key], now[key], f"{path}/{key}", f"{place}.{key}", hidden)
            else:
                yield True, f"{path}/{key}: gone"
        yield from ((True, f"{path}/{key}: new, {_kind(now[key])}") for key in now if key not in then)
    elif isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            yield False, f"{at}: {len(then)} items then, {len(now)} now"
        for number, (one, other) in enumerate(zip(then, now, strict=False)):
            yield from _differences(one, other, f"{path}/{number}", f"{place}.*", hidden)
    elif then != now and place not in hidden:
        yield False, f"{at}: {_short(then)} then, {_short(now)} now"


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "text", list: "list", dict: "object"}[type(value)]


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _first(words: list[str]) -> tuple[str, ...]:
    more = len(words) - _NAMED
    return (*words[:_NAMED], *([f"and {more} more"] if more > 0 else []))
