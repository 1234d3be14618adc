"""What AutoGen (and AG2) leaves of a run: one JSON document, or one message a line.

- a ``TaskResult``, a team's saved state, or a list of AgentChat messages (0.4 and later);
- a model context: a list of core messages, alone or in a state;
- a session of ``ChatCompletionClientRecorder``: a list of ``{"mode", "messages", "response", "stream"}``;
- a ``ChatResult`` or a history of 0.2: ``{"chat_history": [...], "cost", ...}``, or messages with ``tool_responses``.

A plain list of OpenAI messages, which 0.2 writes for chats without tools, names no framework, and is not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.attributes import text_at
from evalkit.trace.formats.autogen_messages import MODEL_MESSAGES, is_typed
from evalkit.trace.formats.autogen_steps import chat_steps, context_steps, recorded_steps, talk_steps, words_of
from evalkit.trace.formats.conversation import messages_in
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import Step, StepError, Trace

__all__ = ["FORMAT"]

_NO_PROMPTS = "the agents' system messages and tools are not in the file"
_FACTS = ("stop_reason", "summary", "cost", "human_input", "chat_id", "version")
_MAX_DEPTH = 50
_MODES = frozenset({"create", "create_stream"})


class AutoGenFormat:
    """A document of one of the kinds in the module's list, or lines that are messages."""

    name = "autogen"

    def detect(self, source: Source) -> bool:
        """Whether it is one of the documents, or the first line is a message of AutoGen."""
        document = first_document(source)
        return is_typed(document) or next(_runs(document), None) is not None

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The run; for a saved state, one trace for each agent's context.

        Raises:
            UnreadableTrace: a document is none of AutoGen's.
        """
        lines: list[Json] = []
        name = source.path.stem if source.path else "run"
        for where, document in documents(source):
            if is_typed(document):
                lines.append(document)
                continue
            found = [*_runs(document)]
            if not found:
                raise UnreadableTrace("nothing that AutoGen writes", where, "pass a TaskResult, a state or a history")
            for number, (suffix, items) in enumerate(found):
                yield _trace(name + (f"/{suffix or number}" if len(found) > 1 else ""), items, document, report)
        if lines:
            yield _trace(name, lines, None, report)


FORMAT = AutoGenFormat()


def _runs(document: Json) -> Iterator[tuple[str, list[Json]]]:
    """The lists of messages or records in a document, each with the agent's name if it is one agent's."""
    if isinstance(document, list):
        if _is_list_of_ours(document):
            yield "", document
        return
    if not isinstance(document, dict):
        return
    history, messages = document.get("chat_history"), document.get("messages")
    if isinstance(history, list) and dicts(history) and ("cost" in document or "human_input" in document):
        yield "", history
    elif isinstance(messages, list) and _is_list_of_ours(messages):
        yield "", messages
    elif str(document.get("type")).endswith("State"):
        yield from _of_state(document, "")


def _is_list_of_ours(items: list[Any]) -> bool:
    found = dicts(items)
    if not found:
        return False
    first = found[0]
    recorded = text_at(first, "mode") in _MODES and all(is_typed(each) for each in dicts(first.get("messages")))
    return is_typed(first) or (recorded and "stream" in first) or any(_has_results(each) for each in found)


def _has_results(item: dict[str, Any]) -> bool:
    return isinstance(item.get("tool_responses"), list) and "role" in item


def _of_state(state: dict[str, Any], name: str) -> Iterator[tuple[str, list[Json]]]:
    """The agents' contexts in a saved state; where no agent has one, the thread of the team's manager."""
    found = [*_contexts(state, name, 0)]
    own = [(agent, items) for agent, kind, items in found if kind == "llm_context"]
    yield from own or [(agent, items) for agent, _, items in found]


def _contexts(state: Any, name: str, depth: int) -> Iterator[tuple[str, str, list[Json]]]:
    if not isinstance(state, dict) or depth > _MAX_DEPTH:
        return
    context = dict_of(state.get("llm_context")).get("messages")
    for kind, items in (("llm_context", context), ("message_thread", state.get("message_thread"))):
        if isinstance(items, list) and any(is_typed(each) for each in items):
            yield name, kind, items
    for key in ("agent_state", "inner_team_state"):
        yield from _contexts(state.get(key), name, depth + 1)
    for inner, each in dict_of(state.get("agent_states")).items():
        yield from _contexts(each, f"{name}.{inner}" if name else inner, depth + 1)


def _trace(run_id: str, items: list[Any], document: Json, report: ReadReport) -> Trace:
    held = dict_of(document)
    messages = messages_in(items, report)
    kinds = {text_at(raw, "type") for _, raw in messages}
    gaps = [_NO_PROMPTS]
    steps: Iterable[Step]
    if any(text_at(raw, "mode") in _MODES for _, raw in messages):
        steps, gaps = recorded_steps(messages), ["the recorder writes no definitions of tools, and no times"]
    elif kinds & MODEL_MESSAGES:
        steps = context_steps(messages, report)
    elif any(is_typed(raw) for _, raw in messages):
        steps = talk_steps(messages, report)
    else:
        steps = chat_steps(messages, report)
    steps = tuple(steps)
    report.steps.update(step.kind for step in steps)
    asked, said = words_of(steps)
    times = [at for step in steps for at in (step.started_at, step.ended_at) if at is not None]
    stop, waiting = held.get("stop_reason"), any(step.attributes.get("unfinished") for step in steps)
    error = StepError("Error", stop) if isinstance(stop, str) and stop.startswith("Error") else None
    kept = {key: held[key] for key in _FACTS if held.get(key)}
    return Trace(
        id=run_id,
        name="autogen",
        dialect=AutoGenFormat.name,
        steps=steps,
        input=asked,
        output=said,
        error=error,
        status="failed" if error else "unfinished" if waiting else "completed",
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        attributes=kept,
        gaps=tuple(gaps),
    )
