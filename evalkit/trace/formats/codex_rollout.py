"""The steps of a Codex rollout: the file in which a thread is kept, so that it can be resumed.

Response items are what the model made and was given: they are read. Event messages mostly say the same again for
people: each is counted as such, merged into the call or the answer that it tells of, or, where it says more (an
error, an approval, a rollback), a step. A response ends where something is given back to the model or a token count
stands; older versions write a call's result right behind the call, so that parallel calls look like calls in turn.
Source: https://github.com/openai/codex (``codex-rs/protocol/src/protocol.rs``, ``codex-rs/rollout/src/policy.rs``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.attributes import text_at
from evalkit.trace.formats.chat import text_of, tool_definition, unix_seconds
from evalkit.trace.formats.codex_items import CALLS, HOSTED, RESULTS, answer_of, content_of, result_of_item, usage_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.formats.session_steps import SessionSteps
from evalkit.trace.model import Step, StepError, Usage

__all__ = ["RolloutSteps", "item_of"]

_INJECTED = re.compile(r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|user_shell_command|skill|"
                       r"subagent_notification|INSTRUCTIONS|user_action)\b|# AGENTS\.md instructions)")  # fmt: skip
_ITEM_KINDS = frozenset({"message", "reasoning"}) | CALLS | HOSTED | RESULTS
_SAID_AGAIN = frozenset({"agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted",
                         "agent_reasoning_section_break", "raw_response_item"})  # fmt: skip
_STARTED = frozenset({"task_started", "turn_started"})
_COMPLETE = frozenset({"task_complete", "turn_complete"})
_APPROVALS = frozenset({"exec_approval_request", "apply_patch_approval_request", "elicitation_request",
                        "request_permissions", "guardian_assessment"})  # fmt: skip
_TURN_FACTS = ("approval_policy", "sandbox_policy", "permission_profile", "cwd", "collaboration_mode", "personality")
_COMPACTED = "what the model was given after a compaction is not recorded in full"


def item_of(line: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A line's type and what it holds; the bare items of the oldest versions are ``response_item``."""
    if isinstance(line.get("payload"), dict) and isinstance(line.get("type"), str):
        return line["type"], line["payload"]
    if text_at(line, "type") in _ITEM_KINDS:
        return "response_item", line
    return ("state" if "record_type" in line else "session_meta" if "timestamp" in line else "line"), line


class RolloutSteps:
    """The lines of a rollout, taken in order.

    Attributes:
        made: the steps and the messages so far.
        meta: the thread's own header.
        last_words: the last that the agent answered.
        ending: how it stands after the latest line.
        gaps: what the file does not tell, each once.
    """

    def __init__(self, lines: Iterable[dict[str, Any]], report: ReadReport) -> None:
        self.made = SessionSteps()
        self.meta: dict[str, Any] = {}
        self.first_words: Json = None
        self.last_words: str | None = None
        self.ending: StepError | str = "unfinished"
        self.gaps: dict[str, None] = {}
        self._report = report
        self._items: list[dict[str, Any]] = []
        self._items_at: float | None = None
        self._turns: list[int] = []
        self._context: dict[str, Any] = {}
        self._held: Usage | None = None
        self._total: Any = None
        self._open: int | None = None
        self._failed: dict[str, bool] = {}
        found = [item_of(line) for line in lines]
        self._typed = {_message(item) for kind, item in found if kind == "event_msg" and _is(item, "user_message")}
        self._sent = {text for kind, item in found if kind == "response_item" for text in _texts(item)}

    def take(self, at: int, line: dict[str, Any]) -> None:
        """The line numbered `at`."""
        kind, item = item_of(line)
        when = unix_seconds(line.get("timestamp"))
        if kind == "response_item":
            self._item(at, item, when)
        elif kind == "event_msg":
            self._event(at, item, when)
        elif kind == "turn_context":
            self._flush()
            self._context = item
            self.made.params = {"reasoning_effort": item["effort"]} if item.get("effort") else {}
            self._report.skipped["turn_context line: facts of its model steps"] += 1
        elif kind == "compacted":
            self._compacted(item, when)
        elif kind == "session_meta":
            self._header(item)
        elif kind == "state":
            self._report.skipped["state record: no part of the conversation"] += 1
        else:
            self._flush()
            self.made.note(Step(0, "other", kind, output=item, attributes={"line": at}), when)

    def end(self) -> None:
        """After the last line."""
        self._flush()

    def _header(self, item: dict[str, Any]) -> None:
        if self.meta:
            self._report.skipped["session_meta line: of the thread that this one continues"] += 1
            return
        self._report.skipped["session_meta line: read as the run's facts"] += 1
        self.meta = item
        base = item.get("base_instructions")
        text = base.get("text") if isinstance(base, dict) else base
        if isinstance(text, str) and text:
            self.made.history.append({"role": "system", "content": text})
        self.made.tools = [tool_definition(tool) for tool in dicts(item.get("dynamic_tools"))]

    def _item(self, at: int, item: dict[str, Any], when: float | None) -> None:
        kind = text_at(item, "type")
        role = item.get("role")
        if kind in CALLS or kind == "reasoning" or kind in HOSTED or (kind == "message" and role == "assistant"):
            self._items.append(item)
            self._items_at = when or self._items_at
            return
        self._flush()
        if kind == "message":
            self._given(at, item, when)
        elif kind in RESULTS:
            self._result(at, item, when)
        elif kind == "ghost_snapshot":
            self._report.skipped["ghost_snapshot: a state of the files, not sent to the model"] += 1
        else:
            self.made.note(Step(0, "other", str(kind or "item"), output=item, attributes={"line": at}), when)
            if kind == "agent_message":
                self.made.history.append({"role": "user", "content": content_of(item.get("content"))})

    def _given(self, at: int, item: dict[str, Any], when: float | None) -> None:
        role = "user" if item.get("role") == "user" else "system"
        message = {"role": role, "content": content_of(item.get("content"))}
        texts = _texts(item)
        typed = bool(texts & self._typed) if self._typed else not any(_INJECTED.match(text) for text in texts)
        if role == "user" and typed:
            self._turn(at, message, when)
            return
        self.made.history.append(message)
        self._report.skipped[f"{item.get('role')} message of the program: kept in the model steps"] += 1

    def _turn(self, at: int, message: dict[str, Any], when: float | None) -> None:
        self._turns.append(len(self.made.history))
        self.made.user(message, when, {"line": at})
        self.first_words = message["content"] if self.first_words is None else self.first_words
        self.ending = "unfinished"

    def _result(self, at: int, item: dict[str, Any], when: float | None) -> None:
        call_id = str(item.get("call_id") or "")
        content, output, error = result_of_item(item, self._failed.pop(call_id, None))
        message = {"role": "tool", "content": content, "tool_call_id": call_id}
        self.ending = "unfinished"
        if self.made.result(call_id, output, error, when, {}, message):
            self._report.skipped["result item: merged into its call"] += 1
        else:
            self.made.note(Step(0, "other", "tool_result", output=message, attributes={"line": at}), when)

    def _flush(self) -> None:
        """The items of a response, if there are any, as one model step."""
        items, self._items = self._items, []
        if not items:
            return
        at = self._items_at
        answer = answer_of(items, self._report)
        model = self._context.get("model")
        facts = {key: self._context[key] for key in _TURN_FACTS if self._context.get(key) is not None}
        self._open = self.made.model(
            answer,
            at,
            model=model if isinstance(model, str) else None,
            usage=self._held,
            attributes=facts,
        )
        if self._held is not None:
            self._held = self._open = None
        for item in items:
            if text_at(item, "type") in HOSTED:
                self._hosted(item, at)
        if len(items) > 1:
            self._report.skipped["response item: merged into its answer"] += len(items) - 1
        self.last_words = text_of(answer) or self.last_words
        self.ending = "unfinished" if answer.get("tool_calls") else "completed"

    def _hosted(self, item: dict[str, Any], at: float | None) -> None:
        """A tool that ran at the provider: its call stands in no message, and its result nowhere."""
        call_id = str(item.get("id") or item.get("call_id") or "")
        name = str(item["type"]).removesuffix("_call")
        given = item.get("action") or {"prompt": item.get("revised_prompt")}
        self.made.call({"id": call_id, "name": name, "arguments": given}, at)
        facts: dict[str, Any] = {"hosted": True, "status": item.get("status")}
        result = item.get("result")
        self.made.result(call_id, result, None, at, facts if result else {**facts, "missing": ["output"]})

    def _compacted(self, item: dict[str, Any], when: float | None) -> None:
        self._flush()
        kept = [dict_of(each.get("item", each)) for each in dicts(item.get("replacement_history"))]
        summary = item.get("message")
        self.made.note(Step(0, "other", "compaction", output=summary or None), when)
        base = [message for message in self.made.history[:1] if dict_of(message).get("role") == "system"]
        if kept:
            self.made.forget([*base, *(message for each in kept for message in self._kept(each))])
        else:
            self.gaps[_COMPACTED] = None
            self.made.forget([*base, {"role": "user", "content": summary}])
        self._turns = []
        self._held = None

    def _kept(self, item: dict[str, Any]) -> list[Json]:
        """An item of the history after a compaction as Messages."""
        kind = text_at(item, "type")
        if kind in RESULTS:
            content, _, _ = result_of_item(item, None)
            return [{"role": "tool", "content": content, "tool_call_id": str(item.get("call_id") or "")}]
        if kind == "message" and item.get("role") != "assistant":
            role = "user" if item.get("role") == "user" else "system"
            return [{"role": role, "content": content_of(item.get("content"))}]
        if kind in CALLS or kind in ("message", "reasoning"):
            return [answer_of([item], ReadReport())]
        self.gaps[_COMPACTED] = None
        return []

    def _event(self, at: int, item: dict[str, Any], when: float | None) -> None:
        kind = str(item.get("type") or "event")
        call_id = item.get("call_id")
        if kind == "token_count":
            self._tokens(item)
        elif kind == "user_message" and _message(item) not in self._sent:
            self._flush()
            self._turn(at, {"role": "user", "content": item.get("message")}, when)
        elif kind == "user_message" or kind in _SAID_AGAIN or kind.endswith("_delta"):
            self._report.skipped[f"{kind} event: says an item again"] += 1
        elif kind in _STARTED or kind in _COMPLETE:
            self._flush()
            self._report.skipped[f"{kind} event: marks the turn"] += 1
            self.ending = "completed" if kind in _COMPLETE else "unfinished"
        elif kind.endswith(("_begin", "_end")) and isinstance(call_id, str) and self._tells(kind, call_id, item):
            self._report.skipped[f"{kind} event: merged into its call"] += 1
        else:
            self._flush()
            self._note(at, kind, item, when)

    def _tells(self, kind: str, call_id: str, item: dict[str, Any]) -> bool:
        """More about a call; False when nobody made it."""
        if any(call_id in (each.get("call_id"), each.get("id")) for each in self._items):
            self._flush()
        told = {key: value for key, value in item.items() if key not in ("type", "call_id") and value is not None}
        if kind.endswith("_end"):
            result = dict_of(item.get("result"))
            broken = "Err" in result or bool(dict_of(result.get("Ok")).get("is_error", False))
            code = item.get("exit_code")
            if "result" in item or "success" in item or isinstance(code, int):
                self._failed[call_id] = broken or item.get("success") is False or code not in (None, 0)
        return self.made.add_attributes(call_id, {kind: told})

    def _note(self, at: int, kind: str, item: dict[str, Any], when: float | None) -> None:
        left = {key: value for key, value in item.items() if key != "type" and value is not None}
        said = item.get("message")
        if kind in _APPROVALS:
            status = item.get("status")
            decided: Json = {"decision": status} if isinstance(status, str) else None
            facts = {"line": at} if decided else {"line": at, "unfinished": True}
            self.made.note(Step(0, "approval", kind, left, decided, attributes=facts), when)
            return
        error = StepError(kind, str(said or "")) if kind in ("error", "stream_error") else None
        self.made.note(Step(0, "other", kind, output=left, error=error, attributes={"line": at}), when)
        if kind == "error":
            self.ending = StepError(kind, str(said or ""))
        elif kind == "turn_aborted":
            self.ending = "interrupted"
        elif kind == "thread_rolled_back":
            self._roll_back(item.get("num_turns"))

    def _roll_back(self, count: Any) -> None:
        """The model no longer sees the last `count` turns; that they ran stays in the trace."""
        if isinstance(count, int) and count > 0 and self._turns:
            cut = self._turns[max(len(self._turns) - count, 0)]
            self.made.forget(self.made.history[:cut])
            self._turns = [place for place in self._turns if place < cut]

    def _tokens(self, item: dict[str, Any]) -> None:
        """A count of tokens: of the response before it, or, in older versions, of the one behind it."""
        info = dict_of(item.get("info"))
        total = info.get("total_token_usage")
        if not info or total == self._total:
            self._report.skipped["token_count event: nothing new"] += 1
            return
        self._flush()
        self._total = total
        usage = usage_of(info.get("last_token_usage"))
        if self._open is None:
            self._held = usage
        else:
            self.made.steps[self._open] = replace(self.made.steps[self._open], usage=usage)
            self._open = None
        self._report.skipped["token_count event: usage of a model step"] += 1


def _is(item: dict[str, Any], kind: str) -> bool:
    return item.get("type") == kind


def _message(item: dict[str, Any]) -> str:
    said = item.get("message")
    return said if isinstance(said, str) else ""


def _texts(item: dict[str, Any]) -> set[str]:
    """The texts of a user's message, each part and all of them together."""
    if item.get("type") != "message" or item.get("role") != "user":
        return set()
    parts = [part["text"] for part in dicts(item.get("content")) if isinstance(part.get("text"), str)]
    return {*parts, "".join(parts)}
