"""What a run's samples came to so far, as far as one needs it to choose the next: outcomes by index, equal or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalkit.suite.model import Outcome, Sample

__all__ = ["CaseSeen", "Seen", "seen_json"]

_LETTERS: dict[Outcome, int] = {"passed": ord("p"), "failed": ord("f"), "missed": ord("m"), "errored": ord("e")}
_OUTCOMES: dict[int, Outcome] = {letter: outcome for outcome, letter in _LETTERS.items()}
_DIGESTS_KEPT = 2


@dataclass(slots=True)
class CaseSeen:
    """One case's samples so far; a hundred bytes a case, so that very many cases fit."""

    _letters: bytearray = field(default_factory=bytearray)
    _digests: set[str] = field(default_factory=set)

    @property
    def outcomes(self) -> tuple[Outcome | None, ...]:
        """By sample index; None where a sample is not there (yet)."""
        return tuple(_OUTCOMES.get(letter) for letter in self._letters)

    @property
    def count(self) -> int:
        """Samples that are there."""
        return len(self._letters) - self._letters.count(0)

    @property
    def equal(self) -> bool:
        """Whether all replays that left a trace were equal, step by step; false without one."""
        return len(self._digests) == 1

    def add(self, index: int, outcome: Outcome, digest: str) -> None:
        """Notes one sample."""
        if index >= len(self._letters):
            self._letters.extend(bytes(index + 1 - len(self._letters)))
        self._letters[index] = _LETTERS[outcome]
        if digest and len(self._digests) < _DIGESTS_KEPT:
            self._digests.add(digest)

    def has(self, index: int) -> bool:
        """Whether that sample is there."""
        return index < len(self._letters) and self._letters[index] != 0


class Seen(Mapping[str, CaseSeen]):
    """By case id; a case without samples is absent."""

    def __init__(self) -> None:
        self._cases: dict[str, CaseSeen] = {}

    def add(self, entries: Iterable[Sequence[Any]]) -> None:
        """Notes samples as `seen_json` gives them."""
        for case_id, index, outcome, digest in entries:
            self._cases.setdefault(case_id, CaseSeen()).add(index, outcome, digest)

    def has(self, case_id: str, index: int) -> bool:
        """Whether that sample is there."""
        found = self._cases.get(case_id)
        return found is not None and found.has(index)

    def __getitem__(self, case_id: str) -> CaseSeen:
        return self._cases[case_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cases)

    def __len__(self) -> int:
        return len(self._cases)


def seen_json(samples: Iterable[Sample]) -> list[tuple[str, int, Outcome, str]]:
    """Case, index, outcome and digest of each sample: what a journal line tells first."""
    return [(sample.case_id, sample.index, sample.outcome, sample.trace) for sample in samples]
