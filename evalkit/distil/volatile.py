"""Arguments that are new in every run, learnt from several runs of one task: request ids, idempotency keys, times.

Two runs made the same call when all its arguments agree but for values that look like ids or times. Where such a value
stood in nothing that its run was given, the agent drew it, and the next run will draw another. What a tool handed out
is no such thing: a replay hands out the recorded one. It is a guess from few runs: a person sees it in the review.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from typing import Any

from evalkit.canonical import Json, canonical
from evalkit.check.model import Check
from evalkit.errors import InputError
from evalkit.trace.flow import leaves
from evalkit.trace.model import Step, Trace
from evalkit.trace.paths import pattern_of

__all__ = ["Volatile", "ignoring", "looks_drawn", "volatile_paths"]

_KINDS = ("tool", "retrieval", "policy", "approval")
_MOST_PAIRS = 2_000
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9]+")
_FIRST_SECOND, _LAST_SECOND = 1_000_000_000, 4_000_000_000  # 2001 to 2096
_LONG = 8
_LONG_NUMBER = 10


@dataclass(frozen=True, slots=True)
class Volatile:
    """One argument that a run draws anew.

    Attributes:
        name: the capability.
        path: see `trace.paths`.
        example: two runs' values.
    """

    name: str
    path: str
    example: tuple[Json, Json]

    def sentence(self) -> str:
        """What was seen, in words."""
        one, other = (repr(value)[:50] for value in self.example)
        return f"{self.path} of {self.name} is drawn anew in every run: {one} and {other}, all else the same"


def volatile_paths(runs: Sequence[Trace]) -> list[Volatile]:
    """The arguments that differ between the same calls of some runs of one task; none for a single run."""
    if len(runs) < 2:
        return []
    found: dict[tuple[str, str], Volatile] = {}
    for one, other in combinations([_drawing_calls(run) for run in runs], 2):
        for name in one.keys() & other.keys():
            for path, example in _drawn_in_both(one[name], other[name]):
                found.setdefault((name, path), Volatile(name, path, example))
    return [found[key] for key in sorted(found)]


def ignoring(checks: Sequence[Check], volatile: Mapping[str, Sequence[str]]) -> list[Check]:
    """The checks, those on effects told which arguments say nothing."""
    return [replace(check, params=_told(check.type, check.params, volatile)) for check in checks]


def looks_drawn(value: Json) -> bool:
    """Whether a value looks like an id or a time that a program makes: no word, no amount, no plain date."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if not isinstance(value, str):
        is_time = any(_FIRST_SECOND <= value / unit <= _LAST_SECOND for unit in (1, 1_000, 1_000_000))
        return is_time or (isinstance(value, int) and abs(value) >= 10**_LONG_NUMBER)
    if _UUID.fullmatch(value) or _TIME.fullmatch(value):
        return True
    if " " in value.strip() or len(value) > 200:
        return False
    return any(_is_random(token) for token in _TOKEN.findall(value))


def _is_random(token: str) -> bool:
    """Whether a part of an id is long, and mixes letters with digits or is all digits."""
    digits = sum(character.isdigit() for character in token)
    if digits == len(token):
        return digits >= _LONG_NUMBER
    return len(token) >= _LONG and digits >= 2


def _drawing_calls(run: Trace) -> dict[str, list[tuple[Step, set[str]]]]:
    """The calls with values that the run drew itself, by capability, with where these stand."""
    found: dict[str, list[tuple[Step, set[str]]]] = defaultdict(list)
    seen = _texts(run.input)
    for step in run.steps:
        if step.kind in _KINDS and _is_json(step.input):
            drawn = {at for at, value in leaves(step.input) if looks_drawn(value) and str(value) not in seen}
            if drawn:
                found[step.name].append((step, drawn))
        if step.kind == "model":
            seen |= _texts(_given(step.input))
        else:
            seen |= _texts(step.output)
    return found


def _drawn_in_both(
    left: Sequence[tuple[Step, set[str]]], right: Sequence[tuple[Step, set[str]]]
) -> Iterator[tuple[str, tuple[Json, Json]]]:
    """The paths at which calls of one tool in two runs differ, where that is all they differ in; with an example."""
    for (mine, drawn), (theirs, drawn_there) in islice(product(left, right), _MOST_PAIRS):
        differing = _differing(mine.input, theirs.input, "")
        if all(at in drawn and at in drawn_there for at in differing):
            for at, example in differing.items():
                yield pattern_of(mine.input, at), example


def _texts(value: Json) -> set[str]:
    """Every leaf as text, and the words in texts: where an id may stand."""
    found: set[str] = set()
    for _, leaf in leaves(value):
        text = str(leaf)
        found.add(text)
        found.update(word.strip(".,;:!?'\"()[]{}<>") for word in text.split())
    return found


def _given(given: Json) -> Json:
    """What a model was told by its developer and the user: what it said itself it may have drawn."""
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list):
        return None
    return [each for each in messages if isinstance(each, dict) and each.get("role") in ("system", "developer", "user")]


def _differing(left: Json, right: Json, at: str) -> dict[str, tuple[Json, Json]]:
    """Where two values of one shape differ; a difference of shape stands at its place and looks like no id."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        parts: Iterator[tuple[Any, Json, Json]] = ((key, left[key], right[key]) for key in left)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        parts = ((number, one, other) for number, (one, other) in enumerate(zip(left, right, strict=True)))
    else:
        return {} if canonical(left) == canonical(right) else {at: (left, right)}
    return {path: pair for key, one, other in parts for path, pair in _differing(one, other, f"{at}/{key}").items()}


def _told(kind: str, params: Mapping[str, Any], volatile: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    told = dict(params)
    if kind == "effects_equal":
        lists = [params.get("effects") or [], *(params.get("or") or [])]
        names = {effect.get("name") for effects in lists for effect in effects}
        told.pop("volatile", None)
        if mine := {name: list(paths) for name, paths in sorted(volatile.items()) if name in names}:
            told["volatile"] = mine
    elif kind == "all_of":
        parts = params.get("checks") or []
        told["checks"] = [{**part, "params": _told(part["type"], part.get("params") or {}, volatile)} for part in parts]
    return told


def _is_json(value: Json) -> bool:
    try:
        canonical(value)
    except InputError:
        return False
    return True
