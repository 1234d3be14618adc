"""The gate lock, ``cases/gates.lock``: which permanent cases a release must pass, one sorted line each.

A line is ``<case id> v<version> <digest>``. The gate compares it with the base branch's: a line may only go when the
case's newest version is retired.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalkit.case.pointer import refuse_pointer
from evalkit.errors import IntegrityError

__all__ = [
    "LOCK_NAME",
    "LockLine",
    "lock_problems",
    "parse_lock",
    "read_lock",
    "read_unmerged_lock",
    "render_lock",
    "write_lock",
]

LOCK_NAME = "gates.lock"
_HEAD = "# Permanent cases, written by evalkit; a line goes only when its case is retired."
_CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_AFTER_A_MERGE = "settle the cases' own files first, then evalkit check --write-lock"


@dataclass(frozen=True, slots=True, order=True)
class LockLine:
    """One permanent case."""

    case_id: str
    version: int
    digest: str


def render_lock(lines: Iterable[LockLine]) -> str:
    """The lock's text."""
    return "\n".join([_HEAD, *(f"{line.case_id} v{line.version} {line.digest}" for line in sorted(lines)), ""])


def parse_lock(text: str, where: str) -> list[LockLine]:
    """The lines of a lock's text.

    Raises:
        IntegrityError: a line is not of the lock's form, or a case stands twice.
    """
    found: dict[str, LockLine] = {}
    for number, raw in _told(text):
        place = f"{where}:{number}"
        if raw.startswith(_CONFLICT):
            raise IntegrityError(f"a merge left the gate lock unfinished: {raw[:80]!r}", place, _AFTER_A_MERGE)
        line = _line(raw, place)
        if line.case_id in found:
            raise IntegrityError(f"{line.case_id} stands in the gate lock twice", place, _AFTER_A_MERGE)
        found[line.case_id] = line
    return list(found.values())


def _told(text: str) -> Iterator[tuple[int, str]]:
    """What says something, with the number of its line; some editors begin a file with a mark of their own."""
    lines = enumerate(text.removeprefix("\ufeff").splitlines(), 1)
    return ((number, raw) for number, raw in lines if raw.strip() and not raw.startswith("#"))


def _line(raw: str, place: str) -> LockLine:
    parts = raw.split()
    if len(parts) != 3 or not parts[1].removeprefix("v").isdecimal():
        raise IntegrityError(f"not a line of the gate lock: {raw[:80]!r}", place, "git checkout it")
    return LockLine(parts[0], int(parts[1].removeprefix("v")), parts[2])


def read_lock(root: str | Path) -> list[LockLine]:
    """The lock under `root`; empty when there is none.

    Raises:
        InputError: Git LFS has it, and did not fetch it.
        IntegrityError: it is none.
    """
    path = Path(root) / LOCK_NAME
    return parse_lock(_text(path), str(path))


def read_unmerged_lock(root: str | Path) -> list[LockLine]:
    """The lines of the lock under `root`, be it one or what a merge left of two; empty when there is none.

    Raises:
        InputError: Git LFS has it, and did not fetch it.
        IntegrityError: it holds something else.
    """
    path = Path(root) / LOCK_NAME
    told = ((number, raw) for number, raw in _told(_text(path)) if not raw.startswith(_CONFLICT))
    return [_line(raw, f"{path}:{number}") for number, raw in told]


def _text(path: Path) -> str:
    try:
        if path.exists():
            refuse_pointer(path)
            return path.read_text("utf-8")
        return ""
    except UnicodeDecodeError as error:
        raise IntegrityError(f"the gate lock is no text: {error}", str(path), "git checkout it") from None


def write_lock(lines: Iterable[LockLine], root: str | Path) -> Path:
    """Replaces the lock under `root` at once."""
    path = Path(root) / LOCK_NAME
    temporary = path.with_suffix(".lock.writing")
    temporary.write_text(render_lock(lines), "utf-8")
    os.replace(temporary, path)
    return path


def lock_problems(
    locked: Iterable[LockLine], permanent: Iterable[LockLine], retired: Iterable[str]
) -> list[tuple[str, str]]:
    """Where a lock and the cases disagree: (case id, sentence), sorted.

    Args:
        locked: the lock that counts (this branch's, or the base branch's).
        permanent: the newest versions that are permanent now.
        retired: ids of cases whose newest version is retired.
    """
    now = {line.case_id: line for line in permanent}
    gone = set(retired)
    problems: list[tuple[str, str]] = []
    known: set[str] = set()
    for line in locked:
        known.add(line.case_id)
        found = now.get(line.case_id)
        if found is None and line.case_id not in gone:
            problems.append((line.case_id, "is in the gate lock, but there is no such permanent case any more"))
        elif found is not None and found.version < line.version:
            problems.append((line.case_id, f"is locked at version {line.version}, but its newest is {found.version}"))
        elif found is not None and found.digest == line.digest and found.version != line.version:
            problems.append((line.case_id, f"what is locked as version {line.version} is version {found.version}"))
        elif found is not None and found.version == line.version and found.digest != line.digest:
            problems.append((line.case_id, f"version {line.version} is not the file that was locked"))
    unlocked = "is permanent, but not in the gate lock: evalkit check --write-lock adds it"
    problems += [(case_id, unlocked) for case_id in now if case_id not in known]
    return sorted(problems)
