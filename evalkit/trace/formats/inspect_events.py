"""The events of one Inspect sample as steps.

Events stand in the order in which they began. A span (or, in old logs, a step) is a step that others run inside of;
the span around a tool call is the call itself. What a scorer does is no part of the run: its model calls are told the
target, so everything inside its span is a label. Of a state change, what repeats messages, tools and output is told
by the model steps, and metadata may hold the answer.
Source: https://github.com/UKGovernmentBEIS/inspect_ai (``event/``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.attributes import number_of
from evalkit.trace.formats.chat import result_of, unix_seconds
from evalkit.trace.formats.inspect_messages import (
    call_from_inspect,
    failed_call,
    message_from_inspect,
    params_of,
    result_content,
    tools_from_inspect,
    usage_from_inspect,
)
from evalkit.trace.formats.missing import note_missing
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import USER_MESSAGE, Kind, Step, StepError

__all__ = ["error_of", "event_steps"]

_COMMON = frozenset("event uuid span_id timestamp working_start completed working_time pending".split())
_SCORERS = ("scorer", "scorers")
_NOT_STATE = ("messages", "output", "tools", "tool_choice", "completed")
_GOLD = ("metadata", "target", "scores", "score")
_CANCELLED = "Cancelled"
_RAISED = re.compile(r"(?:[\w.]+\.)?([A-Za-z_]\w*)\((.*)\)\s*$", re.DOTALL)
_MAX_POOLED = 1_000_000


def event_steps(events: list[Any], pool: list[dict[str, Any]], where: str, report: ReadReport) -> tuple[Step, ...]:
    """The steps of a sample.

    Args:
        events: with attachments put in.
        pool: the messages that model events point into.
        where: for messages.

    Raises:
        UnreadableTrace: a model event points outside the pool.
    """
    gathered = _Events(pool, where, report)
    gathered.take_all(events, None)
    gathered.close()
    report.steps.update(step.kind for step in gathered.steps)
    return tuple(gathered.steps)


def error_of(raw: Any) -> StepError | None:
    """An EvalError ``{"message", "traceback"}``; its message is the exception's ``repr`` or text."""
    error = dict_of(raw)
    if not error:
        return None
    message, stack = str(error.get("message") or ""), error.get("traceback")
    found = _RAISED.match(message)
    kind, said = (found[1], found[2].strip("'\"")) if found else ("Error", message)
    return StepError(kind, said, stack=stack if isinstance(stack, str) and stack else None)


@dataclass(slots=True)
class _Span:
    """An open or closed span: its step (None for one that is the call of a tool not yet seen), and its parent."""

    seq: int | None
    parent_id: str | None
    is_label: bool = False


class _Events:
    """The steps so far, and the spans that they lie in."""

    def __init__(self, pool: list[dict[str, Any]], where: str, report: ReadReport) -> None:
        self.steps: list[Step] = []
        self._pool = [message_from_inspect(raw) for raw in pool]
        self._where = where
        self._report = report
        self._spans: dict[str, _Span] = {}
        self._calls: defaultdict[tuple[str | None, str], list[str]] = defaultdict(list)
        self._open: list[str] = []
        self._told: set[str] = set()

    def take_all(self, events: list[Any], parent: int | None) -> None:
        for event in events:
            if isinstance(event, dict):
                self._take(event, parent)
            else:
                self._report.skipped["event: no object"] += 1

    def close(self) -> None:
        """Count the spans of tool calls that no tool event followed."""
        lone = sum(len(ids) for ids in self._calls.values())
        if lone:
            self._report.skipped["tool span: its call is not in the log"] += lone

    def _take(self, event: dict[str, Any], parent: int | None) -> None:
        kind = str(event.get("event"))
        if kind in ("span_begin", "step") and event.get("action") != "end":
            self._begin(event, parent)
        elif kind in ("span_end", "step"):
            self._end(event)
        elif self._is_label(event) or kind in ("score", "score_edit"):
            self._report.skipped["scoring: labels, not part of the run"] += 1
        else:
            _TAKERS.get(kind, _Events._other)(self, event, self._parent(event, parent))

    def _begin(self, event: dict[str, Any], parent: int | None) -> None:
        legacy = event.get("event") == "step"
        span_id = f"step {len(self._spans)}" if legacy else str(event.get("id"))
        above = self._open[-1] if legacy and self._open else event.get("parent_id")
        above = above if isinstance(above, str) else None
        kind, name = event.get("type"), str(event.get("name") or "")
        if legacy:
            self._open.append(span_id)
        outer = self._spans.get(above or "")
        if kind in _SCORERS or (outer is not None and outer.is_label):
            self._spans[span_id] = _Span(None, above, is_label=True)
            self._report.skipped["scoring: labels, not part of the run"] += 1
            return
        if kind == "tool" and not legacy:
            self._spans[span_id] = _Span(None, above)
            self._calls[above, name].append(span_id)
            return
        inside = self._inside(above)
        step = self._step(
            event, "agent" if kind == "agent" else "other", name or "span", parent if inside is None else inside
        )
        attributes = {**_left(event, "action", "id", "parent_id", "type", "name"), "unfinished": True}
        if isinstance(kind, str):
            attributes["span_type"] = kind
        self._spans[span_id] = _Span(self._add(replace(step, attributes=attributes)), above)

    def _end(self, event: dict[str, Any]) -> None:
        legacy = event.get("event") == "step"
        span_id = (self._open.pop() if self._open else "") if legacy else str(event.get("id"))
        span = self._spans.get(span_id)
        if span is None:
            self._report.skipped["end of a span: its begin is not in the log"] += 1
        elif span.seq is not None and not span.is_label:
            step = self.steps[span.seq]
            attributes = {key: value for key, value in step.attributes.items() if key != "unfinished"}
            ended = step.ended_at if step.kind == "tool" else unix_seconds(event.get("timestamp"))
            self.steps[span.seq] = replace(step, ended_at=ended, attributes=attributes)

    def _parent(self, event: dict[str, Any], parent: int | None) -> int | None:
        span_id = event.get("span_id") if isinstance(event.get("span_id"), str) else None
        inside = self._inside(span_id or (self._open[-1] if self._open else None))
        return parent if inside is None else inside

    def _inside(self, span_id: str | None) -> int | None:
        """The step of a span, or of the next one around it that has a step."""
        passed: set[str] = set()
        while span_id in self._spans and span_id not in passed:
            passed.add(span_id)
            span = self._spans[span_id]
            if span.seq is not None:
                return span.seq
            span_id = span.parent_id
        return None

    def _is_label(self, event: dict[str, Any]) -> bool:
        span_id = event.get("span_id") or (self._open[-1] if self._open else None)
        span = self._spans.get(span_id) if isinstance(span_id, str) else None
        return span is not None and span.is_label

    def _step(self, event: dict[str, Any], kind: Kind, name: str, parent: int | None) -> Step:
        started = unix_seconds(event.get("timestamp"))
        step = Step(0, kind, name, parent=parent, started_at=started, ended_at=unix_seconds(event.get("completed")))
        return replace(step, attributes={"unfinished": True}) if event.get("pending") else step

    def _add(self, step: Step) -> int:
        self.steps.append(replace(step, seq=len(self.steps)))
        return len(self.steps) - 1

    def _begun(self, event: dict[str, Any], parent: int | None) -> None:
        """The sample's start: its input is what the user asked; target and metadata are labels."""
        given = dict_of(event.get("sample")).get("input")
        messages = [{"role": "user", "content": given}] if isinstance(given, str) else dicts(given)
        self._report.skipped["sample_init: target and metadata are labels, state is told by the steps"] += 1
        self._users(messages, self._step(event, "other", USER_MESSAGE, parent))

    def _users(self, messages: list[dict[str, Any]], step: Step) -> None:
        """A step for each message of a user that stands for the first time."""
        for raw in messages:
            message = message_from_inspect(raw)
            mark = str(raw.get("id") or "") or str(message["content"])
            if message["role"] == "user" and not self._told & {mark, str(message["content"])}:
                self._told |= {mark, str(message["content"])}
                self._add(replace(step, output=message, ended_at=None))

    def _model(self, event: dict[str, Any], parent: int | None) -> None:
        raw = dicts(event.get("input"))
        self._operators(raw, event, parent)
        messages = self._messages(raw, event.get("input_refs"))
        output = dict_of(event.get("output"))
        choices = dicts(output.get("choices"))
        message = dict_of(choices[0].get("message")) if choices else {}
        answer = message_from_inspect({**message, "role": "assistant"}) if message else None
        params, config = params_of(event)
        error = _model_error(event, output)
        attributes = _left(
            event, "model", "input", "input_refs", "tools", "tool_choice", "config", "output", "call", "error",
            "traceback", "traceback_ansi",
        )  # fmt: skip
        if isinstance(event.get("call"), dict):
            self._report.skipped["call of a model event: the provider's form of the step"] += 1
        if config:
            attributes["config"] = config
        if choices and choices[0].get("stop_reason") not in (None, "stop", "tool_calls"):
            attributes["stop_reason"] = choices[0]["stop_reason"]
        if len(choices) > 1:
            attributes["other_choices"] = [choice.get("message") for choice in choices[1:]]
        if not event.get("pending"):
            note_missing(attributes, asked=bool(messages), answered=bool(answer or error))
        step = self._step(event, "model", "chat", parent)
        named = output.get("model") or event.get("model")
        ended = step.ended_at
        if ended is None and step.started_at is not None and (took := number_of(output.get("time"))) is not None:
            ended = step.started_at + took
        self._add(
            replace(
                step,
                input={"messages": messages, "tools": tools_from_inspect(event.get("tools")), "params": params},
                output=None if error and answer is not None and not answer.get("content") else answer,
                error=error,
                ended_at=ended,
                model=named if isinstance(named, str) and named else None,
                usage=usage_from_inspect(output.get("usage")),
                attributes={**step.attributes, **attributes},
            )
        )

    def _operators(self, raw: list[dict[str, Any]], event: dict[str, Any], parent: int | None) -> None:
        """Turns of a person that came while the agent ran."""
        spoken = [each for each in raw if each.get("role") == "user" and each.get("source") == "operator"]
        if spoken:
            self._users(spoken, self._step(event, "other", USER_MESSAGE, parent))

    def _messages(self, raw: list[dict[str, Any]], refs: Any) -> list[Json]:
        found: list[Json] = [message_from_inspect(each) for each in raw]
        for ref in refs if isinstance(refs, list) else []:
            pair = ref if isinstance(ref, list) and len(ref) == 2 else [None, None]
            start, end = pair
            if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(self._pool):
                raise UnreadableTrace(
                    "a model event points outside the pool of messages", self._where, "export the log again"
                )
            found += self._pool[start:end]
            if len(found) > _MAX_POOLED:
                raise UnreadableTrace(
                    f"a model event points to more than {_MAX_POOLED} messages", self._where, "export the log again"
                )
        return found

    def _tool(self, event: dict[str, Any], parent: int | None) -> None:
        name = str(event.get("function") or "")
        failed = failed_call(event)
        result = result_content(event.get("result"))
        output, error = (None, StepError(*failed)) if failed else result_of(result, failed=False)
        attributes: dict[str, Any] = _left(
            event, "type", "id", "function", "arguments", "result", "error", "events", "view"
        )
        attributes["tool_call_id"] = str(event.get("id") or "")
        if failed and result not in (None, ""):
            attributes["answered"] = result
        step = self._step(event, "tool", name, parent)
        seq = self._add(
            replace(
                step,
                input=call_from_inspect(event)["arguments"],
                output=None if event.get("pending") else output,
                error=error,
                effect=guess_effect(name),
                effect_source="guessed",
                attributes={**step.attributes, **attributes},
            )
        )
        above = event.get("span_id")
        waiting = self._calls[above if isinstance(above, str) else None, name]
        if waiting:
            self._spans[waiting.pop(0)].seq = seq
        self._below(event, seq)

    def _below(self, event: dict[str, Any], seq: int) -> None:
        """Older logs keep the events of a tool or subtask inside its event."""
        if isinstance(event.get("events"), list):
            outer, self._open = self._open, []
            self.take_all(event["events"], seq)
            self._open = outer

    def _approval(self, event: dict[str, Any], parent: int | None) -> None:
        call, modified = call_from_inspect(dict_of(event.get("call"))), event.get("modified")
        decided = {key: event[key] for key in ("decision", "approver", "explanation") if event.get(key) is not None}
        if isinstance(modified, dict):
            decided["modified"] = call_from_inspect(modified)
        asked = {"message": event.get("message"), "call": call}
        step = self._step(event, "approval", str(event.get("approver") or "approval"), parent)
        at = {"tool_call_id": call["id"]}
        self._add(replace(step, input=asked, output=decided, attributes={**step.attributes, **at}))

    def _subtask(self, event: dict[str, Any], parent: int | None) -> None:
        step = self._step(event, "agent", str(event.get("name") or "subtask"), parent)
        attributes = {**step.attributes, **_left(event, "name", "input", "result", "events")}
        given, result = event.get("input"), event.get("result")
        self._below(event, self._add(replace(step, input=given, output=result, attributes=attributes)))

    def _state(self, event: dict[str, Any], parent: int | None) -> None:
        kind = str(event["event"])
        changes = dicts(event.get("changes"))
        kept: list[Json] = []
        before: dict[str, Json] = {}
        for change in changes:
            path = str(change.get("path") or "")
            top = path.split("/")[1] if path.count("/") else ""
            if kind == "state" and top in (*_NOT_STATE, *_GOLD):
                reason = "may hold labels" if top in _GOLD else "told by the model steps"
                self._report.skipped[f"state change: {reason}"] += 1
                continue
            kept.append({key: change[key] for key in ("op", "path", "from", "value") if key in change})
            if change.get("replaced") is not None:
                before[path] = change["replaced"]
        if kept:
            step = self._step(event, "state", kind, parent)
            self._add(replace(step, input=kept, output=before or None))
        elif not changes:
            self._report.skipped[f"{kind}: no changes"] += 1

    def _sandbox(self, event: dict[str, Any], parent: int | None) -> None:
        step = self._step(event, "other", f"sandbox.{event.get('action')}", parent)
        given = {key: event[key] for key in ("cmd", "file", "input", "options") if event.get(key) not in (None, {})}
        output = {key: event[key] for key in ("result", "output") if event.get(key) is not None}
        self._add(replace(step, input=given, output=output or None))

    def _error(self, event: dict[str, Any], parent: int | None) -> None:
        self._add(replace(self._step(event, "other", "error", parent), error=error_of(event.get("error"))))

    def _other(self, event: dict[str, Any], parent: int | None) -> None:
        """What is told as it is: information, log lines, a person's input, limits, and kinds not known here."""
        kind = str(event.get("event"))
        left = _left(event)
        field = {"info": "data", "logger": "message", "input": "input"}.get(kind, "message")
        output = left.pop(field, None)
        left.pop("input_ansi", None)
        step = self._step(event, "other", kind, parent)
        self._add(replace(step, output=output, attributes={**step.attributes, **left}))


_TAKERS: dict[str, Callable[[_Events, dict[str, Any], int | None], None]] = {
    "sample_init": _Events._begun,
    "model": _Events._model,
    "tool": _Events._tool,
    "approval": _Events._approval,
    "subtask": _Events._subtask,
    "state": _Events._state,
    "store": _Events._state,
    "sandbox": _Events._sandbox,
    "error": _Events._error,
}


def _left(event: dict[str, Any], *read: str) -> dict[str, Any]:
    """What an event holds beside what was read of it."""
    return {key: value for key, value in event.items() if key not in _COMMON and key not in read and value is not None}


def _model_error(event: dict[str, Any], output: dict[str, Any]) -> StepError | None:
    said = event.get("error") or output.get("error")
    if not isinstance(said, str) or not said:
        return None
    stack = event.get("traceback")
    kind = _CANCELLED if said.startswith("Cancelled by ") else "ModelError"
    return StepError(kind, said, stack=stack if isinstance(stack, str) and stack else None)
