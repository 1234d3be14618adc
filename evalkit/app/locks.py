"""The gate lock in a project: written by promoting and retiring, compared by the gate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalkit.app.environment import git
from evalkit.case.lock import LOCK_NAME, LockLine, lock_problems, parse_lock, read_lock, write_lock
from evalkit.case.model import lost_gates
from evalkit.case.store import case_versions, read_case, read_with_digest
from evalkit.case.tombstone import gone_versions, read_tombstones
from evalkit.errors import InputError
from evalkit.suite.select import CaseRef, list_cases

__all__ = ["base_lock_problems", "current_lock_problems", "refresh_lock"]


def refresh_lock(cases: Path) -> Path:
    """Writes the lock from the newest versions of the permanent cases."""
    return write_lock(_permanent(list(list_cases(cases))), cases)


def current_lock_problems(cases: Path) -> list[tuple[str, str]]:
    """Where the committed lock and the cases disagree."""
    return _problems(read_lock(cases), cases)


def base_lock_problems(cases: Path, root: Path, base: str) -> list[tuple[str, str]]:
    """What of the base branch's lock no longer holds here; cases that are new here are no problem.

    Raises:
        InputError: git knows no such reference.
    """
    if git(root, "rev-parse", "--verify", f"{base}^{{commit}}") is None:
        raise InputError(f"git knows no {base!r}", str(root), "git fetch origin, and pass --against origin/main")
    top = git(root, "rev-parse", "--show-toplevel") or str(root)
    path = (cases / LOCK_NAME).resolve().relative_to(Path(top).resolve())
    text = git(root, "show", f"{base}:{path.as_posix()}")
    locked = [] if text is None else parse_lock(text, f"{base}:{path}")
    known = {line.case_id for line in locked}
    problems = [*_problems(locked, cases), *_weaker(locked, cases)]
    return [(case_id, f"{sentence} ({base})") for case_id, sentence in problems if case_id in known]


def _problems(locked: list[LockLine], cases: Path) -> list[tuple[str, str]]:
    every = list(list_cases(cases))
    return lock_problems(locked, _permanent(every), [case.id for case in every if case.state == "retired"])


def _weaker(locked: list[LockLine], cases: Path) -> Iterator[tuple[str, str]]:
    """Permanent cases that have new versions, in which a check that gated gates no more.

    That is right after a retirement, which has a reason of its own, for another incident (`ingest --into`), and where a
    subject was forgotten, whose versions are gone.
    """
    newest = {case.id: case for case in list_cases(cases) if case.state == "permanent"}
    for line in locked:
        now = newest.get(line.case_id)
        if now is None or now.version <= line.version:
            continue
        folder = cases / line.case_id
        path = dict(case_versions(folder)).get(line.version)
        if path is None:
            if line.version not in gone_versions(read_tombstones(folder)):
                yield line.case_id, f"its locked version {line.version} is missing"
            continue
        before, digest = read_with_digest(path)
        after = read_case(now.path)
        if digest != line.digest:
            yield line.case_id, f"version {line.version} is not the file that was locked"
            continue
        lost = lost_gates(before, after)
        retired = any(event.state == "retired" for event in after.life[len(before.life) :])
        if lost and not retired and before.trace.record.raw_hash == after.trace.record.raw_hash:
            yield line.case_id, f"no longer gates on {', '.join(lost)}, and was not retired for it"


def _permanent(cases: list[CaseRef]) -> list[LockLine]:
    return [LockLine(case.id, case.version, case.digest) for case in cases if case.state == "permanent"]
