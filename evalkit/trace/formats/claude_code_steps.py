"""The steps of one branch of a Claude Code session.

An answer is written block by block, as several lines with one ``message.id`` that all repeat its usage: it is one
model step. A tool's result is a user's line. What the program adds to the conversation by itself (``isMeta``, the
summary after a compaction) is kept in the messages, and is no user's turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of
from evalkit.trace.formats.chat import result_of, text_of, unix_seconds
from evalkit.trace.formats.claude_code_lines import Line
from evalkit.trace.formats.claude_code_messages import answer_of, content_of, usage_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.formats.session_steps import SessionSteps
from evalkit.trace.model import Step, StepError

__all__ = ["BranchSteps", "Marks"]

Marks = dict[int, tuple[list[Json], int]]
"""By a line's position: the messages after it, as a list and how many of its items."""

_SYNTHETIC = "<synthetic>"
_ENVELOPE = frozenset(
    "type uuid parentUuid logicalParentUuid sessionId session_id timestamp isSidechain userType cwd version gitBranch "
    "slug message entrypoint".split()
)
_ATTACHED = "attachments reached the model in words that the session does not record"
_TRIMMED = "old tool results were cut out of later model calls, which the session does not record"
_CLEARED = "<command-name>/clear</command-name>"
_INTERRUPTED = "[Request interrupted by user"


class BranchSteps:
    """The lines of a branch, taken in order.

    Attributes:
        made: the steps and the messages so far.
        agents: by the id of a sub-agent, the id of the call that started it.
        first_words, last_words: the first that a user said, the last that the agent answered.
        ending: how it stands after the latest line.
        gaps: what the file does not tell of the messages, each once.
    """

    def __init__(self, report: ReadReport, history: Iterable[Json] = ()) -> None:
        self.made = SessionSteps(history)
        self.agents: dict[str, str] = {}
        self.first_words: Json = None
        self.last_words: str | None = None
        self.ending: StepError | str = "unfinished"
        self._report = report
        self.gaps: dict[str, None] = {}
        self._compaction: int | None = None
        self._told: dict[str, list[Json]] = {}
        self._kept: list[Json] = []
        self._known = len(self.made.history)

    def take(self, lines: Sequence[Line], members: Iterable[int], marks: Marks) -> None:
        """All lines of a branch; `marks` is told of each."""
        answers: defaultdict[str, list[int]] = defaultdict(list)
        order: list[list[int]] = []
        for at in members:
            answer_id = lines[at].answer_id
            together = [] if answer_id is None else answers[answer_id]
            if not together:
                order.append(together)
            together.append(at)
        for places in order:
            self._take([lines[at] for at in places])
            self._remember([lines[at] for at in places])
            marks.update(dict.fromkeys(places, (self.made.history, len(self.made.history))))

    def _remember(self, together: list[Line]) -> None:
        """Which messages the lines made: a compaction may keep some of them."""
        told = self.made.history[self._known :] if self._known <= len(self.made.history) else []
        for line in together:
            self._told[str(line.raw.get("uuid"))] = told
        self._known = len(self.made.history)

    def _take(self, together: list[Line]) -> None:
        line = together[0]
        at = unix_seconds(together[-1].raw.get("timestamp"))
        if line.kind == "assistant":
            self._assistant(together, at)
        elif line.kind == "user":
            self._user(line, at)
        elif line.raw.get("subtype") == "compact_boundary":
            self.made.forget([])
            self._kept = self._preserved(dict_of(line.raw.get("compactMetadata")))
            self._compaction = self.made.note(Step(0, "other", "compaction", attributes=_left(line)), at)
        elif line.kind == "attachment":
            self._attachment(line, at)
        elif line.kind == "progress":
            self._report.skipped["progress line: news of a call that runs"] += 1
        else:
            self._note(line, at)

    def _assistant(self, together: list[Line], at: float | None) -> None:
        line = together[0]
        named = line.message.get("model")
        report = self._report
        if len(together) > 1:
            report.skipped["assistant line: merged into its answer"] += len(together) - 1
        blocks = [block for each in together for block in each.blocks]
        if not blocks and isinstance(line.message.get("content"), str):
            blocks = [{"type": "text", "text": line.message["content"]}]
        answer = answer_of(blocks, report)
        kept: dict[str, Any] = {"line": line.at, **_left(*together)}
        if line.raw.get("isApiErrorMessage"):
            error = StepError(str(line.raw.get("error") or "ApiError"), text_of(answer) or "")
            self.made.model(None, at, error=error, attributes=kept)
            self.ending = error
            return
        if named == _SYNTHETIC:
            step = Step(0, "other", "assistant_message", output=answer, attributes={**kept, "scripted": True})
            self.made.note(step, at)
            self.made.history.append(answer)
            return
        stops = [each.message["stop_reason"] for each in together if each.message.get("stop_reason")]
        usages = [each.message["usage"] for each in together if isinstance(each.message.get("usage"), dict)]
        self.made.model(
            answer,
            at,
            model=named if isinstance(named, str) else None,
            usage=usage_of(usages[-1]) if usages else None,
            attributes={**kept, "stop_reason": stops[-1]} if stops else kept,
        )
        self.last_words = text_of(answer) or self.last_words
        self.ending = "unfinished" if answer.get("tool_calls") else "completed"

    def _user(self, line: Line, at: float | None) -> None:
        content = line.message.get("content")
        blocks = [block for block in line.blocks if block.get("type") == "tool_result"]
        for block in blocks:
            self._result(line, block, at, alone=len(blocks) == 1)
        rest = [block for block in line.blocks if block.get("type") != "tool_result"]
        if isinstance(content, list):
            content = content_of(rest)
        if content is None and blocks:
            return
        message = {"role": "user", "content": content}
        if line.raw.get("isCompactSummary"):
            self._summary(line, message, at)
        elif line.raw.get("isMeta"):
            self._report.skipped["user line of the program: kept in the model steps"] += 1
            self.made.history.append(message)
        else:
            said = text_of(message)
            self.made.user(message, at, {"line": line.at, **_left(line)})
            self.first_words = content if self.first_words is None else self.first_words
            self.ending = "interrupted" if said and said.startswith(_INTERRUPTED) else "unfinished"
            if said and _CLEARED in said:
                self.made.forget([])

    def _result(self, line: Line, block: dict[str, Any], at: float | None, *, alone: bool) -> None:
        call_id = str(block.get("tool_use_id") or "")
        content = content_of(block.get("content"))
        output, error = result_of(content, bool(block.get("is_error")))
        message = {"role": "tool", "content": content, "tool_call_id": call_id}
        kept: dict[str, Any] = _left(line) if alone else {}
        told = dict_of(line.raw.get("toolUseResult", line.raw.get("tool_use_result"))).get("agentId")
        agent = told or (None if line.raw.get("isSidechain") else line.raw.get("agentId"))
        if isinstance(agent, str):
            self.agents.setdefault(agent, call_id)
        if self.made.result(call_id, output, error, at, kept, message):
            self._report.skipped["tool_result block: merged into its call"] += 1
        else:
            self.made.note(Step(0, "other", "tool_result", output=message, attributes={"line": line.at, **kept}), at)
        denial = line.raw.get("toolDenialKind")
        if isinstance(denial, str) and denial != "cancelled":
            asked: dict[str, Json] = {"tool_call_id": call_id}
            decided: dict[str, Json] = {"decision": "denied", "by": denial}
            self.made.note(Step(0, "approval", "tool_permission", asked, decided, attributes={"line": line.at}), at)
        self.ending = "unfinished"

    def _preserved(self, told: dict[str, Any]) -> list[Json]:
        """The messages that a compaction keeps behind its summary."""
        named = dict_of(told.get("preservedMessages")).get("uuids")
        head = dict_of(told.get("preservedSegment")).get("headUuid")
        uuids = [each for each in named if isinstance(each, str)] if isinstance(named, list) else []
        if not uuids and isinstance(head, str) and head in self._told:
            known = [*self._told]
            uuids = known[known.index(head) :]
        kept = {id(message): message for each in uuids for message in self._told.get(each, ())}
        return [*kept.values()]

    def _summary(self, line: Line, message: dict[str, Any], at: float | None) -> None:
        self.made.forget([message, *self._kept])
        self._kept = []
        if self._compaction is None:
            self._compaction = self.made.note(Step(0, "other", "compaction", attributes=_left(line)), at)
        self.made.steps[self._compaction] = replace(self.made.steps[self._compaction], output=message)
        self._compaction = None
        self._report.skipped["summary of a compaction: kept in the model steps"] += 1

    def _attachment(self, line: Line, at: float | None) -> None:
        held = dict_of(line.raw.get("attachment"))
        if held.get("type") == "queued_command" and isinstance(held.get("prompt"), str | list):
            message = {"role": "user", "content": content_of(held["prompt"])}
            self.made.user(message, at, {"line": line.at, "queued": True})
            return
        self.gaps[_ATTACHED] = None
        self.made.note(Step(0, "other", "attachment", output=held, attributes={"line": line.at}), at)

    def _note(self, line: Line, at: float | None) -> None:
        name = line.raw.get("subtype") or line.kind or "line"
        if name == "microcompact_boundary":
            self.gaps[_TRIMMED] = None
        left = _left(line)
        said = left.pop("content", None)
        error = StepError("ApiError", str(left.get("error", said) or "")) if name == "api_error" else None
        self.made.note(Step(0, "other", str(name), output=said, error=error, attributes={"line": line.at, **left}), at)


def _left(*lines: Line) -> dict[str, Any]:
    """What lines hold beside their message and the envelope."""
    return {
        key: value
        for line in lines
        for key, value in line.raw.items()
        if key not in _ENVELOPE and value not in (None, False, "")
    }
