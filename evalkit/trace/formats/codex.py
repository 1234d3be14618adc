"""OpenAI Codex sessions: rollout files (``~/.codex/sessions/**/rollout-*.jsonl``) and ``codex exec --json`` streams.

One file is one thread, and one trace. A sub-agent is a thread of its own, in a file of its own, whose header names the
thread that it works for.
Source: https://github.com/openai/codex (``codex-rs/rollout``, ``codex-rs/protocol``, ``codex-rs/exec``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of
from evalkit.trace.formats.attributes import text_at
from evalkit.trace.formats.chat import unix_seconds
from evalkit.trace.formats.codex_exec import ExecSteps, is_exec_event, is_old_event
from evalkit.trace.formats.codex_rollout import RolloutSteps
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.session_lines import first_lines, session_lines
from evalkit.trace.model import StepError, Trace

__all__ = ["FORMAT"]

_ROLLOUT = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_NOT_FACTS = frozenset({"id", "timestamp", "base_instructions", "instructions", "dynamic_tools"})
_NO_PROMPT = "Codex records no prompt of the model calls in this stream, and no times"
_NO_SYSTEM = "the instructions of the program are not in the file"
_NO_TOOLS = "Codex does not record the definitions of its tools"


class CodexFormat:
    """Lines of a rollout, or of a stream."""

    name = "codex"

    def detect(self, source: Source) -> bool:
        """Whether one of the first lines is Codex'."""
        lines = first_lines(source)
        return any(_is_line(line) for line in lines) or _is_old_rollout(lines)

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The one trace of the file.

        Raises:
            UnreadableTrace: a line before the last one is not JSON, or no line is Codex'.
        """
        numbered, torn = session_lines(source, report)
        lines = [line for _, line in numbered]
        if not any(_is_line(line) for line in lines) and not _is_old_rollout(lines):
            raise UnreadableTrace("no line of a Codex session", source.where, "pass a rollout-*.jsonl file")
        name = source.path.stem if source.path else "session"
        if any(is_exec_event(line) or is_old_event(line) for line in lines):
            trace = _stream(numbered, torn, name, report)
        else:
            trace = _rollout(numbered, torn, name, report)
        report.steps.update(step.kind for step in trace.steps)
        yield trace


FORMAT = CodexFormat()


def _is_line(line: dict[str, Any]) -> bool:
    if text_at(line, "type") in _ROLLOUT:
        return isinstance(line.get("payload"), dict) and "timestamp" in line
    return is_exec_event(line) or is_old_event(line)


def _is_old_rollout(lines: list[dict[str, Any]]) -> bool:
    """Whether the lines are a header without a type, and then items (versions of mid-2025)."""
    if not lines or "type" in lines[0]:
        return False
    first = lines[0]
    header = isinstance(first.get("id"), str) and isinstance(first.get("timestamp"), str)
    return header and ("instructions" in first or "git" in first or any("record_type" in line for line in lines))


def _rollout(numbered: list[tuple[int, dict[str, Any]]], torn: bool, name: str, report: ReadReport) -> Trace:
    run = RolloutSteps([line for _, line in numbered], report)
    for at, line in numbered:
        run.take(at, line)
    run.end()
    error = run.ending if isinstance(run.ending, StepError) else None
    times = [at for at in (unix_seconds(line.get("timestamp")) for _, line in numbered) if at is not None]
    meta = run.meta
    lacks = [] if dict_of(run.made.history[0] if run.made.history else None).get("role") == "system" else [_NO_SYSTEM]
    return Trace(
        id=str(meta.get("id") or name),
        name="codex",
        dialect=CodexFormat.name,
        steps=tuple(run.made.steps),
        input=run.first_words,
        output=run.last_words,
        error=error,
        status=_status(error, run.ending, torn),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        attributes={key: value for key, value in meta.items() if key not in _NOT_FACTS and value is not None},
        gaps=(*lacks, *([] if run.made.tools else [_NO_TOOLS]), *run.gaps),
    )


def _stream(numbered: list[tuple[int, dict[str, Any]]], torn: bool, name: str, report: ReadReport) -> Trace:
    run = ExecSteps(report)
    for at, line in numbered:
        run.take(at, line)
    run.end()
    error = run.ending if isinstance(run.ending, StepError) else None
    return Trace(
        id=run.thread or name,
        name="codex",
        dialect=CodexFormat.name,
        steps=tuple(run.made.steps),
        input=run.first_words,
        output=run.last_words,
        error=error,
        status=_status(error, run.ending, torn),
        attributes=run.facts,
        gaps=(_NO_PROMPT, _NO_TOOLS),
    )


def _status(error: StepError | None, ending: StepError | str, torn: bool) -> Any:
    if error:
        return "failed"
    return "completed" if ending == "completed" and not torn else "unfinished"
