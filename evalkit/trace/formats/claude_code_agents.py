"""Sub-agents of a Claude Code session: the lines of a side conversation, below the call that started it.

Side lines stand in the session's own file or in one of their own (``agent-<id>.jsonl``). What ties them to the call,
from firm to loose: the call's id (``parent_tool_use_id`` of the SDK's stream, ``parentToolUseID`` of a progress line),
the agent's id, which the result names, and the prompt, which is the side conversation's first message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from evalkit.shapes import dict_of
from evalkit.trace.formats.chat import text_of
from evalkit.trace.formats.claude_code_lines import Line, branches, linked
from evalkit.trace.formats.claude_code_steps import BranchSteps
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.formats.session_steps import spliced
from evalkit.trace.model import Step, StepError

__all__ = ["SideTalk", "run_of", "side_talks", "told_by_progress", "with_agents"]

_MAX_DEPTH = 50
_AGENT_KEYS = ("subagent_type", "agentType", "name")


@dataclass(slots=True)
class SideTalk:
    """One sub-agent's conversation.

    Attributes:
        agent_id: its id; empty in files that give none.
        call_id: the call that started it, where a line says so.
        placed: its steps stand below that call.
    """

    agent_id: str
    call_id: str
    placed: bool = False
    lines: list[Line] = field(default_factory=list)


def side_talks(lines: Iterable[Line]) -> list[SideTalk]:
    """Side lines by sub-agent: by its id or its call's, else by the line that the conversation starts with."""
    found: dict[str, SideTalk] = {}
    roots: dict[str, str] = {}
    for line in lines:
        agent, call = _text(line, "agentId"), _text(line, "parent_tool_use_id")
        uuid, above = _text(line, "uuid"), _text(line, "parentUuid")
        key = agent or call or roots.get(above) or uuid
        roots[uuid] = key
        talk = found.setdefault(key, SideTalk(agent, call))
        talk.call_id = talk.call_id or call
        talk.lines.append(line)
    return [*found.values()]


def told_by_progress(lines: Iterable[Line]) -> list[Line]:
    """The side lines that progress lines carry: versions 2.1 write them there, with the agent's and the call's id."""
    found: dict[str, Line] = {}
    for line in lines:
        data = dict_of(line.raw.get("data"))
        said = dict_of(data.get("message"))
        if line.kind == "progress" and data.get("type") == "agent_progress" and said:
            told = {"agentId": data.get("agentId"), "parent_tool_use_id": line.raw.get("parentToolUseID")}
            side = Line(line.at, {**said, **told, "isSidechain": True})
            found.setdefault(_text(side, "uuid") or f"line {line.at}", side)
    return [*found.values()]


def with_agents(run: BranchSteps, talks: list[SideTalk], report: ReadReport, depth: int = 0) -> list[Step]:
    """The steps of a run with each sub-agent's steps below its call; a talk that has found its call is `placed`.

    A sub-agent may have sub-agents of its own. A talk is placed once, so that no loop of ids is endless.
    """
    by_call: defaultdict[str, list[SideTalk]] = defaultdict(list)
    by_prompt: defaultdict[str, list[SideTalk]] = defaultdict(list)
    for talk in talks if depth < _MAX_DEPTH else ():
        call_id = talk.call_id or run.agents.get(talk.agent_id)
        if not talk.placed and call_id:
            by_call[call_id].append(talk)
        elif not talk.placed:
            by_prompt[text_of(talk.lines[0].message) or ""].append(talk)
    inner: dict[int, list[Step]] = {}
    for step in run.made.steps if by_call or by_prompt else ():
        if step.kind == "tool":
            below = by_call.pop(str(step.attributes.get("tool_call_id")), [])
            prompt = dict_of(step.input).get("prompt")
            if not below and isinstance(prompt, str) and prompt:
                below, by_prompt[prompt] = by_prompt[prompt][:1], by_prompt[prompt][1:]
            for talk in below:
                if not talk.placed:
                    talk.placed = True
                    inner.setdefault(step.seq, []).extend(
                        _below(step, talk, talks, report, len(inner.get(step.seq, ())), depth + 1)
                    )
    return spliced(run.made.steps, inner)


def run_of(talk: SideTalk, report: ReadReport) -> BranchSteps:
    """The steps of a sub-agent's conversation."""
    linked(talk.lines)
    first, *others = branches(talk.lines)
    if others:
        report.skipped["side line: on a branch that was given up"] += sum(len(each.lines) for each in others)
    run = BranchSteps(report)
    run.take(talk.lines, first.lines, {})
    return run


def _below(
    step: Step, talk: SideTalk, talks: list[SideTalk], report: ReadReport, offset: int, depth: int
) -> list[Step]:
    run = run_of(talk, report)
    steps = with_agents(run, talks, report, depth)
    given = dict_of(step.input)
    named = next((given[key] for key in _AGENT_KEYS if isinstance(given.get(key), str)), "sub-agent")
    agent = Step(
        0,
        "agent",
        named,
        input=run.first_words,
        output=run.last_words,
        error=run.ending if isinstance(run.ending, StepError) else None,
        started_at=min((each.started_at for each in steps if each.started_at is not None), default=None),
        ended_at=max((each.ended_at for each in steps if each.ended_at is not None), default=None),
        attributes={"agent_id": talk.agent_id} if talk.agent_id else {},
    )
    return [_moved(each, offset) for each in spliced([agent], {0: steps})]


def _moved(step: Step, offset: int) -> Step:
    return replace(step, seq=step.seq + offset, parent=None if step.parent is None else step.parent + offset)


def _text(line: Line, key: str) -> str:
    value = line.raw.get(key)
    return value if isinstance(value, str) else ""
