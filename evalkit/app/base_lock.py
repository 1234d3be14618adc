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
from evalkit.suite.select import CaseRef, list_cases

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
    newer = _newer(locked, cases)
    problems = [*problems_with(locked, cases), *_weaker(newer, cases), *_unrecorded(locked, cases)]
    known = {line.case_id for line in locked}
    later = known - {line.case_id for line in _lock_at(tree.left(), cases)}
    return Compared(
        tuple(
            (case_id, f"{sentence} ({base}{_behind(base) if case_id in later else ''})")
            for case_id, sentence in problems
            if case_id in known
        ),
        looser=tuple(_looser(newer, cases, base)),
    )


def _lock_at(tree: BaseTree, cases: Path) -> list[LockLine]:
    """The lock of a commit, see `BaseTree.find`; empty without any."""
    place = tree.find(LOCK_NAME, cases)
    return parse_lock(tree.text(place), f"{tree.base}:{place}") if place else []


def _behind(base: str) -> str:
    return f", which locked it after this branch had left it: merge {base}"


def _newer(locked: list[LockLine], cases: Path) -> list[tuple[LockLine, CaseRef]]:
    """The permanent cases that have later versions than those locked."""
    versions = {line.case_id: line for line in locked}
    permanent = ((versions.get(case.id), case) for case in list_cases(cases) if case.state == "permanent")
    return [(line, now) for line, now in permanent if line is not None and now.version > line.version]


def _weaker(newer: list[tuple[LockLine, CaseRef]], cases: Path) -> Iterator[tuple[str, str]]:
    """Permanent cases that have new versions, in which a check that gated gates no more.

    That is right after a retirement, which has a reason of its own, for another incident (`ingest --into`), and where a
    subject was forgotten, whose versions are gone.
    """
    for line, now in newer:
        path = dict(case_versions(cases / line.case_id)).get(line.version)
        if path is None:
            if not _forgotten(line, cases):
                yield line.case_id, f"its locked version {line.version} is missing"
            continue
        before, digest = read_with_digest(path)
        if digest != line.digest:
            yield line.case_id, f"version {line.version} is not the file that was locked"
            continue
        after = read_case(now.path)
        lost = lost_gates(before, after)
        if lost and _is_edited(before, after):
            yield line.case_id, f"no longer gates on {', '.join(lost)}, and was not retired for it"


def _looser(newer: list[tuple[LockLine, CaseRef]], cases: Path, base: str) -> Iterator[str]:
    """Permanent cases that leave out more of the arguments of calls, so that other calls are as good as the recorded.

    An id that is new in every run is left out rightly, and an amount is not: a person must see which it is.
    """
    for line, now in newer:
        path = dict(case_versions(cases / line.case_id)).get(line.version)
        if path is None:
            continue
        before, after = read_case(path), read_case(now.path)
        more = [
            f"{tool}={place}"
            for tool, places in after.volatile.items()
            for place in places
            if place not in before.volatile.get(tool, ())
        ]
        if more and _is_edited(before, after):
            yield (
                f"case {line.case_id} compares less than in {base}: of calls it leaves out {', '.join(more)} "
                f"(evalkit history {line.case_id} says who and why)"
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
