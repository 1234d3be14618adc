"""Value flow: which earlier step each value of a step came from.

A value is found where it stood before as a whole (a JSON leaf) or inside a text, through JSON that is written in
strings, under any of the spellings of `trace.values`. A value that is words (a name) is also found where all of its
words stood. The index holds each text once as its words, so that the work grows with the size of the trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import orjson

from evalkit.canonical import Json
from evalkit.trace.model import USER_MESSAGE, Step, Trace
from evalkit.trace.prefixes import Prefixes
from evalkit.trace.values import plain_words, value_keys

__all__ = ["OUTPUT", "Flow", "Origin", "Source", "answer_step", "flow", "leaves"]

OUTPUT = -1
"""Stands for the trace's final output where a step's number is asked for."""
Origin: TypeAlias = Literal["user", "tool", "retrieval", "prompt", "model", "other"]

_MAX_DEPTH = 64
_MAX_WORDS = 8


class Source(NamedTuple):
    """Where one value came from.

    Attributes:
        pointer: JSON pointer of the value in the step that used it.
        value: the value.
        seq: the earlier step that it came from.
        origin: who brought it: the user, a tool, a retrieval, the developer's prompt (`seq` is then the first model
            step that was given it), or a model that invented it.
    """

    pointer: str
    value: Json
    seq: int
    origin: Origin = "other"


@dataclass(slots=True)
class _Seen:
    """Where a token has stood: first and last outside of models, first in a prompt, first in a model's answer."""

    first: int | None = None
    last: int | None = None
    prompted: int | None = None
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

    def nearest_before(self, seq: int) -> set[int]:
        """As `steps_before`, of each value only the step where it stood last before its use."""
        nearest: dict[str, int] = {}
        for found in self.by_step.get(seq, ()):
            nearest[found.pointer] = max(found.seq, nearest.get(found.pointer, found.seq))
        return set(nearest.values())


def flow(trace: Trace) -> Flow:
    """Which earlier steps the values of each step, and of the final output, came from.

    A step uses its input, a model step in its answer what it was told. A value's source is where it first stood and
    where it last stood before its use; a developer's prompt is named as the source only of what no tool, user or other
    step had said before, and a model only of what nobody had. A step that holds other steps repeats their values, and
    is no source.
    """
    index = _Index({step.parent for step in trace.steps if step.parent is not None})
    found: dict[int, tuple[Source, ...]] = {}
    for step in trace.steps:
        if step.kind == "model":
            index.prompted(step)
        found[step.seq] = tuple(index.sources(_used(step), step.seq))
        index.add(step)
    found[OUTPUT] = tuple(index.sources(trace.output, OUTPUT))
    return Flow(found)


def leaves(value: Json) -> list[tuple[str, Json]]:
    """Every leaf of a JSON value with its pointer; a string that holds a JSON object or list is looked into.

    What lies deeper than 64 levels is left out.
    """
    found: list[tuple[str, Json]] = []
    _gather(value, "", 0, found)
    return found


def _gather(value: Json, pointer: str, depth: int, found: list[tuple[str, Json]]) -> None:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, str):
        inner = _read(value) if value[:1] in ("{", "[") and value[-1:] in ("}", "]") else None
        if inner is None:
            found.append((pointer, value))
        else:
            _gather(inner, pointer, depth + 1, found)
    elif isinstance(value, dict):
        for key, item in value.items():
            _gather(item, f"{pointer}/{key}", depth + 1, found)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            _gather(item, f"{pointer}/{at}", depth + 1, found)
    else:
        found.append((pointer, value))


def answer_step(trace: Trace) -> tuple[int, ...]:
    """The step that gave the final answer: the last model answer without tool calls, else the last step, if any."""
    for step in reversed(trace.steps):
        calls = step.output.get("tool_calls") if isinstance(step.output, dict) else None
        if step.kind == "model" and not calls:
            return (step.seq,)
    return (trace.steps[-1].seq,) if trace.steps else ()


class _Index:
    """Where each token has stood so far."""

    def __init__(self, holders: set[int]) -> None:
        self._holders = holders
        self._seen: defaultdict[str, _Seen] = defaultdict(_Seen)
        self._words: defaultdict[str, list[int]] = defaultdict(list)
        self._origin: dict[int, Origin] = {}
        self._prompts: set[str] = set()
        self._keys: dict[str, tuple[str, ...]] = {}
        self._lists: Prefixes[bool] = Prefixes()

    def add(self, step: Step) -> None:
        """What a step said or answered."""
        self._origin[step.seq] = _origin(step)
        if step.seq in self._holders and step.kind in ("agent", "other") and step.name != USER_MESSAGE:
            return
        message = step.error.message if step.error else None
        words: set[str] = set()
        for _, leaf in leaves([_told(step.output), message]):
            if isinstance(leaf, str) and step.kind != "model":
                words |= plain_words(leaf)
            for token in self._keys_of(leaf):
                entry = self._seen[token]
                if step.kind == "model":
                    entry.invented = step.seq if entry.invented is None else entry.invented
                else:
                    entry.first = step.seq if entry.first is None else entry.first
                    entry.last = step.seq
        for word in words:
            self._words[word].append(step.seq)

    def prompted(self, step: Step) -> None:
        """The developer's prompts of a model step; each text once."""
        given = step.input if isinstance(step.input, dict) else {}
        messages = given.get("messages")
        if not isinstance(messages, list):
            return
        count, _ = self._lists.of(messages)
        self._lists.keep(messages, True)
        for message in messages[count:]:
            if not isinstance(message, dict) or message.get("role") != "system":
                continue
            content = message.get("content")
            if isinstance(content, str) and content not in self._prompts:
                self._prompts.add(content)
                for token in value_keys(content):
                    entry = self._seen[token]
                    entry.prompted = step.seq if entry.prompted is None else entry.prompted

    def sources(self, value: Json, user: int) -> Iterator[Source]:
        """Where the leaves of a value stood."""
        for pointer, leaf in leaves(value):
            places = {seq: origin for token in self._keys_of(leaf) for seq, origin in self._places(token)}
            for seq in sorted(places):
                if seq != user:
                    yield Source(pointer, leaf, seq, places[seq])
            if not places and isinstance(leaf, str):
                spoken = self._spoken(leaf)
                if spoken is not None and spoken != user:
                    yield Source(pointer, leaf, spoken, self._origin[spoken])

    def _keys_of(self, leaf: Json) -> tuple[str, ...]:
        """The keys of a leaf; of a text, which is used as soon as it is said, worked out once."""
        if not isinstance(leaf, str):
            return tuple(value_keys(leaf))
        if leaf not in self._keys:
            self._keys[leaf] = tuple(value_keys(leaf))
        return self._keys[leaf]

    def _places(self, token: str) -> Iterator[tuple[int, Origin]]:
        entry = self._seen.get(token)
        if entry is None:
            return
        if entry.first is not None and entry.last is not None:
            for seq in dict.fromkeys((entry.first, entry.last)):
                yield seq, self._origin[seq]
        elif entry.prompted is not None:
            yield entry.prompted, "prompt"
        elif entry.invented is not None:
            yield entry.invented, "model"

    def _spoken(self, leaf: str) -> int | None:
        """The last step that held all the words of a value that is a few words, such as a name."""
        words = plain_words(leaf) if len(leaf) <= 20 * _MAX_WORDS else set()
        if not words or len(words) > _MAX_WORDS or not all(word in self._words for word in words):
            return None
        rarest, *others = sorted((self._words[word] for word in words), key=len)
        common = set(rarest).intersection(*others)
        return max(common, default=None)


def _origin(step: Step) -> Origin:
    if step.name == USER_MESSAGE:
        return "user"
    return step.kind if step.kind in ("tool", "retrieval", "model") else "other"


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


def _read(text: str) -> Json:
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found
