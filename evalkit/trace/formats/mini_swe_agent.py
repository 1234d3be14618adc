"""mini-swe-agent trajectories (``.traj.json``): ``{"info", "messages", "trajectory_format"}``, one run a document.

A message's ``extra`` holds what is not the model's: the provider's response, the cost, the commands taken from the
answer, the time (seconds since 1970). The last message, of role ``exit``, is the run's ending.
Source: https://github.com/SWE-agent/mini-swe-agent (``minisweagent.agents.default``, ``DefaultAgent.serialize``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.attributes import number_of
from evalkit.trace.formats.chat import message_of, text_of, usage_of
from evalkit.trace.formats.conversation import Turn, conversation_steps, messages_in
from evalkit.trace.formats.documents import whole_document
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.text_actions import ACTION, with_text_actions
from evalkit.trace.model import StepError, Trace

__all__ = ["FORMAT"]

_MESSAGE_KEYS = ("role", "content", "tool_calls", "tool_call_id", "reasoning_content", "refusal", "name")
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_NOT_SAMPLING = frozenset({"api_key", "api_base", "drop_params", "custom_llm_provider", "extra_headers", "base_url"})
_FINISHED = "Submitted"


class MiniSweAgentFormat:
    """A document with messages and the harness' own facts about the run."""

    name = "mini-swe-agent"

    def detect(self, source: Source) -> bool:
        """Whether it is a document that names the format, or has the harness' facts."""
        return source.head.lstrip().startswith(b"{") and _is_run(source.document())

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The one trace of the document.

        Raises:
            UnreadableTrace: it holds no run of mini-swe-agent.
        """
        document = whole_document(source)
        if not isinstance(document, dict) or not _is_run(document):
            raise UnreadableTrace("no messages of a run", source.where, "pass a mini-swe-agent .traj.json file")
        yield _trace(document, source, report)


FORMAT = MiniSweAgentFormat()


def _is_run(document: Json) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        return False
    form, info = document.get("trajectory_format"), dict_of(document.get("info"))
    return (isinstance(form, str) and form.startswith("mini-swe-agent")) or "mini_version" in info


def _trace(document: dict[str, Any], source: Source, report: ReadReport) -> Trace:
    info = dict_of(document.get("info"))
    settings = dict_of(dict_of(info.get("config")).get("model"))
    messages = messages_in(document["messages"], report)
    exits = [raw for _, raw in messages if raw.get("role") == "exit"]
    report.skipped["exit message: read as the run's ending"] += len(exits)
    named = settings.get("model_name")
    turns = [
        _turn(at, raw, named if isinstance(named, str) else None) for at, raw in messages if raw.get("role") != "exit"
    ]
    params = {key: value for key, value in dict_of(settings.get("model_kwargs")).items() if key not in _NOT_SAMPLING}
    steps = with_text_actions(conversation_steps(turns, report, params=params), report)
    times = [turn.at for turn in turns if turn.at is not None]
    error = _error(info, exits[-1] if exits else {})
    instance = document.get("instance_id")
    kept = {"exit_status": info.get("exit_status"), "mini_version": info.get("mini_version"), "instance_id": instance}
    return Trace(
        id=instance if isinstance(instance, str) and instance else source.path.stem if source.path else "run",
        name="mini-swe-agent",
        dialect=MiniSweAgentFormat.name,
        steps=steps,
        input=next((text_of(turn.message) for turn in turns if turn.message["role"] == "user"), None),
        output=info.get("submission"),
        error=error,
        status="failed" if error else "completed" if info.get("exit_status") or exits else "unfinished",
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        attributes={key: value for key, value in kept.items() if value is not None},
        gaps=("mini-swe-agent does not record tool definitions",),
    )


def _error(info: dict[str, Any], ending: dict[str, Any]) -> StepError | None:
    extra = dict_of(ending.get("extra"))
    kind = info.get("exit_status") or extra.get("exit_status")
    if not isinstance(kind, str) or kind == _FINISHED:
        return None
    message = info.get("exception_str") or extra.get("exception_str") or ""
    stack = info.get("traceback") or extra.get("traceback")
    return StepError(kind, str(message), stack=stack if isinstance(stack, str) else None)


def _turn(at: int, raw: dict[str, Any], named: str | None) -> Turn:
    extra = dict_of(raw.get("extra"))
    response = dict_of(extra.get("response"))
    message = message_of({key: raw[key] for key in _MESSAGE_KEYS if key in raw})
    model = response.get("model")
    broken = extra.get("exception_info")
    kept: list[tuple[str, Any]] = []
    if message["role"] == "assistant" and not message.get("tool_calls"):
        kept += [(ACTION, command) for command in _commands(extra, message)]
    return Turn(
        index=at,
        message=message,
        at=number_of(extra.get("timestamp", raw.get("timestamp"))),
        usage=usage_of(response.get("usage"), number_of(extra.get("cost"))),
        model=model if isinstance(model, str) else named,
        failed=bool(broken) if broken is not None else None,
        error=_raised(extra, message) if broken and message["role"] == "tool" else None,
        attributes=tuple(kept),
    )


def _raised(extra: dict[str, Any], message: dict[str, Any]) -> StepError | None:
    """The exception that the environment raised, by its class; None where the class is not named."""
    kind = extra.get("exception_type")
    if not isinstance(kind, str) or not kind:
        return None
    return StepError(kind, text_of(message) or str(extra.get("exception_info")))


def _commands(extra: dict[str, Any], message: dict[str, Any]) -> list[str]:
    """The one command of an answer; none when there are several, which the harness refuses."""
    given = [action["command"] for action in dicts(extra.get("actions")) if isinstance(action.get("command"), str)]
    found = given or _BLOCK.findall(text_of(message) or "")
    return found if len(found) == 1 else []
