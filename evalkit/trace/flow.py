"""Value flow: which earlier step each value of a step came from.

A value is found where it stood before as a whole (a JSON leaf) or inside a text, through JSON that is written in
strings. Values that could have come from anywhere (booleans, null, numbers of one digit, single letters) are not
followed. The index holds each text once as its words, so that the work grows with the size of the trace.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from evalkit.canonical import Json
from evalkit.trace.model import Step, Trace

__all__ = ["OUTPUT", "Flow", "Source", "answer_step", "flow", "leaves"]

OUTPUT = -1
"""Stands for the trace's final output where a step's number is asked for."""

_TOKEN = re.compile(r"[a-z0-9](?:[a-z0-9_@#+.:/-]*[a-z0-9])?")
_TELLING = re.compile(r"[0-9@_]")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3})")
_MAX_WHOLE = 200
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Source:
    """Where one value came from.

    Attributes:
        pointer: JSON pointer of the value in the step that used it.
        value: the value.
        seq: the earlier step that it came from.
    """

    pointer: str
    value: Json
    seq: int


@dataclass(slots=True)
class _Seen:
    """Where a token has stood: first and last outside of models, first in a model's answer."""

    first: int | None = None
    last: int | None = None
    invented: int | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """The value flow of one trace, see `flow`."""

    by_step: dict[int, tuple[Source, ...]] = field(default_factory=dict)

    def sources(self, seq: int) -> list[tuple[str, Json, int]]:
        """The values of step `seq` (or `OUTPUT`) that stood in earlier steps: pointer, value, source step."""
        return [(found.pointer, found.value, found.seq) for found in self.by_step.get(seq, ())]

    def steps_before(self, seq: int) -> set[int]:
        """The steps that step `seq` (or `OUTPUT`) used a value of."""
        return {found.seq for found in self.by_step.get(seq, ())}


def flow(trace: Trace) -> Flow:
    """Which earlier steps the values of each step, and of the final output, came from.

    A step uses its input, a model step in its answer what it was told. A value's source is where it first stood and
    where it last stood before its use; a model is named as the source only of what no tool, user or other step had
    said before it.
    """
    seen: dict[str, _Seen] = defaultdict(_Seen)
    found: dict[int, tuple[Source, ...]] = {}
    for step in trace.steps:
        found[step.seq] = tuple(_sources(_used(step), seen, step.seq))
        _record(step, seen)
    found[OUTPUT] = tuple(_sources(trace.output, seen, OUTPUT))
    return Flow(found)


def leaves(value: Json, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Every leaf of a JSON value with its pointer; a string that holds a JSON object or list is looked into.

    What lies deeper than 64 levels is left out.
    """
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{pointer}/{key}", depth + 1)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, f"{pointer}/{at}", depth + 1)
    elif isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]"):
        inner = _read(value)
        if inner is None:
            yield pointer, value
        else:
            yield from leaves(inner, pointer, depth + 1)
    else:
        yield pointer, value


def answer_step(trace: Trace) -> tuple[int, ...]:
    """The step that gave the final answer: the last model answer without tool calls, else the last step, if any."""
    for step in reversed(trace.steps):
        calls = step.output.get("tool_calls") if isinstance(step.output, dict) else None
        if step.kind == "model" and not calls:
            return (step.seq,)
    return (trace.steps[-1].seq,) if trace.steps else ()


def _used(step: Step) -> Json:
    return _told(step.output) if step.kind == "model" else step.input


def _told(value: Json) -> Json:
    """A Message without its form: roles, ids and names of tools would tie every message to every other."""
    if not isinstance(value, dict) or "role" not in value:
        return value
    calls = value.get("tool_calls")
    given: list[Json] = [
        {"arguments": call.get("arguments")}
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]
    return {"content": value.get("content"), "tool_calls": given}


def _record(step: Step, seen: dict[str, _Seen]) -> None:
    error = step.error.message if step.error else None
    for token in _tokens([_told(step.output), error]):
        entry = seen[token]
        if step.kind == "model":
            if entry.invented is None:
                entry.invented = step.seq
        else:
            entry.first = step.seq if entry.first is None else entry.first
            entry.last = step.seq


def _sources(value: Json, seen: dict[str, _Seen], user: int) -> Iterator[Source]:
    done: set[tuple[str, int]] = set()
    for pointer, leaf in leaves(value):
        for token in _keys(leaf):
            entry = seen.get(token)
            if entry is None:
                continue
            for seq in (entry.first, entry.last) if entry.first is not None else (entry.invented,):
                if seq is not None and seq != user and (token, seq) not in done:
                    done.add((token, seq))
                    yield Source(pointer, leaf, seq)


def _tokens(value: Json) -> Iterator[str]:
    for _, leaf in leaves(value):
        yield from _keys(leaf)


def _keys(leaf: Json) -> Iterator[str]:
    """What a leaf is found by: itself, and in a text the words that are telling."""
    if leaf is None or isinstance(leaf, bool):
        return
    text = str(leaf).strip().lower()
    if isinstance(leaf, int | float):
        if len(text) > 1:
            yield _number(text)
        return
    if 1 < len(text) <= _MAX_WHOLE:
        yield text
    words = _TOKEN.findall(_THOUSANDS.sub("", text))
    if words != [text]:
        yield from (_number(word) for word in words if len(word) > 1 and _TELLING.search(word))


def _number(word: str) -> str:
    return word.removesuffix(".00").removesuffix(".0")


def _read(text: str) -> Json:
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found
