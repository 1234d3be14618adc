"""Sessions of Anthropic's Managed Agents: their events, one a line, a list, or a page ``{"data": [...]}``.

The agent runs on the provider's side; a client sees events (``user.message``, ``agent.tool_use``, ``session.error``).
What the model said between ``span.model_request_start`` and ``..._end`` is one answer. A recording of the SDK's calls,
lines ``[method, value]``, also holds the session, with the agent's instructions and tools. What a model was given is
put together from the events before. They tell all of it, but not without the session, and not after a compaction.
Source: https://github.com/anthropics/anthropic-sdk-python (``types/beta/sessions``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import arguments_of, result_of, text_of, tool_definition, unix_seconds
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.provider_anthropic import content_of, usage_from_anthropic
from evalkit.trace.model import USER_MESSAGE, Kind, Step, StepError, Trace

__all__ = ["FORMAT"]

_METHOD = "client.beta.sessions."
_FAMILIES = ("user.", "agent.", "session.", "span.", "system.")
_USES = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "user.tool_result": "tool_use_id",
}
_LABELS = "span.outcome_evaluation"
_NO_SYSTEM = "the agent's instructions are not in the source"
_COMPACTION = "agent.thread_context_compacted"
_COMPACTED = "what the model was given after a compaction is not recorded"


class AnthropicSessionFormat:
    """The events of one session."""

    name = "anthropic-session"

    def detect(self, source: Source) -> bool:
        """Whether the first event, or recorded call, is one of a session."""
        found = first_document(source)
        if _is_call(found):
            return True
        return any(_is_event(item) for item in _listed(found)[:1])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The one trace of the session.

        Raises:
            UnreadableTrace: no event of a session is in it.
        """
        session = _Session(report)
        sent: list[dict[str, Any]] = []
        for _, document in documents(source):
            for item in _listed(document):
                if _is_call(item) and isinstance(item, list):
                    _recorded(item, session, sent, report)
                elif isinstance(item, dict) and _is_event(item):
                    session.take(item)
                else:
                    report.skipped["item: no event of a session"] += 1
        if session.count:
            report.skipped["sent event: told again by the stream"] += len(sent)
        else:
            for event in sent:
                session.take(event)
        if not session.count:
            raise UnreadableTrace("no event of a session", source.where, "pass the events of a session")
        report.skipped = +report.skipped
        yield session.trace()


FORMAT = AnthropicSessionFormat()


def _listed(document: Json) -> list[Json]:
    if _is_call(document):
        return [document]
    if isinstance(document, dict) and isinstance(document.get("data"), list) and "type" not in document:
        return document["data"]  # type: ignore[return-value]  # narrowed to a list
    return document if isinstance(document, list) else [document]


def _is_call(item: Json) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and item[0].startswith(_METHOD)


def _is_event(item: Json) -> bool:
    kind = item.get("type") if isinstance(item, dict) else None
    return isinstance(kind, str) and kind.startswith(_FAMILIES) and isinstance(item, dict) and "processed_at" in item


def _recorded(item: list[Any], session: _Session, sent: list[dict[str, Any]], report: ReadReport) -> None:
    method, value = item
    if method.endswith((".stream", ".list")):
        session.take(dict_of(value))
    elif method.endswith("events.send"):
        given = value[-1] if isinstance(value, list) and value else value
        sent += dicts(dict_of(given).get("events"))
    elif dict_of(value).get("type") == "session":
        session.opened(dict_of(value))
    else:
        report.skipped[f"call {method[:60]}: not part of the run"] += 1


@dataclass(slots=True)
class _Answer:
    """What the model has said since its request began."""

    began: float | None
    message: dict[str, Any]
    is_open: bool


class _Session:
    """The steps so far, and what the model has seen so far."""

    def __init__(self, report: ReadReport) -> None:
        self.count = 0
        self._report = report
        self._header: dict[str, Any] = {}
        self._steps: list[Step] = []
        self._history: list[Json] = []
        self._tools: list[Json] = []
        self._calls: dict[str, int] = {}
        self._answer: _Answer | None = None
        self._uses: list[tuple[dict[str, Any], float | None]] = []
        self._ended = False

    def opened(self, header: dict[str, Any]) -> None:
        """Take the session's own description: the agent's instructions and tools."""
        self._header = header
        agent = dict_of(header.get("agent"))
        if isinstance(agent.get("system"), str) and agent["system"]:
            self._history.append({"role": "system", "content": agent["system"]})
        self._tools = [tool_definition(tool) for tool in dicts(agent.get("tools"))]
        self._report.skipped["session: it is the trace's header"] += 1

    def take(self, event: dict[str, Any]) -> None:
        self.count += 1
        kind, at = str(event.get("type")), unix_seconds(event.get("processed_at"))
        if kind == "span.model_request_start":
            self._flush(at)
            self._answer = _Answer(at, {"role": "assistant", "content": None}, True)
        elif kind == "span.model_request_end":
            self._flush(at, event)
        elif kind in ("agent.message", "agent.thinking") or kind in _USES:
            self._said(kind, event, at)
        elif kind in _RESULTS:
            self._result(event, str(event.get(_RESULTS[kind]) or ""), at)
        elif kind == "user.message":
            self._flush(at)
            message = {"role": "user", "content": content_of(event.get("content"))}
            self._add("other", USER_MESSAGE, event, at, output=message)
            self._history.append(message)
        elif kind == "user.tool_confirmation":
            self._confirmed(event, at)
        elif kind.startswith(_LABELS):
            self._report.skipped["outcome evaluation: a label, not part of the run"] += 1
        elif kind == "session.error":
            error = dict_of(event.get("error"))
            told = StepError(str(error.get("type") or "Error"), str(error.get("message") or ""))
            self._add("other", "error", event, at, error=told)
        elif kind.startswith("session."):
            self._ended = kind in ("session.status_idle", "session.status_terminated") or (
                self._ended and kind != "session.status_running"
            )
            self._report.skipped[f"{kind[:60]}: tells only the session's state"] += 1
        else:
            left = {key: value for key, value in event.items() if key not in ("id", "type", "processed_at")}
            self._add("other", kind, event, at, output=left or None)

    def trace(self) -> Trace:
        """The trace of all that was taken."""
        self._flush(None)
        steps = tuple(replace(step, seq=seq) for seq, step in enumerate(self._steps))
        self._report.steps.update(step.kind for step in steps)
        times = [at for step in steps for at in (step.started_at, step.ended_at) if at is not None]
        agent = dict_of(self._header.get("agent"))
        users = [text_of(dict_of(step.output)) for step in steps if step.name == USER_MESSAGE]
        spoken = [text for step in steps if step.kind == "model" and (text := text_of(dict_of(step.output)))]
        waiting = any(step.attributes.get("unfinished") for step in steps)
        kept = {"environment_id": self._header.get("environment_id"), "agent_id": agent.get("id")}
        session_id = self._header.get("id")
        return Trace(
            id=session_id if isinstance(session_id, str) and session_id else "session",
            name=str(agent.get("name") or "agent"),
            dialect=AnthropicSessionFormat.name,
            steps=steps,
            input=users[0] if users else None,
            output=spoken[-1] if spoken else None,
            status="unfinished" if waiting or not self._ended else "completed",
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            attributes={key: value for key, value in kept.items() if value},
            gaps=tuple(self._gaps()),
        )

    def _gaps(self) -> Iterator[str]:
        if not self._header:
            yield _NO_SYSTEM
        if any(step.name == _COMPACTION for step in self._steps):
            yield _COMPACTED

    def _said(self, kind: str, event: dict[str, Any], at: float | None) -> None:
        if self._answer is None:
            self._answer = _Answer(None, {"role": "assistant", "content": None}, False)
        elif kind == "agent.message":
            self._report.skipped["agent.message: merged into its model step"] += 1
        message = self._answer.message
        if kind == "agent.message":
            before = message["content"]
            parts = [*(_parts(before)), *_parts(content_of(event.get("content")))]
            message["content"] = content_of(parts)
        elif kind in _USES:
            call = {"id": str(event.get("id") or ""), "name": str(event.get("name") or "")}
            call_message = {**call, "arguments": arguments_of(event.get("input"))}
            message["tool_calls"] = [*message.get("tool_calls", []), call_message]
            self._uses.append((event, at))
        else:
            self._report.skipped["agent.thinking: holds no text"] += 1

    def _flush(self, at: float | None, end: dict[str, Any] | None = None) -> None:
        """Make the model step of the answer that is complete, and the steps of its calls."""
        answer, self._answer = self._answer, None
        if answer is None:
            if end is not None:
                self._report.skipped["span.model_request_end: its start is not in the source"] += 1
            return
        if end is not None:
            self._report.skipped["span.model_request_end: merged into its start"] += 1
        model = dict_of(dict_of(self._header.get("agent")).get("model")).get("id")
        error = StepError("ModelRequestFailed") if end is not None and end.get("is_error") else None
        said = answer.message["content"] is not None or "tool_calls" in answer.message
        step = Step(
            0,
            "model",
            "chat",
            {"messages": [*self._history], "tools": self._tools, "params": {}},
            answer.message if said else None,
            error,
            started_at=answer.began,
            ended_at=at if end is not None else None,
            model=model if isinstance(model, str) else None,
            usage=usage_from_anthropic(end.get("model_usage")) if end is not None else None,
            attributes={"unfinished": True} if answer.is_open and end is None else {},
        )
        self._steps.append(step)
        if said:
            self._history.append(answer.message)
        uses, self._uses = self._uses, []
        for event, called_at in uses:
            self._call(event, called_at)

    def _call(self, event: dict[str, Any], at: float | None) -> None:
        call_id, name = str(event.get("id") or ""), str(event.get("name") or "")
        kept = {
            key: event[key]
            for key in ("mcp_server_name", "evaluated_permission", "session_thread_id")
            if event.get(key)
        }
        self._calls[call_id] = len(self._steps)
        self._steps.append(
            Step(
                0,
                "tool",
                name,
                input=arguments_of(event.get("input")),
                effect=guess_effect(name),
                effect_source="guessed",
                started_at=at,
                attributes={"tool_call_id": call_id, "unfinished": True, **kept},
            )
        )

    def _result(self, event: dict[str, Any], call_id: str, at: float | None) -> None:
        self._flush(at)
        content = content_of(event.get("content"))
        content = "" if content is None else content
        self._history.append({"role": "tool", "content": content, "tool_call_id": call_id})
        output, error = result_of(content, bool(event.get("is_error")))
        seq = self._calls.pop(call_id, None)
        if seq is None:
            self._add("other", "tool_result", event, at, output=content)
            return
        step = self._steps[seq]
        attributes = {key: value for key, value in step.attributes.items() if key != "unfinished"}
        self._steps[seq] = replace(step, output=output, error=error, ended_at=at, attributes=attributes)
        self._report.skipped["tool result: merged into its call"] += 1

    def _confirmed(self, event: dict[str, Any], at: float | None) -> None:
        call_id = str(event.get("tool_use_id") or "")
        decided = {key: event[key] for key in ("result", "deny_message") if event.get(key) is not None}
        seq = self._calls.get(call_id)
        asked = None if seq is None else {"name": self._steps[seq].name, "arguments": self._steps[seq].input}
        self._add(
            "approval", "tool_confirmation", event, at, input=asked, output=decided, also={"tool_call_id": call_id}
        )

    def _add(
        self,
        kind: Kind,
        name: str,
        event: dict[str, Any],
        at: float | None,
        *,
        input: Json = None,
        output: Json = None,
        error: StepError | None = None,
        also: dict[str, Any] | None = None,
    ) -> None:
        attributes = {"event_id": event["id"]} if event.get("id") else {}
        step = Step(0, kind, name, input, output, error, ended_at=at, attributes={**attributes, **(also or {})})
        self._steps.append(step)


def _parts(content: Any) -> list[Any]:
    if content is None:
        return []
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
