"""Which cases a suite means, from the cases' headers alone: their rows are read by whoever replays them."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from evalkit.case.store import iter_cases
from evalkit.errors import ConfigError
from evalkit.suite.case_ref import CaseRef, CaseRefs, brief_reference, out_of_place, reference, root_of
from evalkit.suite.model import Selection

__all__ = ["list_cases", "matches", "select_cases", "selection_words"]

_READ_IN_A_ROW = 64


def list_cases(root: str | Path) -> Iterator[CaseRef]:
    """The newest version of every case under `root`, by id.

    Raises:
        InputError: a file is no case.
        IntegrityError: a file holds another case or version than its place says: one of two would count for both.
    """
    for name, versions in iter_cases(root):
        number, path = versions[-1]
        case = reference(path)
        if (case.id, case.version) != (name, number):
            raise out_of_place(case)
        yield case


def select_cases(root: str | Path, selection: Selection, *, compared: bool = False) -> CaseRefs:
    """The cases that `selection` means, by id; retired ones never.

    Args:
        compared: whether they are compared with a baseline: what they demand is held then.

    Raises:
        ConfigError: an exact id names no case, or nothing is selected.
        IntegrityError: a file holds another case or version than its place says: one of two would be run for both.
    """
    lacking = {wanted for wanted in selection.ids if not any(c in wanted for c in "*?[")}
    states: set[str] = set()

    def meant() -> Iterator[CaseRef]:
        newest = (versions[-1][1] for _, versions in iter_cases(root))
        while some := [*islice(newest, _READ_IN_A_ROW)]:  # each step for all of them before the next: see case.reading
            for case in [brief_reference(path, compared=compared) for path in some]:
                root_of(case)
                lacking.discard(case.id)
                states.add(case.state)
                if case.state != "retired" and matches(case, selection):
                    yield case

    chosen = CaseRefs(meant())
    for wanted in selection.ids:
        if wanted in lacking:
            raise ConfigError(f"the suite selects {wanted!r}, and there is no such case", str(root), "evalkit list")
    if not chosen and selection.gate and "permanent" not in states:
        what = "the suite selects permanent cases, and there is none: nothing guards a release"
        raise ConfigError(what, str(root), "evalkit promote CASE --reason WHY makes one")
    if not chosen:
        cure = "evalkit list shows ids, tags and states"
        if selection.gate:
            cure += "; evalkit promote CASE --reason WHY makes a reviewed case a permanent one, which it wants"
        raise ConfigError("the suite selects no case", str(root), cure)
    return chosen


def matches(case: CaseRef, selection: Selection) -> bool:
    """Whether the case meets every condition given."""
    return (
        (not selection.ids or any(fnmatchcase(case.id, pattern) for pattern in selection.ids))
        and (not selection.tags or bool(set(selection.tags) & set(case.tags)))
        and (not selection.gate or case.state == "permanent")
        and (not selection.signatures or any(fnmatchcase(case.signature, p) for p in selection.signatures))
    )


def selection_words(selection: Selection) -> str:
    """The ids, tags and signatures that a selection names; empty where it names none."""
    named = (("ids", selection.ids), ("tags", selection.tags), ("signatures", selection.signatures))
    return " and ".join(f"{name} {', '.join(values)}" for name, values in named if values)
