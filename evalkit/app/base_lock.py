"""The gate lock of the branch that a change goes into: what it holds may not be missing or weaker here.

It is found wherever the base has it, so that neither a moved folder nor other settings hide anything; what git can't
read is an error, never an empty lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalkit.app.base_tree import BaseTree
from evalkit.app.locks import problems_with
from evalkit.case.lock import LOCK_NAME, LockLine, parse_lock
from evalkit.case.model import Case, lost_gates
from evalkit.case.store import case_versions, read_case, read_with_digest
from evalkit.case.tombstone import gone_versions, read_tombstones
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.select import list_cases

__all__ = ["Compared", "compare_with_base"]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison with the base branch found.

    Attributes:
        problems: what of the base's lock no longer holds here: (case id, sentence).
        nothing: that the base locks no case, in words; empty where it does.
        looser: cases that compare less of what an agent does than there, a sentence each.
    """

    problems: tuple[tuple[str, str], ...]
    nothing: str = ""
    looser: tuple[str, ...] = ()


def compare_with_base(cases: Path, tree: BaseTree) -> Compared:
    """What of the base branch's lock no longer holds here; cases that are new here are no problem.

    Raises:
        InputError: git can't read the base's files, or the cases are not in its working tree.
        IntegrityError: the base's lock is broken.
    """
    base, locked = tree.base, _lock_at(tree, cases)
    if not locked:
        return Compared((), f"no case is locked in {base}: nothing was compared with it")
    weaker: list[tuple[str, str]] = []
    looser: list[str] = []
    for one in _newer(locked, cases):
        weaker += _weaker(one, cases)
        looser += _looser(one, base)
    problems = [*problems_with(locked, list_cases(cases)), *weaker, *_unrecorded(locked, cases)]
    known = {line.case_id for line in locked}
    later = known - {line.case_id for line in _lock_at(tree.left(), cases)}
    return Compared(
        tuple(
            (case_id, f"{sentence} ({base}{_behind(base) if case_id in later else ''})")
            for case_id, sentence in problems
            if case_id in known
        ),
        looser=tuple(looser),
    )


def _lock_at(tree: BaseTree, cases: Path) -> list[LockLine]:
    """The lock of a commit, see `BaseTree.find`; empty without any."""
    place = tree.find(LOCK_NAME, cases)
    return parse_lock(tree.text(place), f"{tree.base}:{place}") if place else []


def _behind(base: str) -> str:
    return f", which locked it after this branch had left it: merge {base}"


@dataclass(frozen=True, slots=True)
class _Newer:
    """A permanent case with a later version than the one locked; `before` is None where that is gone."""

    line: LockLine
    before: Case | None
    digest: str
    after: Case


def _newer(locked: list[LockLine], cases: Path) -> Iterator[_Newer]:
    versions = {line.case_id: line for line in locked}
    for now in list_cases(cases):
        line = versions.get(now.id)
        if line is None or now.state != "permanent" or now.version <= line.version:
            continue
        path = dict(case_versions(cases / line.case_id)).get(line.version)
        before, digest = (None, "") if path is None else read_with_digest(path)
        yield _Newer(line, before, digest, read_case(now.path))


def _weaker(one: _Newer, cases: Path) -> Iterator[tuple[str, str]]:
    """That a new version of a permanent case no longer gates on something.

    That is right after a retirement, which has a reason of its own, for another incident (`ingest --into`), and where a
    subject was forgotten, whose versions are gone.
    """
    line = one.line
    if one.before is None:
        if not _forgotten(line, cases):
            yield line.case_id, f"its locked version {line.version} is missing"
    elif one.digest != line.digest:
        yield line.case_id, f"version {line.version} is not the file that was locked"
    elif (lost := lost_gates(one.before, one.after)) and _is_edited(one.before, one.after):
        yield line.case_id, f"no longer gates on {', '.join(lost)}, and was not retired for it"


def _looser(one: _Newer, base: str) -> Iterator[str]:
    """That a new version leaves out more of the arguments of calls, so that others are as good as the recorded.

    An id that is new in every run is left out rightly, and an amount is not: a person must see which it is.
    """
    if one.before is None:
        return
    more = [
        f"{tool}={place}"
        for tool, places in one.after.volatile.items()
        for place in places
        if place not in one.before.volatile.get(tool, ())
    ]
    if more and _is_edited(one.before, one.after):
        yield (
            f"case {one.line.case_id} compares less than in {base}: of calls it leaves out {', '.join(more)} "
            f"(evalkit history {one.line.case_id} says who and why)"
        )


def _is_edited(before: Case, after: Case) -> bool:
    """Whether a version is of the same incident, and nobody retired the case in between."""
    retired = any(event.state == "retired" for event in after.life[len(before.life) :])
    return not retired and before.trace.record.raw_hash == after.trace.record.raw_hash


def _unrecorded(locked: list[LockLine], cases: Path) -> Iterator[tuple[str, str]]:
    """Retired cases whose retirement nobody answers for: without actor or reason, or without the version it retired."""
    retired: dict[str, CaseRef] = {case.id: case for case in list_cases(cases) if case.state == "retired"}
    for line in locked:
        now = retired.get(line.case_id)
        if now is None:
            continue
        event = read_case(now.path).life[-1]
        if not event.actor.strip() or not event.reason.strip():
            yield line.case_id, "is retired, but nobody says why"
            continue
        path = dict(case_versions(cases / line.case_id)).get(line.version)
        if path is None and not _forgotten(line, cases):
            yield line.case_id, f"is retired, but its locked version {line.version} is missing"
        elif path is not None and read_with_digest(path)[1] != line.digest:
            yield line.case_id, f"is retired, but version {line.version} is not the file that was locked"


def _forgotten(line: LockLine, cases: Path) -> bool:
    return gone_versions(read_tombstones(cases / line.case_id)).get(line.version) == line.digest
