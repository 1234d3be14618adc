"""The gate lock in a project: written by promoting and retiring, compared by the gate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evalkit.case.lock import LockLine, lock_problems, read_lock, write_lock
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.select import list_cases

__all__ = ["current_lock_problems", "problems_with", "refresh_lock"]


def refresh_lock(cases: Path) -> Path:
    """Writes the lock from the newest versions of the permanent cases."""
    return write_lock([_line(case) for case in list_cases(cases) if case.state == "permanent"], cases)


def current_lock_problems(cases: Path) -> list[tuple[str, str]]:
    """Where the committed lock and the cases disagree."""
    return problems_with(read_lock(cases), list_cases(cases))


def problems_with(locked: list[LockLine], cases: Iterable[CaseRef]) -> list[tuple[str, str]]:
    """Where a lock, of this branch or another one, and the cases disagree: (case id, sentence)."""
    permanent: list[LockLine] = []
    retired: list[str] = []
    for case in cases:  # not kept: they may be very many, and few of them are either
        if case.state == "permanent":
            permanent.append(_line(case))
        elif case.state == "retired":
            retired.append(case.id)
    return lock_problems(locked, permanent, retired)


def _line(case: CaseRef) -> LockLine:
    return LockLine(case.id, case.version, case.digest)
