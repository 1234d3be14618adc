"""Result files of tau2-bench: one JSON document with ``info``, ``tasks`` and ``simulations``.

Each simulation holds flat messages; a tool call names its ``requestor``, because the simulated user has tools too.
The tasks, the rewards and the action checks are the benchmark's labels: they never enter a trace. The policy of the
environment is the system prompt. Times carry no zone and are taken as UTC.
Source: https://github.com/sierra-research/tau2-bench (``tau2.data_model.simulation.Results``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.chat import call_of, message_of, text_of, tool_definition, unix_seconds, usage_of
from evalkit.trace.formats.conversation import Turn, conversation_steps, messages_in, run_id
from evalkit.trace.formats.documents import whole_document
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import StepError, Trace

__all__ = ["FORMAT"]

_ENDED = frozenset({"user_stop", "agent_stop"})
_MESSAGE_KEYS = frozenset({"role", "content", "tool_calls", "reasoning"})
_SAMPLING = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "max_completion_tokens",
        "seed",
        "stop",
        "reasoning_effort",
        "presence_penalty",
        "frequency_penalty",
        "parallel_tool_calls",
        "tool_choice",
    }
)
_PROMPT_GAP = "the system prompt is the environment's policy: the agent's own words around it are not recorded"
_TICKET_GAP = "no user message: the ticket that the agent worked on stands in the task definitions, which are not read"


class Tau2BenchFormat:
    """A document with simulations."""

    name = "tau2-bench"

    def detect(self, source: Source) -> bool:
        """Whether it is a document of simulations that hold messages."""
        if not source.head.lstrip().startswith(b"{"):
            return False
        runs = _simulations(source.document())
        return bool(runs) and _is_run(runs[0])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace a simulation, in the file's order."""
        document = whole_document(source)
        runs = _simulations(document)
        if not isinstance(document, dict) or not runs:
            raise UnreadableTrace("the document has no simulations", source.where, "pass a tau2-bench result file")
        info = dict_of(document.get("info"))
        seen: Counter[str] = Counter()
        report.skipped["task: a label, not part of a run"] += len(dicts(document.get("tasks")))
        for at, run in enumerate(runs):
            if not _is_run(run):
                where = f"{source.where}#/simulations/{at}"
                raise UnreadableTrace("no run: it lacks task_id or messages", where, "pass a tau2-bench result file")
            yield _trace(run, info, seen, report)


FORMAT = Tau2BenchFormat()


def _simulations(document: Json) -> list[Any]:
    runs = document.get("simulations") if isinstance(document, dict) else None
    return runs if isinstance(runs, list) else []


def _is_run(run: Any) -> bool:
    return isinstance(run, dict) and "task_id" in run and isinstance(run.get("messages"), list)


def _trace(run: dict[str, Any], info: dict[str, Any], seen: Counter[str], report: ReadReport) -> Trace:
    agent, environment = dict_of(info.get("agent_info")), dict_of(info.get("environment_info"))
    policy, model = environment.get("policy"), agent.get("llm")
    turns = _turns(run, model if isinstance(model, str) else None, report)
    report.skipped["labels: reward and checks are not part of the run"] += 1
    steps = conversation_steps(
        turns,
        report,
        system=[{"role": "system", "content": policy}] if isinstance(policy, str) else [],
        tools=_tools(environment.get("tool_defs")),
        params={key: value for key, value in dict_of(agent.get("llm_args")).items() if key in _SAMPLING},
    )
    asked = [text for turn in turns if turn.message["role"] == "user" and (text := text_of(turn.message))]
    said = [text for turn in turns if turn.message["role"] == "assistant" and (text := text_of(turn.message))]
    ending = run.get("termination_reason")
    broken = ending if isinstance(ending, str) and ending not in _ENDED else None
    return Trace(
        id=run_id(run["task_id"], run.get("trial", 0), seen),
        name=f"tau2-bench {environment.get('domain_name', '')}".rstrip(),
        dialect=Tau2BenchFormat.name,
        steps=steps,
        input=asked[0] if asked else None,
        output=said[-1] if said else None,
        error=StepError(broken, "the run was ended from outside") if broken else None,
        status="failed" if broken else "completed",
        started_at=unix_seconds(run.get("start_time")),
        ended_at=unix_seconds(run.get("end_time")),
        attributes=_attributes(run, agent),
        gaps=(_PROMPT_GAP,) if asked else (_PROMPT_GAP, _TICKET_GAP),
    )


def _attributes(run: dict[str, Any], agent: dict[str, Any]) -> dict[str, Any]:
    kept = {
        "task_id": run["task_id"],
        "trial": run.get("trial", 0),
        "seed": run.get("seed"),
        "simulation_id": run.get("id"),
        "termination_reason": run.get("termination_reason"),
        "agent": agent.get("implementation"),
    }
    return {key: value for key, value in kept.items() if value is not None}


def _turns(run: dict[str, Any], model: str | None, report: ReadReport) -> list[Turn]:
    turns: list[Turn] = []
    greeting = True
    for at, raw in messages_in(run["messages"], report):
        plain = greeting and raw.get("role") == "assistant" and not raw.get("tool_calls")
        unpaid = raw.get("usage") is None and raw.get("raw_data") is None and not raw.get("cost")
        turns.append(_turn(at, raw, model, scripted=plain and unpaid))
        greeting = False
    return turns


def _turn(at: int, raw: dict[str, Any], model: str | None, *, scripted: bool) -> Turn:
    by_user = raw.get("requestor") == "user" or (raw.get("role") == "user" and bool(raw.get("tool_calls")))
    failed = raw.get("error")
    return Turn(
        index=at,
        message=_message(raw),
        at=unix_seconds(raw.get("timestamp")),
        usage=usage_of(raw.get("usage"), raw.get("cost")),
        model=model,
        failed=failed if isinstance(failed, bool) else None,
        by_user=by_user,
        scripted=scripted,
        attributes=tuple(_beside(raw)),
    )


def _beside(raw: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a message says besides: how it broke the form, and what the simulated user thought (no agent saw it)."""
    if raw.get("errors"):
        yield "format_errors", raw["errors"]
    called = dict_of(dict_of(raw.get("raw_data")).get("message")).get("tool_calls")
    if dicts(called) and not raw.get("tool_calls"):
        yield "answered_with", [call_of(call) for call in dicts(called)]  # the harness wrote words for a call
    if raw.get("role") == "user" and _reasoning(raw):
        yield "reasoning", _reasoning(raw)


def _reasoning(raw: dict[str, Any]) -> str:
    """The reasoning in the provider's own answer, which the harness keeps beside its message."""
    held = dict_of(raw.get("raw_data"))
    message = dict_of(held.get("message"))
    stated = message.get("reasoning_content")
    if isinstance(stated, str) and stated:
        return stated
    blocks = dicts(held.get("thinking_blocks")) or dicts(message.get("thinking_blocks"))
    return "\n".join(block["thinking"] for block in blocks if isinstance(block.get("thinking"), str))


def _message(raw: dict[str, Any]) -> dict[str, Any]:
    if raw.get("role") == "tool":
        return message_of({"role": "tool", "tool_call_id": raw.get("id"), "content": raw.get("content")})
    message = message_of({key: value for key, value in raw.items() if key in _MESSAGE_KEYS})
    if message["role"] == "assistant" and not message.get("reasoning") and _reasoning(raw):
        message["reasoning"] = _reasoning(raw)
    return message


def _tools(definitions: Any) -> list[Json]:
    found = list(definitions.values()) if isinstance(definitions, dict) else definitions
    return [tool_definition(each) for each in dicts(found)]
