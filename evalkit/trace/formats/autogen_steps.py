"""The steps of AutoGen's messages: of a model's context, of a team's talk, of a recorded model client, of 0.2's chats.

In a team's talk each agent has seen its own answers and calls as such, and what the others said as a user's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.answered_calls import with_answered_calls
from evalkit.trace.formats.autogen_messages import TALK, answer_of, content_of, results_of, usage_of
from evalkit.trace.formats.chat import message_of, result_of, text_of, unix_seconds
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.formats.session_steps import SessionSteps
from evalkit.trace.model import USER_MESSAGE, Step, StepError

__all__ = ["chat_steps", "context_steps", "recorded_steps", "talk_steps", "words_of"]

_USER = "user"
_RAN = re.compile(r"exitcode: (-?\d{1,10})")
_CODE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_ENVELOPE = frozenset({"id", "type", "source", "models_usage", "content", "created_at", "metadata"})


def context_steps(items: list[tuple[int, dict[str, Any]]], report: ReadReport) -> list[Step]:
    """The steps that a model's context tells of: system, user, assistant and function result messages."""
    made = SessionSteps()
    for at, item in items:
        kind, source = item.get("type"), item.get("source")
        attributes: dict[str, Any] = {"message": at, **({"agent": source} if isinstance(source, str) else {})}
        if kind == "AssistantMessage":
            made.model(answer_of(item), None, attributes=attributes)
        elif kind == "FunctionExecutionResultMessage":
            _results(made, item.get("content"), None, attributes, report)
        elif kind == "UserMessage":
            made.user({"role": "user", "content": content_of(item.get("content"))}, None, attributes)
        elif kind == "SystemMessage":
            report.skipped["system message: kept in the model steps"] += 1
            made.history.append({"role": "system", "content": item.get("content")})
        else:
            made.note(Step(0, "other", str(kind or "message"), output=item, attributes=attributes), None)
    return made.steps


def recorded_steps(items: list[tuple[int, dict[str, Any]]]) -> tuple[Step, ...]:
    """The model calls that a ``ChatCompletionClientRecorder`` wrote down, each with all its messages."""
    steps: list[Step] = []
    for at, item in items:
        given = [message for raw in dicts(item.get("messages")) for message in _as_seen(raw)]
        streamed = item.get("stream") if isinstance(item.get("stream"), list) else []
        whole = dicts(streamed)
        answered = dict_of(item.get("response")) or (whole[-1] if whole else {})
        if not answered and streamed:
            answered = {"content": "".join(each for each in streamed if isinstance(each, str))}
        kept: dict[str, Any] = {"record": at, "mode": item.get("mode")}
        kept.update({key: answered[key] for key in ("finish_reason", "cached") if answered.get(key) is not None})
        answer = answer_of(answered) if answered else None
        request: dict[str, Json] = {"messages": [*given], "tools": [], "params": {}}
        usage = usage_of(answered.get("usage"))
        steps.append(Step(len(steps), "model", "chat", request, answer, usage=usage, attributes=kept))
    return with_answered_calls(steps)


def talk_steps(items: list[tuple[int, dict[str, Any]]], report: ReadReport) -> list[Step]:
    """The steps of a team's talk."""
    talk = _Talk(report)
    for at, item in items:
        talk.take(at, item)
    return talk.made.steps


def chat_steps(items: list[tuple[int, dict[str, Any]]], report: ReadReport) -> list[Step]:
    """The steps of a chat of AutoGen 0.2.

    Its roles are as the owner of the history sees them (its own words are the assistant's), so the names decide: who
    speaks first is the user's proxy, which asks, runs tools and code; the others are models.
    """
    made = SessionSteps()
    first = next((item.get("name") for _, item in items if isinstance(item.get("name"), str)), None)
    code: list[Json] = []
    for at, item in items:
        name = item.get("name")
        attributes: dict[str, Any] = {"message": at, **({"agent": name} if isinstance(name, str) else {})}
        answers = dicts(item.get("tool_responses"))
        plain = {key: item[key] for key in ("content", "tool_calls", "function_call") if item.get(key) is not None}
        said = item.get("content")
        ran = _RAN.match(said) if isinstance(said, str) else None
        if answers or item.get("role") in ("tool", "function"):
            for answer in answers or [item]:
                _result(made, answer, attributes, report)
        elif ran and code:
            _code_ran(made, said, code, int(ran.group(1)), attributes)
        elif item.get("role") == "system":
            report.skipped["system message: kept in the model steps"] += 1
            made.history.append({"role": "system", "content": said})
        elif (name == first if first is not None else item.get("role") == _USER) and not item.get("tool_calls"):
            made.user(message_of({"role": "user", **plain}), None, attributes)
        else:
            made.model(message_of({"role": "assistant", "content": None, **plain}), None, attributes=attributes)
        code = [*_CODE.findall(said)] if isinstance(said, str) else []
    return made.steps


def _code_ran(made: SessionSteps, said: Any, code: list[Json], status: int, attributes: dict[str, Any]) -> None:
    error = StepError("ExitCode", said) if status else None
    given: dict[str, Json] = {"code": [*code]}
    step = Step(0, "tool", "code_executor", given, None if error else said, error, attributes=attributes)
    made.note(replace(step, effect="write", effect_source="guessed"), None)
    made.history.append({"role": "user", "content": said})


def _result(made: SessionSteps, answer: dict[str, Any], attributes: dict[str, Any], report: ReadReport) -> None:
    call_id = str(answer.get("tool_call_id") or (made.waiting or [""])[0])
    message = {"role": "tool", "content": answer.get("content"), "tool_call_id": call_id}
    _answered(made, call_id, answer.get("content"), None, None, attributes, message, report)


def _results(
    made: SessionSteps, raw: Any, at: float | None, attributes: dict[str, Any], report: ReadReport
) -> list[Json]:
    told: list[Json] = []
    for call_id, name, content, failed in results_of(raw):
        message = {"role": "tool", "content": content, "tool_call_id": call_id, "name": name}
        told.append(message)
        _answered(made, call_id, content, failed, at, attributes, message, report)
    return told


def _answered(
    made: SessionSteps,
    call_id: str,
    content: Any,
    failed: bool | None,
    at: float | None,
    attributes: dict[str, Any],
    message: dict[str, Any],
    report: ReadReport,
) -> None:
    output, error = result_of(content, failed)
    if made.result(call_id, output, error, at, {}, message):
        report.skipped["tool result: merged into its call"] += 1
    else:
        made.note(Step(0, "other", "tool_result", output=message, attributes=attributes), at)


def _as_seen(raw: dict[str, Any]) -> Iterable[Json]:
    """A message of a model's context in the normal form."""
    kind = raw.get("type")
    if kind == "AssistantMessage":
        return [answer_of(raw)]
    if kind == "FunctionExecutionResultMessage":
        return [
            {"role": "tool", "content": content, "tool_call_id": call_id, "name": name}
            for call_id, name, content, _ in results_of(raw.get("content"))
        ]
    return [{"role": "system" if kind == "SystemMessage" else "user", "content": content_of(raw.get("content"))}]


@dataclass(frozen=True, slots=True)
class _Said:
    """What stands in the agents' contexts: as the speaker has it, and as the others do (None: they don't)."""

    source: str
    own: Json
    others: Json


class _Talk:
    """A team's messages and events, taken in order."""

    def __init__(self, report: ReadReport) -> None:
        self.made = SessionSteps()
        self._report = report
        self._log: list[_Said] = []
        self._people = {_USER}
        self._thoughts: dict[str, str] = {}
        self._code: Any = None

    def take(self, at: int, item: dict[str, Any]) -> None:
        """The message or event numbered `at`."""
        kind, source = str(item.get("type")), str(item.get("source") or "")
        when = unix_seconds(item.get("created_at"))
        content = item.get("content")
        kept: dict[str, Any] = {"message": at, "agent": source, **_left(item)}
        if kind == "ToolCallRequestEvent":
            self._model(source, item, when, kept)
        elif kind == "ToolCallExecutionEvent":
            told = _results(self.made, content, when, kept, self._report)
            self._log += [_Said(source, message, None) for message in told]
        elif kind == "CodeGenerationEvent":
            self._code = item.get("code_blocks")
            self._model(source, item, when, kept)
        elif kind == "CodeExecutionEvent":
            self._ran(dict_of(item.get("result")), when, kept)
        elif kind == "ThoughtEvent" and isinstance(content, str):
            self._thoughts[source] = content
            self._report.skipped["thought: reasoning of its model step"] += 1
        elif kind == "ModelClientStreamingChunkEvent":
            self._report.skipped["streamed chunk: a part of a later message"] += 1
        elif kind == "MemoryQueryEvent":
            found: Json = [{"id": str(number), **each} for number, each in enumerate(dicts(content))]
            self.made.note(
                Step(0, "retrieval", "memory", output=found, attributes={**kept, "missing": ["input"]}), when
            )
        elif kind in TALK or kind.startswith("StructuredMessage"):
            self._message(kind, source, item, when, kept)
        else:
            if kind == "UserInputRequestedEvent":
                self._people.add(source)
            self.made.note(Step(0, "other", kind, output=content, attributes=kept), when)

    def _message(self, kind: str, source: str, item: dict[str, Any], when: float | None, kept: dict[str, Any]) -> None:
        content = content_of(item.get("content"))
        heard = {"role": "user", "content": content, "name": source}
        if source in self._people:
            self.made.user({"role": "user", "content": content}, when, kept)
            self._log.append(_Said(source, heard, heard))
        elif item.get("models_usage") is not None:
            self._model(source, {**item, "content": content}, when, kept, heard)
        elif kind == "HandoffMessage":
            given: Json = {"from_agent": source, "to_agent": item.get("target")}
            self.made.note(Step(0, "other", "handoff", given, content, attributes=kept), when)
            self._log.append(_Said(source, heard, heard))
        else:
            said = {"role": "assistant", "content": content}
            self.made.note(Step(0, "other", "assistant_message", output=said, attributes=kept), when)
            self._log.append(_Said(source, None if kind == "ToolCallSummaryMessage" else said, heard))

    def _model(
        self, source: str, item: dict[str, Any], when: float | None, kept: dict[str, Any], heard: Json = None
    ) -> None:
        answer = answer_of(item, self._thoughts.pop(source, None))
        seen = (said.own if said.source == source else said.others for said in self._log)
        self.made.forget(message for message in seen if message is not None)
        self.made.model(answer, when, usage=usage_of(item.get("models_usage")), attributes=kept)
        self._log.append(_Said(source, answer, heard))

    def _ran(self, result: dict[str, Any], when: float | None, kept: dict[str, Any]) -> None:
        output, status = result.get("output"), result.get("exit_code")
        error = StepError("ExitCode", str(output)) if status not in (None, 0) else None
        given: dict[str, Json] = {"code": self._code}
        step = Step(0, "tool", "code_executor", given, None if error else output, error, attributes=kept)
        self.made.note(replace(step, effect="write", effect_source="guessed"), when)
        source = str(kept["agent"])
        self._log.append(_Said(source, {"role": "user", "content": output, "name": source}, None))


def _left(item: dict[str, Any]) -> dict[str, Any]:
    """What an item holds beside its content and envelope."""
    left = {key: value for key, value in item.items() if key not in _ENVELOPE and value not in (None, [], {})}
    return {**left, "metadata": item["metadata"]} if item.get("metadata") else left


def words_of(steps: Iterable[Step]) -> tuple[Json, str | None]:
    """What the user asked first, and what a model or an agent said last."""
    steps = list(steps)
    asked: list[Any] = [step.output for step in steps if step.name == USER_MESSAGE]
    if not asked and steps and isinstance(steps[0].input, dict):
        given = dicts(steps[0].input.get("messages"))
        asked = [message for message in given if message.get("role") == "user"][-1:]
    said = [text_of(step.output) for step in steps if step.kind == "model" and isinstance(step.output, dict)]
    return dict_of(asked[0] if asked else None).get("content"), next((text for text in reversed(said) if text), None)
