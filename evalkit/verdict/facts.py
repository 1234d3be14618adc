"""What the samples of cases were samples of: whether their counts may be compared, or added, hangs on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import SERVED_LISTS, Sample
from evalkit.suite.packed import Digests
from evalkit.suite.samples import live_samples
from evalkit.suite.texts import Texts

__all__ = ["Facts", "FactsOfCases", "facts_of"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a case's samples were samples of.

    Attributes:
        version: the case's.
        checks: see `check.model.checks_digest`.
        replayed: see `suite.case_ref.CaseRef`.
        models, fingerprints, prompts, toolsets: of all its samples, sorted; see `suite.model.Served`.
        deterministic: its replays were equal, in a frozen world: one outcome, however many there are.
    """

    version: int
    checks: str
    replayed: str = ""
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    deterministic: bool = False


def facts_of(case: CaseRef, samples: Sequence[Sample]) -> Facts:
    """What a case's samples were samples of."""
    served = [sample.served for sample in live_samples(samples) if sample.served is not None]
    words = {name: {word for one in served for word in getattr(one, name)} for name in SERVED_LISTS}
    lists: dict[str, Any] = {name: tuple(sorted(found)) for name, found in words.items()}
    return Facts(case.version, case.checks_digest, case.replayed, **lists)


class FactsOfCases(Mapping[str, Facts]):
    """The facts of very many cases; each is made when it is asked for. What most have alike is held once.

    Args:
        ids: of the cases, in the order in which their facts are added.
    """

    def __init__(self, ids: Texts) -> None:
        self._ids = ids
        self._alike: list[Facts] = []
        self._known: dict[Facts, Facts] = {}
        self._replayed = Digests()

    def add(self, facts: Facts) -> None:
        """Adds those of the next case."""
        alike = replace(facts, replayed="")
        self._alike.append(self._known.setdefault(alike, alike))
        self._replayed.add([facts.replayed])

    def __getitem__(self, case_id: str) -> Facts:
        at = self._ids.find(case_id)
        if at < 0:
            raise KeyError(case_id)
        return replace(self._alike[at], replayed=self._replayed[at])

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._alike)
