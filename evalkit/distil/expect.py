"""Checks from what a person says should have happened.

The expectation is a JSON object in one of two forms. With at least one of the reserved keys it is a statement::

    {"effects":    [{"name": "refund_order", "arguments": {"order_id": "A1"}}],   exactly these writes
     "called":     ["lookup_order", {"name": "...", "arguments": {...}}],         each is called
     "not_called": ["refund_order"],                                             none is called
     "output":     {"severity": "P0"},                                           fields of the final answer
     "checks":     [{"type": "step_limit", "params": {"max_steps": 20}}]}        any check as stored in a case

and may have no other keys. Every other object is the expected final answer, as if under ``output``. Text is looked for
in the final answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.canonical import Json
from evalkit.check.model import Check, check_from_json
from evalkit.errors import InputError

__all__ = ["expected_checks"]

_RESERVED = frozenset({"effects", "called", "not_called", "output", "checks"})
_RULE = "expect"


def expected_checks(expect: Json) -> list[Check]:
    """The checks that an expectation states.

    Raises:
        InputError: it has none of the forms above.
    """
    if isinstance(expect, str) and expect:
        return [_check("output_contains", {"text": expect})]
    if not isinstance(expect, dict) or not expect:
        raise InputError("the expectation is neither an object nor a text", "expect", 'write {"output": {...}}')
    if not _RESERVED & expect.keys():
        return [_check("output_fields", {"fields": expect})]
    strange = sorted(expect.keys() - _RESERVED)
    if strange:
        cure = 'put the fields of the final answer under "output"'
        raise InputError(f"{', '.join(strange)} stands beside the reserved keys", "expect", cure)
    found = [_check("effects_equal", {"effects": expect["effects"]})] if "effects" in expect else []
    found += [_check("called", _call(one)) for one in _list(expect, "called")]
    found += [_check("not_called", _call(one)) for one in _list(expect, "not_called")]
    if "output" in expect:
        found += _output(expect["output"])
    return found + [check_from_json(body, "expect: checks") for body in _list(expect, "checks")]


def _output(value: Json) -> list[Check]:
    if isinstance(value, str) and value:
        return [_check("output_contains", {"text": value})]
    if isinstance(value, dict) and value:
        return [_check("output_fields", {"fields": value})]
    raise InputError("output is neither an object nor a text", "expect", 'write "output": {"field": "value"}')


def _list(expect: Mapping[str, Json], key: str) -> list[Json]:
    found = expect.get(key, [])
    if not isinstance(found, list):
        raise InputError(f"{key} is no list", "expect", f'write "{key}": [...]')
    return found


def _call(value: Json) -> dict[str, Json]:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict):
        return value
    raise InputError(f"{value!r} is no call", "expect", 'write a tool\'s name or {"name": "...", "arguments": {...}}')


def _check(type_name: str, params: dict[str, Json]) -> Check:
    return Check(type_name, params, rule=_RULE)
