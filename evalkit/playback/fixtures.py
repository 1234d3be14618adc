"""The frozen Answerer: recorded answers, found by capability and canonical arguments.

`FixtureIndex` is built once a case and never changes; `Frozen` is one replay's use of it. Rules (design: "Matching
fixtures"): several answers for one key are taken in order; when only the last is left it answers again (a read may be
asked twice; a repeated write is answered too, and the trace shows one more effect, which is what the checks look at),
and the step says so. Parallel calls may come in any order. In strict mode the recorded order must be kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.capture.seam import Answer, Call
from evalkit.errors import EvalkitError
from evalkit.playback.index import ANSWERED_AGAIN, FixtureIndex, Queue, is_unanswered
from evalkit.playback.keys import requested_model
from evalkit.playback.model import Difference, Miss, in_words
from evalkit.trace.ids import Ids
from evalkit.trace.model import Step
from evalkit.trace.paths import values_at

__all__ = ["ANSWERED_AGAIN", "FixtureIndex", "Frozen", "ReplayHalt"]

_NO_IDS = Ids()
"""Of every replay of a case without volatile arguments, from which alone they are learnt."""


class ReplayHalt(BaseException):
    """Stops a replay from inside the agent's code.

    Not an `Exception`, so that neither an agent's ``except Exception`` nor a client's retry loop takes a missing
    fixture for an answer and goes on.
    """


class Frozen:
    """Answers one replay's calls from a `FixtureIndex`.

    Args:
        strict: calls must come in the recorded order.
        on_answer: is told the logical time of each answer (the frozen clock moves there).
        sanitize: what arguments go through that no fixture has as they are.

    A call that no fixture answers is noted in `misses` and halts the replay.

    Attributes:
        ids: those that the agent drew anew, learnt from its calls' volatile arguments.
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
        self._given: dict[Queue, int] = {}
        self._used: dict[Queue, set[int]] = {}
        self._calls = 0
        self._lock = threading.Lock()
        self.ids = Ids() if index.volatile else _NO_IDS
        self.misses: list[Miss] = []

    def answer(self, call: Call) -> Answer | None:
        """The recorded answer; None for a kind that is not frozen.

        Raises:
            ReplayHalt: there is none.
        """
        index = self._index
        if call.kind not in index.kinds:
            return None
        with self._lock:  # threads that make one call at once get an answer each
            self._calls += 1
            queue = None if self._strict else index.by_text(call)
            if queue is None:
                queue = self._found(call)
            at = self._given.get(queue, 0)
            self._given[queue] = at + 1
            if index.volatile:
                answer = self._with_ids(queue, at, call)
            else:
                answer = queue.answers[at] if at < len(queue.answers) else queue.once_more(at)
            if self._on_answer is not None and answer.at is not None:
                self._on_answer(answer.at)
            return answer

    def spend(self, steps: Iterable[Step]) -> None:
        """Counts the answers of these recorded steps as given already: a replay that starts after them."""
        for step in steps:
            if step.kind in self._index.kinds and not is_unanswered(step):
                queue = self._index.queues[self._index.key(step.kind, step.name, step.input, requested_model(step))]
                given = self._given[queue] = self._given.get(queue, 0) + 1
                self._used.setdefault(queue, set()).add(given - 1)
                self._calls += 1

    def never_answered(self, call: Call) -> None:
        """Notes a miss: the recorded call was cancelled, and the agent waited for its answer."""
        seq, _ = self._index.nearest(call)
        self._miss(call, "it was cancelled when it was recorded, so that nobody knows its answer", (seq, ()))

    def _with_ids(self, queue: Queue, at: int, call: Call) -> Answer:
        """The next answer where calls may hold ids that the agent draws, with the agent's own."""
        if call.name in self._index.volatile:
            used = self._used.setdefault(queue, set())
            at = self._place(queue, used, call)
            again = at in used
            used.add(at)
        else:
            again = False
        answer = queue.once_more(at) if again or at >= len(queue.answers) else queue.answers[at]
        if not self.ids:
            return answer
        attributes: Any = self.ids.to_actual(dict(answer.attributes))
        return replace(answer, output=self.ids.to_actual(answer.output), attributes=attributes)

    def _found(self, call: Call) -> Queue:
        """The answers of a call.

        Raises:
            ReplayHalt: there are none.
        """
        queue: Queue | None = None
        form = call
        try:
            for form in self._forms(call):
                key = self._index.key(form.kind, form.name, form.arguments, form.model)
                queue = self._index.queues.get(key) or self._index.by_what_is_known(form)
                if queue is not None:
                    break
        except EvalkitError as error:
            raise self._miss(replace(call, arguments=None), f"its arguments are no JSON: {error.what}") from None
        if self._strict:
            self._check_order(form, queue)
        if queue is None:
            raise self._miss(form)
        if form is call:
            self._index.remember(call, queue)
        return queue

    def _forms(self, call: Call) -> Iterator[Call]:
        """A call as it is, with the recorded ids, and sanitized: the forms in which it may be known."""
        yield call
        if self.ids:
            call = replace(call, arguments=self.ids.to_recorded(call.arguments))
            yield call
        if self._sanitize is not None:
            yield replace(call, arguments=self._sanitize(call.arguments))

    def _place(self, queue: Queue, used: set[int], call: Call) -> int:
        """Which answer of a queue whose calls differ in volatile arguments: the one with the call's own, else the next.

        What these arguments hold now is learnt to stand for what they held.
        """
        paths = self._index.volatile[call.name]
        mine = [values_at(call.arguments, path) for path in paths]
        known = [[self.ids.to_recorded(value) for value in values] for values in mine]
        recorded = [[values_at(step.input, path) for path in paths] for step in queue.steps]
        own = [at for at, values in enumerate(recorded) if values == known]
        free = [at for at in range(len(recorded)) if at not in used]
        at = next((at for at in own if at in free), own[-1] if own else free[0] if free else len(recorded))
        if at < len(recorded):
            for theirs, ours in zip(recorded[at], mine, strict=True):
                for one, other in zip(theirs, ours, strict=False):
                    self.ids.learn(one, other)
        return at

    def _check_order(self, call: Call, queue: Queue | None) -> None:
        at = self._calls - 1
        if at >= len(self._index.keys):
            raise self._miss(call, f"strict order: the recording ends after {len(self._index.keys)} calls")
        expected = self._index.recorded[at]
        if queue is None or not any(step is expected for step in queue.steps):
            why = f"strict order: expected {expected.kind} {expected.name} (step {expected.seq})"
            if (expected.kind, expected.name) != (call.kind, call.name):
                raise self._miss(call, f"{why}, got {call.kind} {call.name}", (expected.seq, ()))
            differences = self._index.differences(expected, call)
            raise self._miss(call, f"{why} with other arguments ({in_words(differences)})", (expected.seq, differences))

    def _miss(
        self, call: Call, why: str = "", nearest: tuple[int | None, tuple[Difference, ...]] | None = None
    ) -> ReplayHalt:
        seq, differences = self._index.nearest(call) if nearest is None else nearest
        miss = Miss(call.kind, call.name, call.arguments, self._calls, seq, differences, why)
        self.misses.append(miss)
        return ReplayHalt(miss.sentence())
