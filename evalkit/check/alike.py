"""Whether two argument values mean the same, where their texts differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json, same
from evalkit.check.view import agent_calls
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["Records", "alike", "is_free_text"]

_FREE_WORDS = 5
_LOOSE_RATIO = 50
_MAX_FIELDS = 100


class Records:
    """The records that a run's tools showed, found by one of their fields; built when first asked."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._index: dict[tuple[str, Any], list[frozenset[Any]]] | None = None

    def say(self, key: str, known: Json, value: Json) -> bool:
        """Whether a record whose field `key` is `known` also holds `value` somewhere in it."""
        if self._index is None:
            self._index = self._built()
        if not _is_scalar(known) or not _is_scalar(value):
            return False
        return any(value in leaves for leaves in self._index.get((key, known), ()))

    def _built(self) -> dict[tuple[str, Any], list[frozenset[Any]]]:
        index: dict[tuple[str, Any], list[frozenset[Any]]] = {}
        for step in agent_calls(self._trace):
            for record in _objects(step.output):
                leaves = frozenset(_leaves(record))
                if len(leaves) <= _MAX_FIELDS:
                    for key, value in record.items():
                        if _is_scalar(value):
                            index.setdefault((key, value), []).append(leaves)
        return index


def alike(expected: Json, actual: Json, records: Records, free_text: str, *, in_list: bool = False) -> bool:
    """Whether `actual` does the same as `expected` (see `effects`).

    Args:
        free_text: ``loose``, ``exact`` or ``ignored``.
        in_list: whether this is an item of a list, where a field may repeat what a record says.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        common = expected.keys() & actual.keys()
        if not all(alike(expected[key], actual[key], records, free_text) for key in common):
            return False
        odd = [actual[key] for key in actual.keys() - common] + [expected[key] for key in expected.keys() - common]
        return not odd or (in_list and all(_repeats(value, expected, common, records) for value in odd))
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(
            alike(left, right, records, free_text, in_list=True) for left, right in zip(expected, actual, strict=True)
        )
    if free_text != "exact" and is_free_text(expected) and is_free_text(actual):
        return free_text == "ignored" or _similar(str(expected), str(actual))
    try:
        return same(expected, actual)
    except InputError:  # no JSON: not known to be the same
        return False


def is_free_text(value: object) -> bool:
    """Whether a value is prose, five words or more, rather than a name or a code."""
    return isinstance(value, str) and len(value.split()) >= _FREE_WORDS


def _repeats(value: Json, item: dict[str, Json], common: set[str], records: Records) -> bool:
    return any(records.say(key, item[key], value) for key in common)


def _similar(left: str, right: str) -> bool:
    from rapidfuzz import fuzz

    return fuzz.token_set_ratio(left.lower(), right.lower()) >= _LOOSE_RATIO


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)


def _leaves(value: Json) -> Iterator[Any]:
    waiting: list[Json] = [value]
    count = 0
    while waiting and count <= _MAX_FIELDS:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
        else:
            count += 1
            yield found


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
