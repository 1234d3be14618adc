"""The recorded answers of a case, by what they answer; built once a case, shared by all its replays.

What a recording does not tell is not compared: an imported model call may lack the model's name, the tools or the
sampling parameters, an imported retrieval all but its query. Such a call is found by what is known of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from evalkit.canonical import Json
from evalkit.capture.seam import Answer, Call
from evalkit.playback.keys import (
    Key,
    call_key,
    leaf_differences,
    matched_arguments,
    query_of,
    requested_model,
    unknown_parts,
)
from evalkit.playback.model import Difference
from evalkit.trace.model import Kind, Step

__all__ = ["ANSWERED_AGAIN", "FixtureIndex", "Queue", "Spelling", "is_unanswered"]

ANSWERED_AGAIN = "answered_again"
"""The attribute of a step that got the last recorded answer once more: it was made more often than recorded."""

_PLAIN_ONLY = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


@dataclass(slots=True, eq=False)
class Queue:
    """The recorded answers of one key, in their order. They are shared by all replays: nobody changes them."""

    steps: list[Step] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    _again: dict[int, Answer] = field(default_factory=dict)

    def add(self, step: Step) -> None:
        """Adds the answer of a recorded call."""
        effect, source = step.effect, step.effect_source
        answer = Answer(
            step.output, step.error, step.usage, step.model, True, step.ended_at, step.attributes,
            configured=effect if source == "configured" else None, wrote=source == "declared" and effect == "write",
        )  # fmt: skip
        answer.kept = True
        self.steps.append(step)
        self.answers.append(answer)

    def once_more(self, at: int) -> Answer:
        """The answer of a place, or the last, for a call that is made more often than it was recorded; says so."""
        at = min(at, len(self.answers) - 1)
        if at not in self._again:
            answer = self.answers[at]
            again = replace(answer, attributes={**answer.attributes, ANSWERED_AGAIN: True})
            again.kept = True
            self._again[at] = again
        return self._again[at]


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """A call as it is written, to the letter, and the answers that it gets.

    Attributes:
        has_null: whether ``null`` stands in it, which is how NaN is written, too.
    """

    queue: Queue
    has_null: bool


class FixtureIndex:
    """The recorded answers of a case.

    Args:
        steps: the case's steps; only dependencies are used.
        kinds: which kinds of call are answered from fixtures.
        volatile: per capability the argument paths that matching leaves out.
        own: whether evalkit recorded the steps: retrievers have the names and arguments that the code gives them.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        kinds: frozenset[Kind],
        volatile: Mapping[str, tuple[str, ...]] | None = None,
        *,
        own: bool = False,
    ) -> None:
        self._own = own
        self.kinds = kinds
        self.volatile = dict(volatile or {})
        self.recorded: list[Step] = []
        self.keys: list[Key] = []
        self.queues: dict[Key, Queue] = {}
        self._retrievers: set[str] = set()
        self._by_query: dict[tuple[str, Key], Queue] = {}
        self._shapes: set[frozenset[str]] = set()
        self._by_text: dict[tuple[str, str, str | None, bytes], Spelling] = {}
        for step in steps:
            if step.kind in kinds and not is_unanswered(step):
                self._record(step)
        self._shapes.discard(frozenset())

    def _record(self, step: Step) -> None:
        kind, name, model = step.kind, step.name, requested_model(step)
        key = self.key(kind, name, step.input, model)
        self.recorded.append(step)
        self.keys.append(key)
        queue = self.queues.get(key)
        if queue is None:
            queue = self.queues[key] = Queue()
        queue.add(step)
        self._spelled(kind, name, model, step.input, queue)
        if kind == "retrieval":
            self._retrievers.add(name)
            if (query := query_of(step.input)) is not None:
                self._by_query.setdefault((name, query), queue)
        elif kind == "model":
            self._shapes.add(unknown_parts(step))

    def key(self, kind: str, name: str, arguments: Json, model: str | None) -> Key:
        """The key under which a call is looked up.

        Raises:
            InputError: the arguments are no JSON.
        """
        return call_key(kind, name, arguments, self.volatile.get(name, ()) if self.volatile else (), model)

    def by_text(self, call: Call) -> Queue | None:
        """The queue of a call that is written as one that was found before, to the letter; None where none was.

        The call is known by that from then on (`Call.known`).
        """
        try:
            text = orjson.dumps(call.arguments, option=_PLAIN_ONLY)
        except TypeError:
            return None
        spelling = self._by_text.get((call.kind, call.name, call.model, text))
        if spelling is None or (spelling.has_null and _has_nan(call.arguments)):
            return None
        call.known = spelling
        return spelling.queue

    def remember(self, call: Call, queue: Queue) -> None:
        """Notes how a call is written, for `by_text`. Only spellings of recorded calls are, so that they stay few."""
        call.known = self._spelled(call.kind, call.name, call.model, call.arguments, queue)

    def _spelled(self, kind: str, name: str, model: str | None, arguments: Json, queue: Queue) -> Spelling | None:
        """What a call is found by that is written like this; None where its text doesn't tell what it is."""
        if name in self.volatile:
            return None
        try:
            text = orjson.dumps(arguments, option=_PLAIN_ONLY)
        except TypeError:
            return None
        has_null = b"null" in text
        if has_null and _has_nan(arguments):
            return None
        return self._by_text.setdefault((kind, name, model, text), Spelling(queue, has_null))

    def by_what_is_known(self, call: Call) -> Queue | None:
        """The queue of a recorded call of which less is known than the agent asks, and all that is known agrees."""
        if call.kind == "retrieval":
            return self._by_its_query(call)
        if call.kind == "model" and isinstance(call.arguments, dict):
            for shape in self._shapes:
                known = {key: value for key, value in call.arguments.items() if key not in shape}
                queue = self.queues.get(self.key("model", call.name, known, None if "model" in shape else call.model))
                if queue is not None and unknown_parts(queue.steps[0]) == shape:
                    return queue
        return None

    def _by_its_query(self, call: Call) -> Queue | None:
        """By the query: of a recording that tells no more, or of whatever retriever where the case lacks this one."""
        query = query_of(call.arguments)
        if query is None or self._own:
            return None
        if call.name in self._retrievers:
            queue = self._by_query.get((call.name, query))
            return queue if queue is not None and _tells_the_query_only(queue.steps[0]) else None
        return next((queue for (_, known), queue in self._by_query.items() if known == query), None)

    def nearest(self, call: Call) -> tuple[int | None, tuple[Difference, ...]]:
        """The recorded call of the same capability with the fewest differing paths, and those."""
        best: tuple[int | None, tuple[Difference, ...]] = (None, ())
        for step in self.recorded:
            if step.kind == call.kind and step.name == call.name:
                found = self.differences(step, call)
                if best[0] is None or len(found) < len(best[1]):
                    best = (step.seq, found)
        return best

    def differences(self, step: Step, call: Call) -> tuple[Difference, ...]:
        """The paths at which a call differs from a recorded one, as far as that is known."""
        volatile, unknown = self.volatile.get(call.name, ()), unknown_parts(step)
        arguments: Any = call.arguments
        if unknown and isinstance(arguments, dict):
            arguments = {key: value for key, value in arguments.items() if key not in unknown}
        model = None if "model" in unknown else call.model
        recorded = matched_arguments(step.kind, step.input, volatile, requested_model(step))
        return leaf_differences(recorded, matched_arguments(call.kind, arguments, volatile, model))


def is_unanswered(step: Step) -> bool:
    """Whether nobody knows what came back: such a call is a miss, and never answered by nothing."""
    missing = step.attributes.get("missing")
    unknown = isinstance(missing, list) and "output" in missing
    return bool(step.attributes.get("unfinished")) or (unknown and step.error is None)


def _has_nan(value: Json) -> bool:
    """Whether there is a number in it that is none, which is written ``null`` as nothing is."""
    level: list[Any] = [value]
    while level:
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                inner += item.values()
            elif kind is list:
                inner += item
            elif kind is float and not math.isfinite(item):
                return True
        level = inner
    return False


def _tells_the_query_only(step: Step) -> bool:
    return not isinstance(step.input, dict) or step.input.keys() <= {"query"}
