"""The gate lock in a project: written by promoting and retiring, compared by the gate."""

from __future__ import annotations

from pathlib import Path

from evalkit.case.lock import LockLine, lock_problems, read_lock, write_lock
from evalkit.suite.select import CaseRef, list_cases

__all__ = ["current_lock_problems", "problems_with", "refresh_lock"]


def refresh_lock(cases: Path) -> Path:
    """Writes the lock from the newest versions of the permanent cases."""
    return write_lock(_permanent(list(list_cases(cases))), cases)


def current_lock_problems(cases: Path) -> list[tuple[str, str]]:
    """Where the committed lock and the cases disagree."""
    return problems_with(read_lock(cases), cases)


def problems_with(locked: list[LockLine], cases: Path) -> list[tuple[str, str]]:
    """Where a lock, of this branch or another one, and the cases disagree: (case id, sentence)."""
    every = list(list_cases(cases))
    return lock_problems(locked, _permanent(every), [case.id for case in every if case.state == "retired"])


def _permanent(cases: list[CaseRef]) -> list[LockLine]:
    return [LockLine(case.id, case.version, case.digest) for case in cases if case.state == "permanent"]
