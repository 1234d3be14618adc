"""The gate lock in a project: written by promoting and retiring, compared by the gate."""

from __future__ import annotations

from pathlib import Path

from evalkit.app.environment import git
from evalkit.case.lock import LOCK_NAME, LockLine, lock_problems, parse_lock, read_lock, write_lock
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
    return [(case_id, f"{sentence} ({base})") for case_id, sentence in _problems(locked, cases) if case_id in known]


def _problems(locked: list[LockLine], cases: Path) -> list[tuple[str, str]]:
    every = list(list_cases(cases))
    return lock_problems(locked, _permanent(every), [case.id for case in every if case.state == "retired"])


def _permanent(cases: list[CaseRef]) -> list[LockLine]:
    return [LockLine(case.id, case.version, case.digest) for case in cases if case.state == "permanent"]
