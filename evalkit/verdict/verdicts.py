"""The verdicts of a run, very many of them: what cases came to is mostly alike, and is held once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from evalkit.suite.case_ref import CaseRef, CaseRefs
from evalkit.suite.made import Made
from evalkit.suite.texts import Texts, shared
from evalkit.verdict.model import CaseVerdict

__all__ = ["Verdicts", "came_to", "changed", "distinct", "judged_ids", "verdicts_of"]

_NAMES = ("case_id", "version", "digest", "title", "owner", "link", "signature", "tags")
"""What a verdict has of its case alone, as `CaseRefs.naming` gives it."""
_FOUND = tuple(field.name for field in fields(CaseVerdict) if field.name not in _NAMES)
came_to: Callable[[CaseVerdict], tuple[Any, ...]] = attrgetter(*_FOUND)
"""All of a verdict but what it has of its case alone."""


class Verdicts(Made[CaseVerdict]):
    """The verdicts on some cases, in their order; each is made when it is asked for.

    Of a case that came to what another one did, eight bytes are held.

    Args:
        verdicts: one a case.
    """

    def __init__(self, cases: CaseRefs, verdicts: Iterable[CaseVerdict]) -> None:
        self.cases = cases
        self._found = [*shared(map(came_to, verdicts))]

    def distinct(self) -> list[tuple[CaseVerdict, int]]:
        """See the function `distinct`."""
        first: dict[int, int] = {}
        count: Counter[int] = Counter(map(id, self._found))
        for at, found in enumerate(self._found):
            first.setdefault(id(found), at)
        return [(self.made(at), count[key]) for key, at in first.items()]

    def __len__(self) -> int:
        return len(self._found)

    def made(self, at: int) -> CaseVerdict:
        """The verdict on the case that stands there."""
        case_id, version, digest, title, *rest = self.cases.naming(at)
        found = self._found[at]
        return CaseVerdict(case_id, version, digest, title, *found[:_BETWEEN], *rest, *found[_BETWEEN:])


_BETWEEN = [field.name for field in fields(CaseVerdict)].index("owner") - 4
"""Fields of what was found that stand before the case's owner."""


def verdicts_of(cases: Sequence[CaseRef], verdicts: Iterable[CaseVerdict]) -> Sequence[CaseVerdict]:
    """The verdicts on some cases, in their order; made when they are asked for where the cases are."""
    return Verdicts(cases, verdicts) if isinstance(cases, CaseRefs) else [*verdicts]


def judged_ids(verdicts: Sequence[CaseVerdict]) -> Texts:
    """The ids of the cases, in the order of their verdicts."""
    return verdicts.cases.ids if isinstance(verdicts, Verdicts) else Texts(one.case_id for one in verdicts)


def distinct(verdicts: Sequence[CaseVerdict]) -> list[tuple[CaseVerdict, int]]:
    """What cases came to, and how many came to it: a verdict that stands for others is the first of them.

    For counting: what a verdict has of its case alone says nothing of the others.
    """
    return verdicts.distinct() if isinstance(verdicts, Verdicts) else [(verdict, 1) for verdict in verdicts]


def changed(verdicts: Sequence[CaseVerdict], change: Callable[[CaseVerdict], CaseVerdict]) -> Sequence[CaseVerdict]:
    """The verdicts, each as it is after a change; of its case nothing may change."""
    found = map(change, verdicts)
    return Verdicts(verdicts.cases, found) if isinstance(verdicts, Verdicts) else [*found]
