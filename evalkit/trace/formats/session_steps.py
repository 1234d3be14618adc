"""Steps from a session that an agent wrote down record by record, as coding agents do.

Such a file tells what happened, not what was sent: the messages of a model call are the records before it, since the
last compaction. Message objects are shared between the steps, never copied: only the lists of references are each
step's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.effect import guess_effect
from evalkit.trace.model import USER_MESSAGE, Kind, Step, StepError, Usage

__all__ = ["SessionSteps", "spliced"]


class SessionSteps:
    """The steps so far, what the model has seen, and the calls that wait for their results.

    Attributes:
        steps: in order; a tool step stands behind the model step that called it, and waits there for its result.
        history: the messages that the next model call is given.
        tools, params: of the next model calls.
        before: when the latest record was complete: the next one began then.
    """

    def __init__(self, history: Iterable[Json] = ()) -> None:
        self.steps: list[Step] = []
        self.history: list[Json] = [*history]
        self.tools: list[Json] = []
        self.params: dict[str, Json] = {}
        self.before: float | None = None
        self._waiting: dict[str, int] = {}
        self._called: dict[str, int] = {}

    @property
    def waiting(self) -> list[str]:
        """The ids of the calls without a result."""
        return [*self._waiting]

    def forget(self, history: Iterable[Json]) -> None:
        """From here on the model sees `history` instead of what it saw before."""
        self.history = [*history]

    def user(self, message: dict[str, Any], at: float | None, attributes: Mapping[str, Any]) -> None:
        """A user's turn."""
        self.note(Step(0, "other", USER_MESSAGE, output=message, attributes=attributes), at)
        self.history.append(message)

    def note(self, step: Step, at: float | None, parent: int | None = None) -> int:
        """A step of any kind that the model does not see; its number."""
        self.steps.append(replace(step, seq=len(self.steps), parent=parent, started_at=self.before, ended_at=at))
        self.before = self.before if at is None else at
        return len(self.steps) - 1

    def model(
        self,
        answer: dict[str, Any] | None,
        at: float | None,
        *,
        model: str | None = None,
        usage: Usage | None = None,
        error: StepError | None = None,
        attributes: Mapping[str, Any],
        parent: int | None = None,
    ) -> int:
        """A model call that was given the history, and the tool calls that its answer makes; its number."""
        given: dict[str, Json] = {"messages": [*self.history], "tools": self.tools, "params": self.params}
        step = Step(0, "model", "chat", given, answer, error, model=model, usage=usage, attributes=attributes)
        seq = self.note(step, at, parent)
        if answer is not None:
            self.history.append(answer)
            for call in dicts(answer.get("tool_calls")):
                self.call(call, at, parent=parent)
        return seq

    def call(self, call: Mapping[str, Any], at: float | None, *, kind: Kind = "tool", parent: int | None = None) -> int:
        """A tool call that waits for its result; its number."""
        seq = len(self.steps)
        attributes: dict[str, Any] = {"tool_call_id": call["id"], "unfinished": True}
        self.steps.append(
            Step(
                seq,
                kind,
                call["name"],
                call["arguments"],
                parent=parent,
                effect=guess_effect(call["name"]) if kind == "tool" else None,
                effect_source="guessed" if kind == "tool" else None,
                started_at=at,
                attributes=attributes,
            )
        )
        self._waiting[call["id"]] = self._called[call["id"]] = seq
        return seq

    def result(
        self,
        call_id: str,
        output: Json,
        error: StepError | None,
        at: float | None,
        attributes: Mapping[str, Any],
        message: dict[str, Any] | None = None,
    ) -> bool:
        """The result of a waiting call, and the message that tells the model; False when no call waits for it."""
        if message is not None:
            self.history.append(message)
        self.before = self.before if at is None else at
        seq = self._waiting.pop(call_id, None)
        if seq is None:
            return False
        kept = {key: value for key, value in self.steps[seq].attributes.items() if key != "unfinished"}
        self.steps[seq] = replace(
            self.steps[seq], output=output, error=error, ended_at=at, attributes={**kept, **attributes}
        )
        return True

    def add_attributes(self, call_id: str, attributes: Mapping[str, Any]) -> bool:
        """More about a call, answered or not; False when nobody made it."""
        seq = self._called.get(call_id)
        if seq is None:
            return False
        self.steps[seq] = replace(self.steps[seq], attributes={**self.steps[seq].attributes, **attributes})
        return True


def spliced(steps: list[Step], inner: Mapping[int, list[Step]]) -> list[Step]:
    """`steps` with others behind some of them, as their children; numbered anew.

    Args:
        steps: numbered from 0.
        inner: what ran inside a step, by the step's number: numbered from 0 too, parents within.
    """
    made: list[Step] = []
    places: dict[int, int] = {}
    for step in steps:
        places[step.seq] = here = len(made)
        parent = None if step.parent is None else places[step.parent]
        made.append(replace(step, seq=here, parent=parent))
        start = here + 1
        for child in inner.get(step.seq, ()):
            above = here if child.parent is None else start + child.parent
            made.append(replace(child, seq=start + child.seq, parent=above))
    return made
