"""What the agent gives a tool: statements about single values in the arguments of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from evalkit.canonical import Json, same
from evalkit.check.grounding import ungrounded
from evalkit.check.model import Finding, Judge
from evalkit.check.params import flag, known_only, pointer, text
from evalkit.check.schema import schema_of
from evalkit.check.values import ABSENT, at_pointer, pattern_of
from evalkit.check.view import agent_calls, shown
from evalkit.errors import InputError
from evalkit.shapes import is_number
from evalkit.trace.model import Trace

__all__ = ["ARGUMENTS"]

_TYPE = "arguments"
_Rule: TypeAlias = Callable[[Any], bool]
_RULES = ("equals", "one_of", "min", "max", "matches", "schema", "grounded")


class Arguments:
    """In every call of ``name``, each value of ``where`` is as stated.

    ``where`` maps a JSON pointer (``/amount``) to one or more of: ``equals`` a value, ``one_of`` a list of values,
    ``min`` and ``max`` (numbers, both inclusive), ``matches`` an RE2 pattern anywhere in the text, ``schema`` a JSON
    Schema, and ``grounded`` (true): an identifier there was seen earlier in the run. A call that lacks the value fails,
    unless ``optional`` is true. A run without such a call keeps the statement (`called` says that there is one).
    """

    name = _TYPE

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        where = params.get("where") or {}
        stated = [f"{pointer} {' and '.join(_words(rules))}" for pointer, rules in where.items()]
        return f"When the agent calls {params.get('name')}, {', '.join(stated)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compiles each rule once."""
        known_only(params, _TYPE, "name", "where", "optional")
        name = text(params, "name", _TYPE)
        optional = flag(params, "optional", _TYPE)
        where = params.get("where")
        if not isinstance(where, dict) or not where:
            raise InputError("where states nothing", f"check {_TYPE}", '"where": {"/amount": {"max": 100}}')
        rules = {pointer(at, "where", _TYPE): _compiled(at, stated) for at, stated in where.items()}
        grounded = frozenset(at for at, stated in where.items() if stated.get("grounded"))

        def judge(trace: Trace) -> Finding:
            wrong: list[tuple[int, str]] = []
            calls = [step for step in agent_calls(trace) if step.name == name]
            for step in calls:
                for at, each in rules.items():
                    value = at_pointer(step.input, at)
                    if value is ABSENT:
                        if not optional:
                            wrong.append((step.seq, f"{at} is missing"))
                        continue
                    wrong += [
                        (step.seq, f"{at} is {shown(value)}, wanted {words}") for words, rule in each if not rule(value)
                    ]
            if grounded:
                wrong += [
                    (step.seq, f"{at} is {shown(value)}, which nothing before it held")
                    for step, at, value in ungrounded(trace, frozenset({name}))
                    if any(at == one or at.startswith(f"{one}/") for one in grounded)
                ]
            if not wrong:
                said = "the one call is as stated" if len(calls) == 1 else f"all {len(calls)} calls are as stated"
                return Finding(True, said, tuple(step.seq for step in calls))
            said = "; ".join(reason for _, reason in wrong[:3])
            return Finding(False, f"{name}: {said}", tuple(dict.fromkeys(seq for seq, _ in wrong)))

        return judge


def _compiled(at: str, stated: Any) -> list[tuple[str, _Rule]]:
    if not isinstance(stated, dict) or not stated or set(stated) - set(_RULES):
        raise InputError(f"{at}: {stated!r} states nothing known", f"check {_TYPE}", f"use: {', '.join(_RULES)}")
    found = []
    for words, (rule, wanted) in zip(_words(stated), stated.items(), strict=True):
        if rule != "grounded":
            found.append((words, _rule(rule, wanted, at)))
        elif wanted is not True:
            raise InputError(f"{at}: grounded is {wanted!r}", f"check {_TYPE}", "write true, or leave it out")
    if stated.get("min", 0) > stated.get("max", stated.get("min", 0)):
        raise InputError(f"{at}: min is above max", f"check {_TYPE}", "correct one of them")
    return found


def _rule(rule: str, wanted: Any, at: str) -> _Rule:
    if rule == "equals":
        return lambda value: _same(wanted, value)
    if rule == "one_of":
        if not isinstance(wanted, list) or not wanted:
            raise InputError(f"{at}: one_of is {wanted!r}", f"check {_TYPE}", "write a list of values")
        return lambda value: any(_same(one, value) for one in wanted)
    if rule in ("min", "max"):
        if isinstance(wanted, bool) or not isinstance(wanted, int | float):
            raise InputError(f"{at}: {rule} is {wanted!r}", f"check {_TYPE}", "write a number")
        return (
            (lambda value: is_number(value) and value >= wanted)
            if rule == "min"
            else (lambda value: is_number(value) and value <= wanted)
        )
    if rule == "matches":
        pattern = pattern_of(wanted, f"check {_TYPE}: {at}")
        return lambda value: isinstance(value, str) and pattern.search(value) is not None
    validate = schema_of(wanted, f"check {_TYPE}: {at}")
    return lambda value: not validate(value)


def _words(stated: Mapping[str, Any]) -> list[str]:
    told = {
        "equals": "is {}", "one_of": "is one of {}", "min": "is at least {}", "max": "is at most {}",
        "matches": "matches {}", "schema": "has the form {}", "grounded": "was seen before",
    }  # fmt: skip
    return [told.get(rule, rule).format(shown(wanted)) for rule, wanted in stated.items()]


def _same(left: Json, right: Json) -> bool:
    try:
        return same(left, right)
    except InputError:  # what is no JSON equals nothing
        return False


ARGUMENTS = Arguments()
