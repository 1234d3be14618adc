"""The events of a stepfork bundle as steps: calls joined with their results, errors with what failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import message_of, request_of, tool_definition, usage_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Step, StepError, Usage

__all__ = ["Event", "StepGatherer"]

_RESULT_OF = {"llm_request": "llm_response", "tool_call": "tool_result"}
_KEPT = ("replay_policy", "provider", "redactions")
_MERGED = frozenset(_RESULT_OF.values())


@dataclass(frozen=True, slots=True)
class Event:
    """One line of ``events.jsonl``.

    Attributes:
        at: its time, seconds since 1970 UTC.
        body: the whole event.
    """

    id: str
    type: str
    parent: str | None
    name: str
    at: float | None
    body: dict[str, Any]


class StepGatherer:
    """Joins the events of one bundle.

    Attributes:
        start, end: the run's own events, None where the bundle lacks them.
        run_error: the last error that stands below the run itself.
    """

    def __init__(self, events: Sequence[Event], report: ReadReport) -> None:
        self.start = next((event for event in events if event.type == "run_start"), None)
        self.end = next((event for event in reversed(events) if event.type == "run_end"), None)
        self.run_error: StepError | None = None
        self._report = report
        self._events = events
        self._by_id = {event.id: event for event in events}
        self._results: dict[str, Event] = {}
        self._call_of: dict[str, Event] = {}
        self._errors: dict[str, Event] = {}
        self._free_errors: set[str] = set()
        self._looked_at: dict[str, str | None] = {}
        self._join_results()
        self._join_errors()
        opening = [event for event in events if self._makes_step(event)]
        self._seq = {event.id: seq for seq, event in enumerate(opening)}
        self._opening = opening

    def steps(self) -> tuple[Step, ...]:
        """The steps, in the order of the events that open them."""
        steps = tuple(self._step(event) for event in self._opening)
        self._report.steps.update(step.kind for step in steps)
        self._count_rest()
        return steps

    def _join_results(self) -> None:
        before: defaultdict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in self._events:
            if event.type in _RESULT_OF:
                before[_RESULT_OF[event.type], event.name].append(event)
            if event.type in _MERGED:
                call = self._owner(event, before[event.type, event.name])
                if call is not None:
                    self._results[call.id] = event
                    self._call_of[event.id] = call

    def _owner(self, result: Event, before: list[Event]) -> Event | None:
        """The call of a result: its parent, else the latest open call of the same kind and name before it."""
        parent = self._by_id.get(result.parent or "")
        if parent is not None and _RESULT_OF.get(parent.type) == result.type and parent.id not in self._results:
            return parent
        while before:
            call = before.pop()
            if call.id not in self._results:
                return call
        return None

    def _join_errors(self) -> None:
        for event in self._events:
            if event.type != "error":
                continue
            error = _told_error(event)
            parent = self._by_id.get(event.parent or "")
            call = None if parent is None else self._call_of.get(parent.id, parent)
            if call is not None and call.type in _RESULT_OF and call.id not in self._errors:
                self._errors[call.id] = event
            elif parent is None or parent.type == "run_start":
                self.run_error = error
            else:
                self._free_errors.add(event.id)

    def _makes_step(self, event: Event) -> bool:
        if event.type in _MERGED:
            return event.id not in self._call_of
        if event.type == "error":
            return event.id in self._free_errors
        return event.type not in ("run_start", "run_end")

    def _count_rest(self) -> None:
        for event in self._events:
            if event.id in self._seq:
                continue
            if event.type in _MERGED:
                self._report.skipped[f"{event.type}: merged into its call"] += 1
            elif event.type == "error":
                self._report.skipped["error: told by the step or the run that failed"] += 1
            else:
                self._report.skipped[f"{event.type}: told by the trace itself"] += 1

    def _step(self, event: Event) -> Step:
        body = event.body
        attributes: dict[str, Any] = {"event_id": event.id}
        attributes |= {key: body[key] for key in _KEPT if body.get(key) not in (None, [], "frozen")}
        seq, parent = self._seq[event.id], self._inside(event)
        if event.type in _RESULT_OF:
            return self._call_step(event, seq, parent, attributes)
        if event.type == "state_change":
            key = str(body.get("key") or "state")
            return Step(seq, "state", key, body.get("after"), body.get("before"), parent=parent,
                        started_at=event.at, ended_at=event.at, attributes=attributes)  # fmt: skip
        error = _told_error(event) if event.type == "error" else None
        if error is None:
            self._report.unknown[f"event {event.type[:60]}"] += 1
        return Step(seq, "other", event.type, body.get("input"), body.get("output"), error, parent,
                    started_at=event.at, ended_at=event.at, attributes=attributes)  # fmt: skip

    def _call_step(self, event: Event, seq: int, parent: int | None, attributes: dict[str, Any]) -> Step:
        result = self._results.get(event.id)
        given, output = event.body.get("input"), result.body.get("output") if result else None
        told = self._errors.get(event.id)
        error = _told_error(told) if told else None
        if result is not None and result.body.get("status") == "error":
            reported = _reported_error(output)
            error, output = error or reported or StepError("Error", ""), None if reported else output
        if result is None and error is None:
            attributes["unfinished"] = True
        ending = result or told
        ended = ending.at if ending else None
        if event.type == "tool_call":
            effect = guess_effect(event.name)
            return Step(seq, "tool", event.name, given, output, error, parent, effect, "guessed",
                        event.at, ended, attributes=attributes)  # fmt: skip
        model = (result.body.get("model") if result else None) or event.body.get("model")
        return Step(seq, "model", "chat", model_input(given), model_output(output), error, parent,
                    started_at=event.at, ended_at=ended, model=model if isinstance(model, str) else None,
                    usage=_usage(result.body) if result else None, attributes=attributes)  # fmt: skip

    def _inside(self, event: Event) -> int | None:
        """The step that `event` ran inside of: the nearest call above it that had not ended by then."""
        passed: dict[str, None] = {}
        found: str | None = None
        above = self._by_id.get(event.parent or "")
        while above is not None and above.id not in passed:
            if above.id in self._looked_at:
                found = self._looked_at[above.id]
                break
            passed[above.id] = None
            if above.type in _RESULT_OF and above.id in self._seq:
                found = above.id
                break
            closing = self._call_of.get(above.id)
            above = self._by_id.get((closing or above).parent or "")
        self._looked_at.update(dict.fromkeys(passed, found))
        return None if found is None or found == event.id else self._seq[found]


def model_input(given: Json) -> Json:
    """A request in normal form; a payload of no known shape stays as it is."""
    if not isinstance(given, dict):
        return given
    request = given.get("request")
    if given.get("method") == "chat.completions.create" and isinstance(request, dict):
        return request_of(request)
    if not isinstance(given.get("messages"), list):
        return given
    if "kwargs" not in given:
        return request_of(given)
    extra = given["kwargs"] if isinstance(given["kwargs"], dict) else {}
    params: dict[str, Json] = {key: value for key, value in extra.items() if key != "tools" and value is not None}
    if given.get("stop") is not None:
        params["stop"] = given["stop"]
    return {
        "messages": [message_of(message) for message in dicts(given["messages"])],
        "tools": [tool_definition(tool) for tool in dicts(extra.get("tools"))],
        "params": params,
    }


def model_output(output: Json) -> Json:
    """The assistant Message of a completion (OpenAI's or LangChain's); another payload stays as it is."""
    message = _answer(output)
    return output if message is None else message_of(message)


def _answer(output: Json) -> dict[str, Any] | None:
    if not isinstance(output, dict):
        return None
    for key in ("choices", "generations"):
        for choice in dicts(output.get(key))[:1]:
            return next(iter(dicts([choice.get("message")])), None)
    return output if output.get("role") == "assistant" else None


def _usage(body: dict[str, Any]) -> Usage | None:
    """The event's own counts, which the adapters leave empty, else those inside the payload.

    The total is not read: providers count hidden reasoning into it.
    """
    output = body.get("output")
    inner = None
    if isinstance(output, dict):
        inner = output.get("usage") or (_answer(output) or {}).get("usage_metadata")
    if body.get("prompt_tokens") is not None or body.get("completion_tokens") is not None:
        inner = body
    return usage_of(inner, body.get("cost_usd"))


def _told_error(event: Event) -> StepError:
    return StepError(str(event.body.get("error_type") or "Error"), str(event.body.get("message") or ""))


def _reported_error(output: Json) -> StepError | None:
    kind = output.get("error_type") if isinstance(output, dict) else None
    return (
        StepError(kind, str(output.get("message") or ""))
        if isinstance(output, dict) and isinstance(kind, str)
        else None
    )
