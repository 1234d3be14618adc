"""Claude Code sessions (``~/.claude/projects/*/*.jsonl``), and what ``claude -p --output-format stream-json`` prints.

A file is one session: the branch that leads to its last line is the run. A branch that the user gave up (an edited or
repeated prompt) is a trace of its own, with the steps after the fork only, whose model steps hold the messages before
it too; nothing is counted twice. Sub-agents stand below the call that started them (see `claude_code_agents`).
Sources: the type declarations of https://github.com/anthropics/claude-agent-sdk-python (the stream), and the readers
https://github.com/daaain/claude-code-log and https://github.com/meridianlabs-ai/inspect_scout (the files).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from evalkit.errors import UnreadableTrace
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.attributes import text_at
from evalkit.trace.formats.chat import unix_seconds
from evalkit.trace.formats.claude_code_agents import run_of, side_talks, told_by_progress, with_agents
from evalkit.trace.formats.claude_code_lines import Branch, Line, branches, linked
from evalkit.trace.formats.claude_code_project import call_told_beside, project_in
from evalkit.trace.formats.claude_code_steps import BranchSteps, Marks
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.session_lines import first_lines, session_lines
from evalkit.trace.model import Step, StepError, Trace

__all__ = ["FORMAT"]

_TALK = frozenset({"user", "assistant", "system", "attachment", "progress"})
_NO_PROMPT = "Claude Code records neither the system prompt nor the tools' definitions"
_NOT_FACTS = frozenset({"type", "subtype", "uuid", "session_id", "result", "is_error", "errors", "permission_denials"})
_FACTS = ("cwd", "version", "gitBranch", "entrypoint", "permissionMode")


class ClaudeCodeFormat:
    """Lines of a session's file, or of the SDK's stream."""

    name = "claude-code"

    def detect(self, source: Source) -> bool:
        """Whether one of the first lines is a session's, or the folder holds sessions and their sub-agents."""
        if source.path is not None and not source.head and source.path.is_dir():
            return project_in(source.path) is not None
        return any(_is_file_line(line) or _is_stream_line(line) for line in first_lines(source))

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The run, then the branches that were given up.

        Raises:
            UnreadableTrace: a line before the last one is not JSON, or no line is a session's.
        """
        project = project_in(source.path) if source.path is not None and source.path.is_dir() else None
        if project is None:
            yield from self._session(source, [], report)
            return
        if project.beside:
            report.skipped["file in a session's folder: no part of the conversation"] += project.beside
        for run in project.runs:
            yield from self._session(run, project.sides_of(run), report)
        for sides in project.sides.values():
            for side in sides:
                yield from self._session(side, [], report)

    def _session(self, source: Source, sides: list[Source], report: ReadReport) -> Iterator[Trace]:
        raw, torn = session_lines(source, report)
        for side in sides:
            told = call_told_beside(side)
            more, _ = session_lines(side, report)
            raw += [(at, {**line, "parent_tool_use_id": told} if told else line) for at, line in more]
        if not any(_is_file_line(line) or _is_stream_line(line) for _, line in raw):
            raise UnreadableTrace("no line of a Claude Code session", source.where, "pass a session's .jsonl file")
        session = _Session(source, report, torn)
        session.sort(raw)
        yield from session.traces()


FORMAT = ClaudeCodeFormat()


def _is_file_line(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    if kind == "summary":
        return isinstance(line.get("leafUuid"), str)
    if kind == "file-history-snapshot":
        return isinstance(line.get("snapshot"), dict)
    if not isinstance(kind, str) or not isinstance(line.get("sessionId"), str):
        return False
    return "uuid" not in line or (kind in _TALK and isinstance(line["uuid"], str))


def _is_stream_line(line: dict[str, Any]) -> bool:
    if not isinstance(line.get("session_id"), str):
        return False
    if line.get("type") == "system":
        return line.get("subtype") == "init" and "tools" in line
    return line.get("type") in ("user", "assistant") and "parent_tool_use_id" in line and "message" in line


class _Session:
    """The lines of one file, sorted."""

    def __init__(self, source: Source, report: ReadReport, torn: bool) -> None:
        self._source = source
        self._report = report
        self._torn = torn
        self._talk: list[Line] = []
        self._side: list[Line] = []
        self._start: dict[str, Any] = {}
        self._end: dict[str, Any] | None = None

    def sort(self, raw: list[tuple[int, dict[str, Any]]]) -> None:
        """Into the conversation, side conversations and the rest, which is counted."""
        seen: set[str] = set()
        skipped: Counter[str] = Counter()
        for at, line in raw:
            uuid, kind = line.get("uuid"), line.get("type")
            if isinstance(uuid, str) and uuid in seen:
                skipped["line: stands twice (the same uuid)"] += 1
                continue
            if isinstance(uuid, str):
                seen.add(uuid)
            if "session_id" in line and kind in ("system", "result") and line.get("subtype") != "compact_boundary":
                self._stream(at, line)
            elif kind == "stream_event":
                skipped["stream_event line: a part of a later answer"] += 1
            elif line.get("isSidechain") or line.get("parent_tool_use_id"):
                self._side.append(Line(at, line))
            elif isinstance(uuid, str) or kind in ("user", "assistant"):
                self._talk.append(Line(at, line))
            else:
                skipped[f"{kind if isinstance(kind, str) else 'untyped'} line: no part of the conversation"] += 1
        self._report.skipped.update(skipped)

    def _stream(self, at: int, line: dict[str, Any]) -> None:
        if line.get("type") == "result":
            if self._end is not None:
                self._report.skipped["result line: of an earlier turn"] += 1
            self._end = line
        elif line.get("subtype") == "init":
            self._report.skipped["init line: read as the run's facts"] += 1
            self._start = self._start or line
        else:
            self._talk.append(Line(at, line))

    def traces(self) -> Iterator[Trace]:
        """The run, then what was given up; sub-agents alone where the file holds nothing else."""
        lost = linked(self._talk)
        talks = side_talks(self._side_lines())
        gaps = [f"{lost} lines follow one that the file lacks: read as following the line before"] if lost else []
        if any(line.speaks for line in self._talk):
            marks: Marks = {}
            run, *given_up = branches(self._talk)
            first = self._steps(run, marks, self._report)
            others = [(branch, self._given_up(branch, marks)) for branch in given_up]
            yield self._trace(first, with_agents(first, talks, self._report), self._talk, run, gaps, "")
            answered = [(branch, steps) for branch, steps in reversed(others) if steps is not None]
            for number, (branch, steps) in enumerate(answered, 1):
                inner = with_agents(steps, talks, self._report)
                yield self._trace(steps, inner, self._talk, branch, gaps, f"/given-up-{number}")
        for talk in talks:
            if talk.placed:
                continue
            talk.placed = True
            alone = run_of(talk, self._report)
            whole = Branch([*range(len(talk.lines))])
            name = f"/agent-{talk.agent_id or talk.lines[0].at}"
            yield self._trace(alone, with_agents(alone, talks, self._report), talk.lines, whole, gaps, name)

    def _side_lines(self) -> list[Line]:
        """Side lines of the file, and those that progress lines tell of agents that have none."""
        known = {text_at(line.raw, "agentId") for line in self._side}
        told = told_by_progress(self._talk)
        return [*self._side, *(line for line in told if text_at(line.raw, "agentId") not in known)]

    def _given_up(self, branch: Branch, marks: Marks) -> BranchSteps | None:
        """The steps of a branch; None where no model spoke on it: what a user took back before is no run."""
        if any(self._talk[at].kind == "assistant" for at in branch.lines):
            return self._steps(branch, marks, self._report)
        for at in branch.lines:
            self._report.skipped[f"{self._talk[at].kind} line: taken back before it was answered"] += 1
        self._steps(branch, marks, ReadReport())
        return None

    def _steps(self, branch: Branch, marks: Marks, report: ReadReport) -> BranchSteps:
        history, length = marks.get(-1 if branch.after is None else branch.after, ([], 0))
        steps = BranchSteps(report, history[:length])
        if branch.after is not None:
            steps.made.before = unix_seconds(self._talk[branch.after].raw.get("timestamp"))
        steps.take(self._talk, branch.lines, marks)
        return steps

    def _trace(
        self, run: BranchSteps, steps: list[Step], lines: list[Line], branch: Branch, gaps: list[str], suffix: str
    ) -> Trace:
        is_run = not suffix or not self._talk
        end = self._end if is_run else None
        steps = steps + _denials(end, len(steps))
        self._report.steps.update(step.kind for step in steps)
        raws = [lines[at].raw for at in branch.lines]
        named = [raw.get("sessionId") or raw.get("session_id") for raw in (*reversed(raws), self._start)]
        session = next((each for each in named if isinstance(each, str) and each), "session")
        times = [at for at in (unix_seconds(raw.get("timestamp")) for raw in raws) if at is not None]
        facts = {key: raw[key] for raw in raws for key in _FACTS if isinstance(raw.get(key), str)}
        attributes: dict[str, Any] = {**_facts_of(self._start), **facts, **_facts_of(end or {})}
        if suffix.startswith("/given-up"):
            after = None if branch.after is None else lines[branch.after].at
            attributes.update({"given_up": True, "session": session, "after_line": after})
        elif suffix:
            attributes["session"] = session
        error = _error(end) if end else run.ending if isinstance(run.ending, StepError) else None
        unfinished = (self._torn and is_run) or (run.ending != "completed" if end is None else False)
        if self._start and is_run:
            unfinished = end is None
        said = dict_of(end).get("result")
        return Trace(
            id=session + suffix,
            name="claude-code",
            dialect=ClaudeCodeFormat.name,
            steps=tuple(steps),
            input=run.first_words,
            output=said if isinstance(said, str) and said else run.last_words,
            error=error,
            status="failed" if error else "unfinished" if unfinished else "completed",
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            attributes=attributes,
            gaps=(_NO_PROMPT, *gaps, *run.gaps),
        )


def _facts_of(line: dict[str, Any]) -> dict[str, Any]:
    """What the first or the last line of a stream says of the run."""
    return {key: value for key, value in line.items() if key not in _NOT_FACTS and value not in (None, [], {})}


def _error(end: dict[str, Any]) -> StepError | None:
    if not end.get("is_error") and end.get("subtype", "success") == "success":
        return None
    told = end.get("errors")
    texts = [str(each) for each in told] if isinstance(told, list) else []
    return StepError(str(end.get("subtype") or "error"), str(end.get("result") or "\n".join(texts)))


def _denials(end: dict[str, Any] | None, start: int) -> list[Step]:
    """The calls that the user's rules did not permit, which the last line of a stream lists."""
    return [
        Step(
            start + number,
            "approval",
            str(denied.get("tool_name") or "tool"),
            input=denied.get("tool_input"),
            output={"decision": "denied"},
            attributes={"tool_call_id": denied.get("tool_use_id")},
        )
        for number, denied in enumerate(dicts(dict_of(end).get("permission_denials")))
    ]
