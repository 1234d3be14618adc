"""Result files of tau-bench: a JSON array of runs, each with its chat messages in ``traj``.

``{"task_id", "trial", "reward", "info": {"task": ...}, "traj": [OpenAI messages]}``. The reward, the task's
instruction and its expected actions are the benchmark's labels: they never enter a trace.
Source: https://github.com/sierra-research/tau-bench (``EnvRunResult``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.chat import message_of, text_of
from evalkit.trace.formats.conversation import Turn, conversation_steps, messages_in, run_id
from evalkit.trace.formats.documents import whole_document
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import USER_MESSAGE, Trace

__all__ = ["FORMAT"]


class TauBenchFormat:
    """A list of runs."""

    name = "tau-bench"

    def detect(self, source: Source) -> bool:
        """Whether it is a list whose first item has a task and a trajectory of messages."""
        if not source.head.lstrip().startswith(b"["):
            return False
        document = source.document()
        return isinstance(document, list) and bool(document) and _is_run(document[0])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace a run, in the file's order."""
        runs = whole_document(source)
        if not isinstance(runs, list):
            raise UnreadableTrace("the file is no JSON array of runs", source.where, "pass a tau-bench result file")
        seen: Counter[str] = Counter()
        for at, run in enumerate(runs):
            if not isinstance(run, dict) or not _is_run(run):
                raise UnreadableTrace(
                    "no run: it lacks task_id or traj", f"{source.where}[{at}]", "pass a tau-bench result file"
                )
            yield _trace(run, seen, report)


FORMAT = TauBenchFormat()

_MESSAGE_KEYS = frozenset(
    {"role", "content", "name", "tool_call_id", "tool_calls", "function_call", "reasoning_content", "refusal"}
)


def _is_run(run: Json) -> bool:
    return isinstance(run, dict) and "task_id" in run and isinstance(run.get("traj"), list)


def _trace(run: dict[str, Any], seen: Counter[str], report: ReadReport) -> Trace:
    turns = [
        Turn(at, message_of({key: raw[key] for key in raw if key in _MESSAGE_KEYS}))
        for at, raw in messages_in(run["traj"], report)
    ]
    report.skipped["labels: reward and task are not part of the run"] += 1
    steps = conversation_steps(turns, report)
    asked = next((text_of(step.output) for step in steps if step.name == USER_MESSAGE), None)  # type: ignore[arg-type]  # a Message
    said = [text for turn in turns if turn.message["role"] == "assistant" and (text := text_of(turn.message))]
    return Trace(
        id=run_id(run["task_id"], run.get("trial", 0), seen),
        name="tau-bench",
        dialect=TauBenchFormat.name,
        steps=steps,
        input=asked,
        output=said[-1] if said else None,
        attributes={"task_id": run["task_id"], "trial": run.get("trial", 0)},
        gaps=("tau-bench records neither tool definitions nor times nor the model's name",),
    )
