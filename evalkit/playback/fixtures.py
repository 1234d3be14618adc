"""The frozen Answerer: recorded answers, found by capability and canonical arguments.

`FixtureIndex` is built once a case and never changes; `Frozen` is one replay's use of it. Rules (design: "Matching
fixtures"): several answers for one key are taken in order; when only the last is left it answers again (a read may be
asked twice; a repeated write is answered too, and the trace shows one more effect, which is what the checks look at).
Parallel calls may come in any order. In strict mode the recorded order must be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from evalkit.canonical import Json
from evalkit.capture.seam import Answer, Call
from evalkit.errors import EvalkitError
from evalkit.playback.keys import Key, call_key, leaf_differences, matched_arguments, requested_model
from evalkit.playback.model import Miss
from evalkit.trace.model import Kind, Step

__all__ = ["FixtureIndex", "Frozen", "Queue", "ReplayHalt"]

_PLAIN_ONLY = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


class ReplayHalt(BaseException):
    """Stops a replay from inside the agent's code.

    Not an `Exception`, so that neither an agent's ``except Exception`` nor a client's retry loop takes a missing
    fixture for an answer and goes on.
    """


@dataclass(slots=True, eq=False)
class Queue:
    """The recorded answers of one key, in their order. They are shared by all replays: nobody changes them."""

    steps: list[Step] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Adds the answer of a recorded call."""
        configured = step.effect if step.effect_source == "configured" else None
        self.steps.append(step)
        self.answers.append(
            Answer(
                step.output, step.error, step.usage, step.model, True, step.ended_at, step.attributes, None, configured
            )
        )


class FixtureIndex:
    """The recorded answers of a case.

    Args:
        steps: the case's steps; only dependencies are used.
        kinds: which kinds of call are answered from fixtures.
        volatile: per capability the argument paths that matching leaves out.
    """

    def __init__(
        self, steps: Iterable[Step], kinds: frozenset[Kind], volatile: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self.kinds = kinds
        self.volatile = dict(volatile or {})
        self.recorded: list[Step] = [step for step in steps if step.kind in kinds and not _unanswered(step)]
        self.keys: list[Key] = [
            self.key(step.kind, step.name, step.input, requested_model(step)) for step in self.recorded
        ]
        self.queues: dict[Key, Queue] = {}
        for key, step in zip(self.keys, self.recorded, strict=True):
            self.queues.setdefault(key, Queue()).add(step)
        self._by_text: dict[tuple[str, str, str | None, bytes], Queue] = {}

    def by_text(self, call: Call) -> Queue | None:
        """The queue of a call that was found before, by how its arguments are written; None where none is known."""
        try:
            text = orjson.dumps(call.arguments, option=_PLAIN_ONLY)
        except TypeError:
            return None
        return self._by_text.get((call.kind, call.name, call.model, text))

    def remember(self, call: Call, queue: Queue) -> None:
        """Notes the queue of a call for `by_text`. Only spellings of recorded calls are, so that they stay few."""
        if call.name in self.volatile:
            return
        try:
            text = orjson.dumps(call.arguments, option=_PLAIN_ONLY)
        except TypeError:
            return
        if b"null" not in text:  # which is how NaN is written, too
            self._by_text[call.kind, call.name, call.model, text] = queue

    def key(self, kind: str, name: str, arguments: Json, model: str | None) -> Key:
        """The key under which a call is looked up."""
        return call_key(kind, name, arguments, self.volatile.get(name, ()) if self.volatile else (), model)

    def nearest(self, call: Call) -> tuple[int | None, tuple[Any, ...]]:
        """The recorded call of the same capability with the fewest differing paths, and those."""
        volatile = self.volatile.get(call.name, ())
        wanted = matched_arguments(call.kind, call.arguments, volatile, call.model)
        best: tuple[int | None, tuple[Any, ...]] = (None, ())
        for step in self.recorded:
            if step.kind == call.kind and step.name == call.name:
                recorded = matched_arguments(step.kind, step.input, volatile, requested_model(step))
                found = leaf_differences(recorded, wanted)
                if best[0] is None or len(found) < len(best[1]):
                    best = (step.seq, found)
        return best


def _unanswered(step: Step) -> bool:
    """Whether nobody knows what came back: such a call is a miss, and never answered by nothing."""
    missing = step.attributes.get("missing")
    unknown = isinstance(missing, list) and "output" in missing
    return bool(step.attributes.get("unfinished")) or (unknown and step.error is None)


class Frozen:
    """Answers one replay's calls from a `FixtureIndex`.

    Args:
        strict: calls must come in the recorded order.
        on_answer: is told the logical time of each answer (the frozen clock moves there).
        sanitize: what arguments go through that no fixture has as they are.

    A call that no fixture answers is noted in `misses` and halts the replay.
    """

    def __init__(
        self,
        index: FixtureIndex,
        *,
        strict: bool = False,
        on_answer: Callable[[float], None] | None = None,
        sanitize: Callable[[Json], Json] | None = None,
    ) -> None:
        self._index = index
        self._strict = strict
        self._on_answer = on_answer
        self._sanitize = sanitize
        self._used: dict[Queue, int] = {}
        self._calls = 0
        self.misses: list[Miss] = []

    def answer(self, call: Call) -> Answer | None:
        """The recorded answer; None for a kind that is not frozen.

        Raises:
            ReplayHalt: there is none.
        """
        if call.kind not in self._index.kinds:
            return None
        self._calls += 1
        queue = None if self._strict else self._index.by_text(call)
        if queue is None:
            queue = self._found(call)
        used = self._used.get(queue, 0)
        self._used[queue] = used + 1
        answers = queue.answers
        answer = answers[used] if used < len(answers) else answers[-1]
        if self._on_answer is not None and answer.at is not None:
            self._on_answer(answer.at)
        return answer

    def spend(self, steps: Iterable[Step]) -> None:
        """Counts the answers of these recorded steps as given already: a replay that starts after them."""
        for step in steps:
            if step.kind in self._index.kinds and not _unanswered(step):
                queue = self._index.queues[self._index.key(step.kind, step.name, step.input, requested_model(step))]
                self._used[queue] = self._used.get(queue, 0) + 1
                self._calls += 1

    def _found(self, call: Call) -> Queue:
        """The answers of a call, by its key.

        Raises:
            ReplayHalt: there are none.
        """
        asked = call
        try:
            key = self._index.key(call.kind, call.name, call.arguments, call.model)
            if self._sanitize is not None and key not in self._index.queues:
                call = replace(call, arguments=self._sanitize(call.arguments))
                key = self._index.key(call.kind, call.name, call.arguments, call.model)
        except EvalkitError as error:
            raise self._miss(replace(call, arguments=None), f"its arguments are no JSON: {error.what}") from None
        if self._strict:
            self._check_order(call, key)
        queue = self._index.queues.get(key)
        if queue is None:
            raise self._miss(call)
        if call is asked:
            self._index.remember(call, queue)
        return queue

    def _check_order(self, call: Call, key: Key) -> None:
        at = self._calls - 1
        if at >= len(self._index.keys):
            raise self._miss(call, f"strict order: the recording ends after {len(self._index.keys)} calls")
        if self._index.keys[at] != key:
            expected = self._index.recorded[at]
            raise self._miss(call, f"strict order: expected {expected.kind} {expected.name} (step {expected.seq})")

    def _miss(self, call: Call, why: str = "") -> ReplayHalt:
        nearest, differences = self._index.nearest(call)
        miss = Miss(call.kind, call.name, call.arguments, self._calls, nearest, differences, why)
        self.misses.append(miss)
        return ReplayHalt(miss.sentence())
