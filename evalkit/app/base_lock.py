"""The gate lock of the branch that a change goes into: what it holds may not be missing or weaker here.

It is found wherever the base has it, so that neither a moved folder nor other settings hide anything; what git can't
read is an error, never an empty lock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evalkit.app.base_cases import later_versions, otherwise, weaker
from evalkit.app.base_tree import BaseTree
from evalkit.app.locks import problems_with
from evalkit.case.lock import LOCK_NAME, LockLine, parse_lock
from evalkit.errors import InputError, IntegrityError
from evalkit.suite.case_ref import CaseRef

__all__ = ["Compared", "compare_with_base"]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison with the base branch found.

    Attributes:
        problems: what of the base's lock no longer holds here: (case id, sentence).
        told: what a person should know of the comparison and of the cases that are otherwise than there, a sentence
            each.
    """

    problems: tuple[tuple[str, str], ...]
    told: tuple[str, ...] = ()


def compare_with_base(cases: Path, listed: Iterable[CaseRef], tree: BaseTree) -> Compared:
    """What of the base branch's lock no longer holds here; cases that are new here are no problem.

    Args:
        cases: the folder of cases.
        listed: the newest version of each of them.

    Raises:
        InputError: git can't read the base's files, or the cases are not in its working tree.
        IntegrityError: the base's lock is broken.
    """
    base = tree.base
    place = tree.find(LOCK_NAME, cases)
    locked = _lock_at(tree, place)
    if not locked:
        return Compared((), (f"no case is locked in {base}: nothing was compared with it",))
    found, told, retired = list[tuple[str, str]](), list[str](), list[str]()
    for one in later_versions(locked, listed, tree, place.removesuffix(LOCK_NAME)):
        found += [(one.line.case_id, sentence) for sentence in weaker(one)]
        told += otherwise(one, base)
        if one.retired is not None:
            retired.append(one.line.case_id)
    problems = [*problems_with(locked, listed, retired=retired), *found]
    known = {line.case_id: line for line in locked}
    behind = _behind(tree, locked, cases) if problems else {}
    return Compared(
        tuple(
            (case_id, f"{sentence} ({base}{behind.get(case_id, '')})")
            for case_id, sentence in problems
            if case_id in known
        ),
        tuple(told),
    )


def _lock_at(tree: BaseTree, place: str) -> list[LockLine]:
    return parse_lock(tree.text(place), f"{tree.base}:{place}") if place else []


def _behind(tree: BaseTree, locked: list[LockLine], cases: Path) -> dict[str, str]:
    """By case what the base locked after this branch had left it: that it is not here is nobody's doing."""
    left = tree.left()
    if left is None:
        unsure = f"; the branch may be behind {tree.base}: git can't tell, since its history is not here: merge it"
        return {line.case_id: unsure for line in locked}
    try:
        then = {*_lock_at(left, left.find(LOCK_NAME, cases))}
    except (InputError, IntegrityError):  # of long ago: no reason to refuse what is here
        return {}
    told = f", which locked it after this branch had left it: merge {tree.base}"
    return {line.case_id: told for line in locked if line not in then}
