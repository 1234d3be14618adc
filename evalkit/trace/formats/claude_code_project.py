"""A folder of Claude Code sessions whose sub-agents have files of their own.

A session is ``<id>.jsonl``; its sub-agents stand beside it (``agent-<id>.jsonl``) or, since version 2.1, in
``<session id>/subagents/``, next to what was too long for the session (``tool-results/``). Read file by file, a
sub-agent would be a run of its own; read together, it stands below its call. The folder is taken as a whole only when
nothing else is in it: a foreign file would be passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.attributes import text_at
from evalkit.trace.formats.protocol import Source
from evalkit.trace.formats.session_lines import first_lines
from evalkit.trace.json_input import parse_json

__all__ = ["Project", "call_told_beside", "project_in"]

_MAX_FILES = 5000
_HEAD_BYTES = 64 * 1024


class Project:
    """The files of a folder.

    Attributes:
        runs: the sessions' own files, by name.
        sides: the files that hold side lines only, by the id of the session that they belong to.
        beside: how many other files stand in the sessions' folders.
    """

    def __init__(self) -> None:
        self.runs: list[Source] = []
        self.sides: dict[str, list[Source]] = {}
        self.beside = 0

    def sides_of(self, run: Source) -> list[Source]:
        """The files of a run's sub-agents, taken out of `sides`."""
        named = {text_at(line, "sessionId") for line in first_lines(run)}
        return [side for session in sorted(named) for side in self.sides.pop(session, [])]


def project_in(folder: Path) -> Project | None:
    """The folder as a project; None where a session has no file of a sub-agent, or another file stands there."""
    try:
        files = [*islice(_visible(folder), _MAX_FILES + 1)]
        if len(files) > _MAX_FILES or not any(path.suffix == ".jsonl" for path in files):
            return None
        return _sorted(folder, files)
    except OSError:
        return None


def call_told_beside(side: Source) -> str | None:
    """The call that started a sub-agent, from the ``.meta.json`` beside its file (version 2.1)."""
    path = None if side.path is None else side.path.with_suffix(".meta.json")
    try:
        meta = None if path is None or path.is_symlink() else parse_json(path.read_bytes(), str(path))
    except (OSError, UnreadableTrace):
        return None
    return text_at(meta, "toolUseId") or None


def _sorted(folder: Path, files: list[Path]) -> Project | None:
    project = Project()
    others: list[Path] = []
    sessions: set[str] = set()
    for path in files:
        lines = first_lines(_source(path)) if path.suffix == ".jsonl" else []
        talk = [line for line in lines if isinstance(line.get("message"), dict) and text_at(line, "sessionId")]
        if not talk:
            others.append(path)
        elif all(line.get("isSidechain") for line in talk):
            project.sides.setdefault(text_at(talk[0], "sessionId"), []).append(_source(path))
        else:
            project.runs.append(_source(path))
            sessions.update(text_at(line, "sessionId") for line in talk)
    project.beside = len(others)
    inside = all(sessions & set(path.relative_to(folder).parts[:-1]) for path in others)
    return project if inside and sessions & set(project.sides) else None


def _visible(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _visible(path)
        elif path.is_file():
            yield path


def _source(path: Path) -> Source:
    def lines() -> Iterator[bytes]:
        try:
            with path.open("rb") as stream:
                yield from stream
        except OSError as error:
            raise UnreadableTrace(f"can't be read: {error.strerror}", str(path), "check the rights") from None

    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    return Source(str(path), path, head, lambda: b"".join(lines()), lines, lambda: None)
