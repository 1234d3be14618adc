"""The lines of a Claude Code session as the branches of a conversation.

Every line has a ``uuid`` and names the line before it in ``parentUuid``. Where a user went back and asked anew, two
lines have one parent: the branch that leads to the last line is the run, the others were given up. Parallel tool calls
fork too (each result hangs on the block that made the call), but belong together: blocks of one answer share
``message.id``, and a result names its call.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from evalkit.shapes import dict_of, dicts

__all__ = ["Branch", "Line", "branches", "call_ids", "linked", "result_ids"]


@dataclass(slots=True)
class Line:
    """One line.

    Attributes:
        at: its number in the file, from 1.
        raw: what it says.
        parent: the position of the line before it, in the list that it stands in; None for a first line.
    """

    at: int
    raw: dict[str, Any]
    parent: int | None = None

    @property
    def kind(self) -> str:
        """The line's ``type``."""
        kind = self.raw.get("type")
        return kind if isinstance(kind, str) else ""

    @property
    def message(self) -> dict[str, Any]:
        """The API message in it."""
        return dict_of(self.raw.get("message"))

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The content blocks of its message."""
        return dicts(self.message.get("content"))

    @property
    def answer_id(self) -> str | None:
        """The id of the answer that an assistant's line is a part of."""
        named = self.message.get("id") or self.raw.get("requestId")
        return named if isinstance(named, str) and self.kind == "assistant" else None

    @property
    def speaks(self) -> bool:
        """Whether it is an answer, a result or a user's words: what a branch is made of."""
        return self.kind == "assistant" or (self.kind == "user" and not self.raw.get("isMeta"))


@dataclass(slots=True)
class Branch:
    """Lines that follow each other.

    Attributes:
        lines: in the order of the file.
        after: the position of the line of another branch that it starts from; None where it starts from nothing.
    """

    lines: list[int] = field(default_factory=list)
    after: int | None = None


def linked(lines: list[Line]) -> int:
    """Find each line's parent; how many name one that the file does not hold (the line before is taken then)."""
    places = {line.raw["uuid"]: at for at, line in enumerate(lines) if isinstance(line.raw.get("uuid"), str)}
    lost = 0
    before: int | None = None
    plain = not any(line.raw.get("parentUuid") for line in lines)
    for at, line in enumerate(lines):
        logical = line.raw.get("logicalParentUuid")
        named = line.raw.get("parentUuid") or logical
        known = places.get(named) if isinstance(named, str) else None
        if known is not None and (known < at or (known > at and named != logical)):
            line.parent = known
        elif known is not None:  # a compaction kept this line, and hung it below its own summary
            line.parent = before
        elif named or plain or line.raw.get("isCompactSummary") or not _starts(line):
            line.parent = before
            lost += bool(named)
        before = at if line.speaks else before
    return lost


def branches(lines: list[Line]) -> list[Branch]:
    """The run first, then the branches that were given up, the latest first.

    Args:
        lines: with their parents; a loop of parents, which no session has, is cut.
    """
    answers: defaultdict[str, list[int]] = defaultdict(list)
    results: defaultdict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        if line.answer_id is not None:
            answers[line.answer_id].append(at)
        for call_id in result_ids(line):
            results[call_id].append(at)
    home: dict[int, int] = {}
    found: list[Branch] = []
    for last in range(len(lines) - 1, -1, -1):
        if last in home or not lines[last].speaks:
            continue
        number = len(found)
        branch = Branch()
        todo: list[int] = []
        walk: int | None = last
        while walk is not None and walk not in home:
            home[walk] = number
            todo.append(walk)
            walk = lines[walk].parent
        branch.after = walk if walk is not None and home[walk] != number else None
        while todo:
            line = lines[todo.pop()]
            together = [*answers.get(line.answer_id or "", ()), *(r for c in call_ids(line) for r in results[c])]
            fresh = [each for each in together if each not in home]
            home.update(dict.fromkeys(fresh, number))
            todo += fresh
        found.append(branch)
    for at, line in enumerate(lines):
        number = home.setdefault(at, 0 if line.parent is None else home.get(line.parent, 0))
        if found:
            found[number].lines.append(at)
    return found or [Branch([*range(len(lines))])]


def call_ids(line: Line) -> list[str]:
    """The tool calls that an assistant's line makes."""
    return _ids(line, "assistant", "tool_use", "id")


def result_ids(line: Line) -> list[str]:
    """The tool calls that a user's line answers."""
    return _ids(line, "user", "tool_result", "tool_use_id")


def _ids(line: Line, kind: str, block_kind: str, key: str) -> list[str]:
    found = [block.get(key) for block in line.blocks if block.get("type") == block_kind] if line.kind == kind else []
    return [each for each in found if isinstance(each, str)]


def _starts(line: Line) -> bool:
    """Whether a line without a parent begins a conversation: a user does; an answer follows something."""
    return line.kind != "assistant" and not result_ids(line)
