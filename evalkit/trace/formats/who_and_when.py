"""Who&When failure logs: one JSON document a run, with the ``history`` of a group of agents.

Each entry is a message of one agent: its name stands in ``name``, or in ``role`` (hand-crafted logs, which also say
whom the orchestrator speaks to). The terminal runs the code of the message before it; it is a tool, not a model. The
answer, the correctness and the mistake (agent, step, reason) are labels and never enter a trace.
Source: https://github.com/mingyin1/Agents_Failure_Attribution
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of
from evalkit.trace.formats.chat import text_of
from evalkit.trace.formats.conversation import messages_in, refuse_too_long
from evalkit.trace.formats.documents import whole_document
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import USER_MESSAGE, Step, StepError, Trace

__all__ = ["FORMAT"]

_CHAT_ROLES = frozenset({"user", "assistant", "system", "tool"})
_LABELS = ("is_correct", "is_corrected", "ground_truth", "groundtruth", "mistake_agent", "mistake_step",
           "mistake_reason", "level")  # fmt: skip
_MARKS = ("question_ID", "mistake_agent", "mistake_step", "system_prompt")
_TERMINALS = frozenset({"computer_terminal", "computerterminal"})
_RAN = re.compile(r"exitcode: (-?\d{1,10})")
_CODE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_SPEAKER = re.compile(r"(.*?)(?: \((.*)\))?$", re.DOTALL)


class WhoAndWhenFormat:
    """A document with a question and the history of a group of agents."""

    name = "who-and-when"

    def detect(self, source: Source) -> bool:
        """Whether it is a document with a question and a history."""
        return source.head.lstrip().startswith(b"{") and _is_log(source.document())

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The one trace of the document.

        Raises:
            UnreadableTrace: it has no question or no history.
        """
        document = whole_document(source)
        if not isinstance(document, dict) or not _is_log(document):
            raise UnreadableTrace("no question with a history", source.where, "pass a Who&When log")
        report.skipped.update(f"label {key}: not part of the run" for key in _LABELS if key in document)
        log = _Log(dict_of(document.get("system_prompt")), report)
        history = document["history"]
        for at, raw in messages_in(history if isinstance(history, list) else [], report):
            log.take(at, raw)
        report.skipped.update(["system prompt: of an agent that said nothing"] * log.unused_prompts())
        report.steps.update(step.kind for step in log.steps)
        question_id = document.get("question_ID")
        yield Trace(
            id=str(question_id) if isinstance(question_id, str | int) and question_id else "run",
            name="who-and-when",
            dialect=self.name,
            steps=tuple(log.steps),
            input=document["question"],
            output=log.said,
            gaps=("Who&When records neither times nor models nor tool definitions",),
        )


FORMAT = WhoAndWhenFormat()


def _is_log(document: Json) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("history"), list)
        and isinstance(document.get("question"), str)
        and any(key in document for key in _MARKS)
    )


class _Log:
    """The steps so far, and who said what so far."""

    def __init__(self, prompts: dict[str, Any], report: ReadReport) -> None:
        self.steps: list[Step] = []
        self.said: str | None = None
        self._prompts = prompts
        self._report = report
        self._before: list[tuple[str, dict[str, Json], dict[str, Json]]] = []
        self._code: list[str] | None = None
        self._references = 0

    def unused_prompts(self) -> int:
        """How many of the prompts are of agents that never answered."""
        return len(self._prompts.keys() - {step.attributes.get("agent") for step in self.steps if step.kind == "model"})

    def take(self, at: int, raw: dict[str, Any]) -> None:
        agent, aside = _speaker(raw)
        content = raw.get("content")
        attributes: dict[str, Any] = {"message": at, **({"agent": agent} if agent else {})}
        if aside:
            attributes["aside"] = aside
        message: dict[str, Json] = {"role": "user", "content": content, **({"name": agent} if agent else {})}
        answer: dict[str, Json] = {"role": "assistant", "content": content}
        seq = len(self.steps)
        if agent.lower() in _TERMINALS:
            self.steps.append(self._terminal(seq, content, attributes))
        elif at == 0 or agent.lower() in ("human", ""):
            self.steps.append(Step(seq, "other", USER_MESSAGE, output=message, attributes=attributes))
        else:
            self._references += len(self._before)
            refuse_too_long(self._references, at)
            given: dict[str, Json] = {"messages": self._seen_by(agent), "tools": [], "params": {}}
            self.steps.append(Step(seq, "model", "chat", given, answer, attributes=attributes))
            self.said = text_of(answer) or self.said
        self._before.append((agent, message, answer))
        self._code = _blocks(message) or self._code

    def _seen_by(self, agent: str) -> list[Json]:
        """The history from one agent's side: its own messages are the assistant's."""
        prompt = self._prompts.get(agent)
        system: list[Json] = [{"role": "system", "content": prompt}] if isinstance(prompt, str) else []
        return [*system, *(own if name == agent else said for name, said, own in self._before)]

    def _terminal(self, seq: int, content: Any, attributes: dict[str, Any]) -> Step:
        text = content if isinstance(content, str) else ""
        ran = _RAN.match(text)
        if ran is None:
            message = {"role": "user", "content": content}
            return Step(seq, "other", "terminal_message", output=message, attributes=attributes)
        error = None if int(ran[1]) == 0 else StepError("ExecutionFailed", text)
        return Step(
            seq,
            "tool",
            "execute_code",
            None if self._code is None else {"code": [*self._code]},
            None if error else text,
            error,
            effect="write",
            effect_source="guessed",
            attributes=attributes,
        )


def _blocks(message: dict[str, Any]) -> list[str]:
    return [str(block) for block in _CODE.findall(text_of(message) or "")]


def _speaker(raw: dict[str, Any]) -> tuple[str, str]:
    """The agent that wrote an entry, and what the role says beside its name (``thought``, ``-> WebSurfer``)."""
    name, role = raw.get("name"), raw.get("role")
    if isinstance(name, str) and name:
        return name, ""
    if not isinstance(role, str) or role in _CHAT_ROLES:
        return ("assistant" if role == "assistant" else ""), ""
    found = _SPEAKER.match(role)
    return (found[1], found[2] or "") if found else (role, "")
