"""SWE-agent trajectories (``.traj``): one JSON document with ``history`` (chat messages) and ``trajectory`` (entries).

The history is what the model saw, so it is what is read; an entry of the trajectory adds its state and duration to the
model step of the same number. Without a history the entries themselves are read. Models that call no tools write their
command as text (see `formats.text_actions`).
Source: https://github.com/SWE-agent/SWE-agent (``sweagent.types``: ``TrajectoryStep``, ``HistoryItem``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.chat import message_of, text_of
from evalkit.trace.formats.conversation import Turn, conversation_steps, messages_in
from evalkit.trace.formats.documents import whole_document
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.text_actions import ACTION, with_text_actions
from evalkit.trace.model import StepError, Trace

__all__ = ["FORMAT"]

_MESSAGE_KEYS = ("role", "content", "tool_calls", "tool_call_id", "reasoning_content", "name")
_FINISHED = ("submitted",)


class SweAgentFormat:
    """A document with a history of agents' messages, or a trajectory of actions."""

    name = "swe-agent"

    def detect(self, source: Source) -> bool:
        """Whether it is a document of one of the two."""
        return source.head.lstrip().startswith(b"{") and _is_run(source.document())

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The one trace of the document.

        Raises:
            UnreadableTrace: it has neither history nor trajectory.
        """
        document = whole_document(source)
        if not isinstance(document, dict) or not _is_run(document):
            raise UnreadableTrace("neither history nor trajectory", source.where, "pass a SWE-agent .traj file")
        yield _trace(document, source, report)


FORMAT = SweAgentFormat()


def _is_run(document: Json) -> bool:
    if not isinstance(document, dict):
        return False
    history, entries = dicts(document.get("history")), dicts(document.get("trajectory"))
    return bool(
        (history and {"role", "agent"} <= set(history[0])) or (entries and {"action", "observation"} <= set(entries[0]))
    )


def _trace(document: dict[str, Any], source: Source, report: ReadReport) -> Trace:
    info, entries = dict_of(document.get("info")), dicts(document.get("trajectory"))
    if document.get("replay_config"):
        report.skipped["replay_config: settings, only the model's name is read"] += 1
    config = dict_of(dict_of(document.get("replay_config")).get("agent"))
    model = dict_of(config.get("model")).get("name")
    history = document["history"] if isinstance(document.get("history"), list) else []
    items = history if dicts(history) else _history(entries)
    turns = _turns(messages_in(items, report), entries, model if isinstance(model, str) else None, report)
    steps = with_text_actions(conversation_steps(turns, report), report)
    ending, submission = info.get("exit_status"), info.get("submission")
    broken = isinstance(ending, str) and ending not in _FINISHED
    asked = [text_of(turn.message) for turn in turns if turn.message["role"] == "user" and not turn.attributes]
    kept = {"environment": document.get("environment"), "exit_status": ending, "model_stats": info.get("model_stats")}
    return Trace(
        id=source.path.stem if source.path else "run",
        name="swe-agent",
        dialect=SweAgentFormat.name,
        steps=steps,
        input=asked[0] if asked else None,
        output=submission,
        error=StepError(str(ending), "the run ended without a plain submission") if broken else None,
        status="failed" if broken else "completed" if info else "unfinished",
        attributes={key: value for key, value in kept.items() if value is not None},
        gaps=("SWE-agent records neither times nor tool definitions",),
    )


def _history(entries: list[dict[str, Any]]) -> list[Json]:
    """The messages that entries without a history tell of."""
    messages: list[Json] = []
    for entry in entries:
        messages.append({"role": "assistant", "content": entry.get("response"), "action": entry.get("action")})
        messages.append({"role": "user", "content": entry.get("observation")})
    return messages


def _turns(
    messages: list[tuple[int, dict[str, Any]]], entries: list[dict[str, Any]], model: str | None, report: ReadReport
) -> list[Turn]:
    acting = [at for at, raw in messages if raw.get("role") == "assistant" and not raw.get("is_demo")]
    fits = len(acting) == len(entries)
    if entries:
        told = "merged into its model step" if fits else "the history, which has another length, is read instead"
        report.skipped[f"trajectory entry: {told}"] += len(entries)
    paired = dict(zip(acting, entries, strict=True)) if fits else {}
    return [_turn(at, raw, paired.get(at, {}), model) for at, raw in messages]


def _turn(at: int, raw: dict[str, Any], entry: dict[str, Any], model: str | None) -> Turn:
    plain = {key: raw[key] for key in _MESSAGE_KEYS if key in raw}
    answered = raw.get("tool_call_ids")
    if isinstance(answered, list) and answered and "tool_call_id" not in plain:
        plain["tool_call_id"] = answered[0]
    message = message_of(plain)
    kept: dict[str, Any] = {key: entry[key] for key in ("state", "execution_time") if entry.get(key) is not None}
    if raw.get("agent") not in (None, "main", "primary"):
        kept["agent"] = raw["agent"]
    if raw.get("is_demo"):
        kept["is_demo"] = True
    if message["role"] == "assistant" and not message.get("tool_calls") and isinstance(raw.get("action"), str):
        kept[ACTION] = raw["action"]
    return Turn(at, message, model=model, scripted=bool(raw.get("is_demo")), attributes=tuple(kept.items()))
