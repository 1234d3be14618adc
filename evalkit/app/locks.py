"""The gate lock in a project: written by promoting and retiring, compared by the gate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evalkit.case.lock import LOCK_NAME, LockLine, lock_problems, read_lock, read_unmerged_lock, write_lock
from evalkit.case.store import read_case
from evalkit.errors import InputError, IntegrityError
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.select import list_cases

__all__ = ["current_lock_problems", "must_be_library", "problems_with", "refresh_lock", "rewrite_lock", "update_lock"]


def must_be_library(cases: Path) -> None:
    """Refuses a folder that is not there.

    Raises:
        InputError: there is no such folder.
    """
    if not cases.is_dir():
        raise InputError("there is no case folder", str(cases), "evalkit init")


def refresh_lock(cases: Path) -> Path:
    """Writes the lock from the newest versions of the permanent cases."""
    return write_lock([_line(case) for case in list_cases(cases) if case.state == "permanent"], cases)


def update_lock(cases: Path, before: Iterable[LockLine]) -> Path:
    """Writes the lock after some cases changed.

    A line goes only when its case is retired: one whose case is gone, or is not the file that was locked, stays, for
    `evalkit check` and the gate to tell of.

    Args:
        before: the lock's lines from before the change, see `case.lock.read_unmerged_lock`.
    """
    known = {*before}
    named = {line.case_id for line in known}
    lines, others = dict[str, LockLine](), dict[str, CaseRef]()
    for case in list_cases(cases):
        if case.state == "permanent":
            lines[case.id] = _line(case)
        elif case.id in named:
            others[case.id] = case
    for line in sorted(known):
        now, other = lines.get(line.case_id), others.get(line.case_id)
        if now is None:
            stays = other is None or not _retired_since(other, line.version)
        else:
            stays = now.version < line.version or (now.version == line.version and now not in known)
        if stays:
            lines[line.case_id] = line
    return write_lock(lines.values(), cases)


def rewrite_lock(cases: Path) -> Path:
    """Writes the lock anew where a merge left two in one file; nothing leaves it on the way.

    Raises:
        InputError: there is no such folder, or Git LFS did not fetch the lock.
        IntegrityError: it names a case that is neither permanent nor retired now, a later version than there is, or
            another file of the newest one; or it holds something else.
    """
    must_be_library(cases)
    path = cases / LOCK_NAME
    named: dict[str, list[LockLine]] = {}
    for line in read_unmerged_lock(cases):
        named.setdefault(line.case_id, []).append(line)
    newest = {case.id: case for case in list_cases(cases) if case.id in named}
    for case_id, lines in named.items():
        case, latest = newest.get(case_id), max(line.version for line in lines)
        if case is not None and case.state != "permanent" and _retired_since(case, latest):
            continue
        if case is None or case.state not in ("permanent", "retired"):
            what = f"the gate lock names {case_id}, and there is no such permanent case any more"
            raise IntegrityError(what, str(path), f"restore {cases / case_id}, or evalkit retire {case_id}")
        if case.version < latest:
            what = f"the gate lock names version {latest} of {case_id}, and its newest is {case.version}"
            raise IntegrityError(what, str(path), f"restore {cases / case_id}")
        if case.version == latest and all(case.digest != line.digest for line in lines if line.version == latest):
            what = f"version {latest} of {case_id} is not the file that was locked"
            raise IntegrityError(what, str(path), f"git checkout {cases / case_id}")
    return refresh_lock(cases)


def current_lock_problems(cases: Path) -> list[tuple[str, str]]:
    """Where the committed lock and the cases disagree."""
    return problems_with(read_lock(cases), list_cases(cases))


def problems_with(
    locked: list[LockLine], cases: Iterable[CaseRef], *, retired: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Where a lock, of this branch or another one, and the cases disagree: (case id, sentence).

    Args:
        retired: cases that were retired since it was written, whatever they are now.
    """
    permanent: list[LockLine] = []
    gone = [*retired]
    for case in cases:  # not kept: they may be very many, and few of them are either
        if case.state == "permanent":
            permanent.append(_line(case))
        elif case.state == "retired":
            gone.append(case.id)
    return lock_problems(locked, permanent, gone)


def _retired_since(case: CaseRef, version: int) -> bool:
    """Whether a case that is not permanent was retired after a locked version, whatever it is now.

    A retired one of that very number was retired by one branch, where another one made a version of it.
    """
    if case.state == "retired":
        return case.version >= version
    return any(event.state == "retired" for event in read_case(case.path).life[version:])  # an event a version


def _line(case: CaseRef) -> LockLine:
    return LockLine(case.id, case.version, case.digest)
