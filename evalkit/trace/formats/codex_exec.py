"""The steps of what ``codex exec --json`` prints: a thread's items as they start, change and end.

The stream shows what a person would follow, not what was sent: neither the prompt nor the messages of the model calls,
and tokens only by turn, so that the turn, an `agent` step, holds the usage. A model step is what was said and called
until a result came. Versions before 0.45 print ``{"id", "msg"}`` events, which are read as the items they became.
Source: https://github.com/openai/codex (``codex-rs/exec/src/exec_events.rs``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of
from evalkit.trace.formats.attributes import text_at
from evalkit.trace.formats.chat import text_of
from evalkit.trace.formats.codex_items import usage_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.formats.session_steps import SessionSteps
from evalkit.trace.model import Step, StepError, Usage

__all__ = ["ExecSteps", "is_exec_event", "is_old_event"]

_BROKEN = frozenset({"failed", "declined"})
_TOOLS = {"command_execution": "shell", "file_change": "apply_patch", "web_search": "web_search"}
_GIVEN = ("command", "changes", "query", "arguments", "prompt", "receiver_thread_ids", "action")
_CALLS = {"exec_command": "command_execution", "patch_apply": "file_change", "mcp_tool_call": "mcp_tool_call"}
_NOT_OUTPUT = frozenset({"id", "type", "status", "tool", "server", "error", *_GIVEN})


def is_exec_event(line: dict[str, Any]) -> bool:
    """Whether a line is one of the stream's."""
    kind = line.get("type")
    if kind == "thread.started":
        return isinstance(line.get("thread_id"), str)
    return isinstance(kind, str) and kind.startswith("item.") and isinstance(line.get("item"), dict)


def is_old_event(line: dict[str, Any]) -> bool:
    """Whether a line is an event of the older versions."""
    return isinstance(line.get("msg"), dict) and isinstance(line["msg"].get("type"), str) and "id" in line


class ExecSteps:
    """The lines of a stream, taken in order.

    Attributes:
        made: the steps and the messages so far.
        thread: the thread's id.
        first_words: the prompt, which only the older versions print.
        last_words: the last that the agent answered.
        ending: how it stands after the latest line.
    """

    def __init__(self, report: ReadReport) -> None:
        self.made = SessionSteps()
        self.thread: str | None = None
        self.facts: dict[str, Any] = {}
        self.first_words: Json = None
        self.last_words: str | None = None
        self.ending: StepError | str = "unfinished"
        self._report = report
        self._turn: int | None = None
        self._said: list[str] = []
        self._thought: list[str] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._usage: Usage | None = None

    def take(self, at: int, line: dict[str, Any]) -> None:
        """The line numbered `at`."""
        if is_old_event(line):
            for event in _as_new(dict_of(line["msg"])):
                self._event(at, event)
        elif isinstance(line.get("prompt"), str) and "type" not in line:
            self.first_words = line["prompt"]
            self.made.user({"role": "user", "content": line["prompt"]}, None, {"line": at})
        elif "type" not in line:
            self._report.skipped["settings line: read as the run's facts"] += 1
            self.facts.update(line)
        else:
            self._event(at, line)

    def end(self) -> None:
        """After the last line."""
        self._flush()

    def _event(self, at: int, event: dict[str, Any]) -> None:
        kind = str(event["type"])
        item = dict_of(event.get("item"))
        if kind == "thread.started":
            self.thread = str(event.get("thread_id"))
            self._report.skipped["thread.started event: the run's id"] += 1
        elif kind == "turn.started":
            self._flush()
            self._turn = self.made.note(Step(0, "agent", "turn", attributes={"line": at}), None)
            self.ending = "unfinished"
        elif kind in ("turn.completed", "turn.failed"):
            self._turn_ends(event)
        elif kind == "item.completed":
            self._completed(at, item)
        elif kind in ("item.started", "item.updated"):
            if kind == "item.started" and _call_of(item) is not None:
                self._call(item)
            self._report.skipped[f"{kind} event: its end is read"] += 1
        elif kind == "tokens":
            self._usage = usage_of(event.get("usage"))
            self._flush()
        elif kind == "skipped":
            self._report.skipped[f"{event.get('name')} event: says another again"] += 1
        else:
            self._flush()
            self._note(at, kind, event)

    def _note(self, at: int, kind: str, event: dict[str, Any]) -> None:
        left = {key: value for key, value in event.items() if key != "type"}
        error = StepError("error", str(event.get("message") or "")) if kind == "error" else None
        if kind.endswith("_approval_request"):
            step = Step(0, "approval", kind, left, attributes={"line": at, "unfinished": True})
        else:
            step = Step(0, "other", kind, output=left, error=error, attributes={"line": at})
        self.made.note(step, None, self._turn)
        self.ending = error or self.ending

    def _turn_ends(self, event: dict[str, Any]) -> None:
        self._flush()
        told = event.get("error")
        error = StepError("TurnFailed", str(dict_of(told).get("message") or "")) if told else None
        usage = usage_of(event.get("usage"))
        if self._turn is not None:
            step = self.made.steps[self._turn]
            self.made.steps[self._turn] = replace(step, output=self.last_words, usage=usage, error=error)
        self._report.skipped[f"{event['type']} event: the turn's end"] += 1
        self._turn = None
        self.ending = error or "completed"

    def _completed(self, at: int, item: dict[str, Any]) -> None:
        kind, text = text_at(item, "type"), item.get("text")
        if kind in ("agent_message", "assistant_message", "reasoning") and isinstance(text, str):
            if self._calls or (kind == "reasoning" and self._said):
                self._flush()
            (self._thought if kind == "reasoning" else self._said).append(text)
        elif _call_of(item) is not None:
            self._call(item)
            self._flush()
            self._result(item)
        else:
            self._flush()
            self._note(at, str(kind or "item"), {**item, "type": kind})

    def _call(self, item: dict[str, Any]) -> None:
        call = _call_of(item)
        call_id = str(item.get("id") or "")
        if call is not None and call_id not in self._calls and call_id not in self.made.waiting:
            self._calls[call_id] = call

    def _result(self, item: dict[str, Any]) -> None:
        told = item.get("error")
        status = text_at(item, "status")
        output = {key: value for key, value in item.items() if key not in _NOT_OUTPUT and value is not None}
        error: StepError | None = None
        if told or status in _BROKEN:
            said = dict_of(told).get("message", told) or item.get("aggregated_output") or status
            error = StepError("ToolError", str(said))
        facts = {key: item[key] for key in ("status", "exit_code") if item.get(key) is not None}
        only = output.get("result", output.get("aggregated_output"))
        result: Json = only if only is not None else output or None
        message = {"role": "tool", "content": None if error else _text(result), "tool_call_id": str(item.get("id"))}
        if error:
            message["content"] = error.message
        self.made.result(str(item.get("id") or ""), None if error else result, error, None, facts, message)
        self._report.skipped["tool item: merged into its call"] += 1

    def _flush(self) -> None:
        if not (self._said or self._thought or self._calls):
            return
        content = "\n".join(self._said) or None
        answer: dict[str, Any] = {"role": "assistant", "content": content}
        if self._calls:
            answer["tool_calls"] = [*self._calls.values()]
        if self._thought:
            answer["reasoning"] = "\n".join(self._thought)
        self._said, self._thought, self._calls = [], [], {}
        attributes: dict[str, Any] = {"missing": ["input"]}
        self.made.model(answer, None, usage=self._usage, attributes=attributes, parent=self._turn)
        self._usage = None
        self.last_words = text_of(answer) or self.last_words


def _call_of(item: dict[str, Any]) -> dict[str, Any] | None:
    """The tool call that an item is; None for an item of another kind."""
    kind = text_at(item, "type")
    if kind == "mcp_tool_call":
        name, given = f"mcp__{item.get('server')}__{item.get('tool')}", item.get("arguments") or {}
    elif kind == "collab_tool_call":
        name, given = str(item.get("tool")), {key: item[key] for key in _GIVEN if item.get(key)}
    elif kind in _TOOLS:
        name, given = _TOOLS[kind], {key: item[key] for key in _GIVEN if item.get(key)}
    else:
        return None
    return {"id": str(item.get("id") or ""), "name": name, "arguments": given}


def _text(result: Json) -> Any:
    return result if isinstance(result, str) else [{"type": "json", "value": result}]


def _as_new(msg: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An event of the older versions as those that later versions print for it."""
    kind = str(msg["type"])
    family, _, end = kind.rpartition("_")
    if kind in ("agent_message", "agent_reasoning"):
        item = {"type": "reasoning" if kind == "agent_reasoning" else "agent_message"}
        yield {"type": "item.completed", "item": {**item, "text": msg.get("text", msg.get("message"))}}
    elif kind == "session_configured":
        yield {"type": "thread.started", "thread_id": msg.get("session_id")}
    elif kind in ("task_started", "turn_started"):
        yield {"type": "turn.started"}
    elif kind in ("task_complete", "turn_complete"):
        yield {"type": "turn.completed"}
    elif kind == "token_count":
        info = dict_of(msg.get("info"))
        yield {"type": "tokens", "usage": info.get("last_token_usage") if info else msg}
    elif family in _CALLS and end in ("begin", "end"):
        yield {"type": "item.started" if end == "begin" else "item.completed", "item": _old_item(family, end, msg)}
    elif end in ("delta", "break"):
        yield {"type": "skipped", "name": kind}
    else:
        yield msg


def _old_item(family: str, end: str, msg: dict[str, Any]) -> dict[str, Any]:
    invoked = dict_of(msg.get("invocation"))
    item = {**invoked, **{key: value for key, value in msg.items() if key not in ("call_id", "type", "invocation")}}
    item.update(id=msg.get("call_id"), type=_CALLS[family])
    if end == "end":
        failed = msg.get("success") is False or msg.get("exit_code") not in (None, 0) or "Err" in dict_of(
            msg.get("result")
        )  # fmt: skip
        item["status"] = "failed" if failed else "completed"
        printed = [msg[key] for key in ("stdout", "stderr") if isinstance(msg.get(key), str) and msg[key]]
        if printed and not item.get("aggregated_output"):
            item["aggregated_output"] = "\n".join(printed)
    return item
