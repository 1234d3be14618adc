"""Steps from a recorded conversation: chat logs that hold messages, but no spans.

Every assistant message was one model call that had the messages before it; every tool call in it was one tool step,
answered by a later tool message. Message objects are shared between the steps, never copied: only the lists of
references are each step's own.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import result_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import USER_MESSAGE, Step, StepError, Usage
from evalkit.trace.sharing import MAX_REFERENCES

__all__ = ["Turn", "conversation_steps", "messages_in", "refuse_too_long", "run_id"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the log.

    Attributes:
        index: its position in the source's list.
        message: in normal form.
        at: when it was complete, seconds since 1970; the next turn began then.
        usage, model: of the model call that wrote it.
        failed: for a tool message, whether the source says that the call failed; None where it does not say.
        error: how a tool call failed, where the source says more than the message; or how a model call did, which then
            gave no message.
        asked: the input of the model step, where the log holds it; None makes it from the messages before.
        began: when the turn began, where that is known better than from the turn before.
        by_user: the tool call, or the tool's answer, is the (simulated) user's own: the agent never saw it.
        scripted: an assistant message that no model wrote, such as a fixed greeting.
        attributes: kept with the step.
    """

    index: int
    message: dict[str, Any]
    at: float | None = None
    usage: Usage | None = None
    model: str | None = None
    failed: bool | None = None
    error: StepError | None = None
    asked: dict[str, Json] | None = None
    began: float | None = None
    by_user: bool = False
    scripted: bool = False
    attributes: tuple[tuple[str, Any], ...] = ()

    @property
    def is_silent(self) -> bool:
        """Whether a model call gave no message: it failed, or the record stops before its answer."""
        return self.error is not None or ("unfinished", True) in self.attributes


def conversation_steps(
    turns: Iterable[Turn],
    report: ReadReport,
    *,
    system: Iterable[dict[str, Any]] = (),
    tools: list[Json] | None = None,
    params: dict[str, Json] | None = None,
) -> tuple[Step, ...]:
    """The steps of a conversation, in order: a tool step stands where it was called.

    Args:
        turns: the messages.
        report: is told which messages became part of other steps.
        system: messages of the developer that the log does not repeat.
        tools, params: definitions and sampling parameters of all the model calls.

    Raises:
        UnreadableTrace: the conversation is too long for what its model steps would hold (`MAX_REFERENCES`).
    """
    gathered = _Conversation(list(system), tools or [], params or {}, report)
    for turn in turns:
        gathered.take(turn)
    report.steps.update(step.kind for step in gathered.steps)
    return tuple(gathered.steps)


def messages_in(items: list[Any], report: ReadReport) -> list[tuple[int, dict[str, Any]]]:
    """The messages of a log with their positions; what is no object is counted as skipped."""
    found = [(at, item) for at, item in enumerate(items) if isinstance(item, dict)]
    if len(found) < len(items):
        report.skipped["message: no object"] += len(items) - len(found)
    return found


def refuse_too_long(references: int, index: int) -> None:
    """Refuse a conversation whose model steps list more than `MAX_REFERENCES` messages.

    Raises:
        UnreadableTrace: they do; `where` is the message at `index`.
    """
    if references > MAX_REFERENCES:
        raise UnreadableTrace(
            f"the conversation is too long: its model calls were given more than {MAX_REFERENCES} messages together",
            f"message {index}",
            "split the run",
        )


def run_id(task: Any, trial: Any, seen: Counter[str]) -> str:
    """An id for a run of a benchmark, unique in its file: ``task-7/trial-0``, a second one ``task-7/trial-0/2``."""
    base = f"task-{task}/trial-{trial}"
    seen[base] += 1
    return base if seen[base] == 1 else f"{base}/{seen[base]}"


class _Conversation:
    """The steps so far, what the agent has seen so far, and the calls that wait for their answers."""

    def __init__(
        self, history: list[dict[str, Any]], tools: list[Json], params: dict[str, Json], report: ReadReport
    ) -> None:
        self.steps: list[Step] = []
        self._history: list[Json] = [*history]
        self._tools = tools
        self._params = params
        self._report = report
        self._references = 0
        self._waiting: defaultdict[tuple[bool, str | None], deque[int]] = defaultdict(deque)
        self._answered: set[int] = set()
        self._before: float | None = None

    def take(self, turn: Turn) -> None:
        role = turn.message["role"]
        if role == "assistant":
            self._assistant(turn)
        elif role == "tool":
            self._answer(turn)
        elif role == "user":
            self._user(turn)
        else:
            self._report.skipped[f"{role if role == 'system' else 'other'} message: kept in the model steps"] += 1
            self._history.append(turn.message)
        self._before = turn.at

    def _assistant(self, turn: Turn) -> None:
        if turn.scripted:
            self._add(turn, Step(0, "other", "assistant_message", output=turn.message, attributes={"scripted": True}))
        else:
            self._references += len(self._history)
            refuse_too_long(self._references, turn.index)
            self._add(turn, self._model(turn))
        if not turn.is_silent:
            self._history.append(turn.message)
            self._calls(turn)

    def _model(self, turn: Turn) -> Step:
        given: dict[str, Json] = {"messages": [*self._history], "tools": self._tools, "params": self._params}
        output = None if turn.is_silent else turn.message
        asked = given if turn.asked is None else turn.asked
        return Step(0, "model", "chat", asked, output, turn.error, model=turn.model, usage=turn.usage)

    def _user(self, turn: Turn) -> None:
        self._calls(turn)
        if turn.message.get("content") or not turn.message.get("tool_calls"):
            self._add(turn, Step(0, "other", USER_MESSAGE, output=turn.message))
            self._history.append(turn.message)

    def _calls(self, turn: Turn) -> None:
        for call in turn.message.get("tool_calls", ()):
            for call_id in (call["id"], None):
                self._waiting[turn.by_user, call_id].append(len(self.steps))
            attributes: dict[str, Any] = {"message": turn.index, "tool_call_id": call["id"], "unfinished": True}
            if turn.by_user:
                attributes["requestor"] = "user"
            self.steps.append(
                Step(
                    len(self.steps),
                    "tool",
                    call["name"],
                    input=call["arguments"],
                    effect=guess_effect(call["name"]),
                    effect_source="guessed",
                    started_at=turn.at,
                    attributes=attributes,
                )
            )

    def _answer(self, turn: Turn) -> None:
        if not turn.by_user:
            self._history.append(turn.message)
        seq = self._called(turn)
        output, error = result_of(turn.message.get("content"), turn.failed)
        if turn.error is not None:
            output, error = None, turn.error
        if seq is None:
            told = error if turn.failed or turn.error else None
            self._add(turn, Step(0, "other", "tool_result", output=turn.message, error=told))
            return
        step = self.steps[seq]
        attributes = {key: value for key, value in step.attributes.items() if key != "unfinished"}
        self.steps[seq] = replace(step, output=output, error=error, ended_at=turn.at, attributes=attributes)
        self._report.skipped["tool message: merged into its call"] += 1

    def _called(self, turn: Turn) -> int | None:
        """The step that `turn` answers: the oldest waiting call with its id; without an id, the oldest of all."""
        wanted = turn.message.get("tool_call_id") or None
        waiting = self._waiting[turn.by_user, wanted] if isinstance(wanted, str | None) else deque[int]()
        while waiting:
            seq = waiting.popleft()
            if seq not in self._answered:
                self._answered.add(seq)
                return seq
        return None

    def _add(self, turn: Turn, step: Step) -> None:
        attributes = {"message": turn.index, **step.attributes, **dict(turn.attributes)}
        began = self._before if turn.began is None else turn.began
        self.steps.append(replace(step, seq=len(self.steps), started_at=began, ended_at=turn.at, attributes=attributes))
