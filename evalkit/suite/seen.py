"""What a run's samples came to so far, as far as one needs it to choose the next: outcomes by index, equal or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from evalkit.suite.model import Outcome, Sample
from evalkit.suite.packed import packed

__all__ = ["CaseSeen", "Seen", "seen_json"]

_LETTERS: dict[Outcome, int] = {"passed": ord("p"), "failed": ord("f"), "missed": ord("m"), "errored": ord("e")}
_OUTCOMES: dict[int, Outcome] = {letter: outcome for outcome, letter in _LETTERS.items()}
_ERRORED = _LETTERS["errored"]


class CaseSeen:
    """One case's samples so far; some hundred bytes a case, so that very many cases fit."""

    __slots__ = ("_attempts", "_digest", "_letters", "_unequal")

    def __init__(self) -> None:
        self._letters = b""
        self._digest: str | bytes = ""
        self._unequal = False
        self._attempts: dict[int, int] | None = None  # of samples that are errored, or were

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
        """Whether all replays that left a trace were equal, step by step, and not by chance; false without one.

        Replays of an agent that draws random numbers may go the same way a few times. What an outage did to a replay
        says nothing about the agent: errored ones are left out.
        """
        return bool(self._digest) and not self._unequal

    @property
    def attempts(self) -> Mapping[int, int]:
        """By index, how often the samples were replayed that are errored, or were at first."""
        return self._attempts or {}

    def add(
        self, indices: Sequence[int], outcome: Outcome, digest: str, attempt: int = 1, drew: bool = False
    ) -> list[Outcome]:
        """Notes samples that are alike; gives back the outcomes that count no longer.

        These are the ones of earlier attempts, whose places they take, and their own where a later attempt is known.
        """
        letters = bytearray(self._letters.ljust(max(indices) + 1, b"\0"))
        earlier = {index: letters[index] for index in indices if letters[index]}
        known = {index for index in earlier if attempt < self.attempts.get(index, 1)}
        fresh = [index for index in indices if index not in known] if known else indices
        for index in fresh:
            letters[index] = _LETTERS[outcome]
        self._letters = bytes(letters)
        if outcome == "errored" or attempt > 1:
            self._attempts = {**self.attempts, **dict.fromkeys(fresh, attempt)}
        if fresh and digest and outcome != "errored":
            seen = packed(digest)
            self._unequal = self._unequal or drew or self._digest not in ("", seen)
            self._digest = seen
        return [outcome if index in known else _OUTCOMES[before] for index, before in earlier.items()]

    def has(self, index: int, attempt: int = 1) -> bool:
        """Whether that sample is there, by that attempt or a later one."""
        there = index < len(self._letters) and self._letters[index] != 0
        return there and (attempt == 1 or self.attempts.get(index, 1) >= attempt)

    @property
    def errored(self) -> dict[int, int]:
        """By index, the attempts of the samples that are errored."""
        return {index: count for index, count in self.attempts.items() if self._letters[index] == _ERRORED}


class Seen(Mapping[str, CaseSeen]):
    """By case id; a case without samples is absent.

    Attributes:
        counts: how many samples came to each outcome; of a sample with several attempts, the last one counts.
    """

    def __init__(self) -> None:
        self._cases: dict[str, CaseSeen] = {}
        self.counts: Counter[str] = Counter()

    def add(self, entries: Iterable[Sequence[Any]]) -> None:
        """Notes samples as `seen_json` gives them."""
        for case_id, indices, outcome, digest, *more in entries:
            case = self._cases.get(case_id)
            if case is None:
                case = self._cases[case_id] = CaseSeen()
            self.counts[outcome] += len(indices)
            self.counts.subtract(case.add(indices, outcome, digest, *more))

    def has(self, case_id: str, index: int, attempt: int = 1) -> bool:
        """Whether that sample is there, by that attempt or a later one."""
        found = self._cases.get(case_id)
        return found is not None and found.has(index, attempt)

    def errored(self, case_id: str) -> Mapping[int, int]:
        """By index, the attempts of a case's errored samples."""
        found = self._cases.get(case_id)
        return {} if found is None else found.errored

    def retried(self) -> dict[tuple[str, int], int]:
        """By case and index, the last attempt of samples that have several."""
        return {
            (case_id, index): count
            for case_id, case in self._cases.items()
            for index, count in case.attempts.items()
            if count > 1
        }

    def __getitem__(self, case_id: str) -> CaseSeen:
        return self._cases[case_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cases)

    def __len__(self) -> int:
        return len(self._cases)


def seen_json(samples: Iterable[Sample]) -> list[list[Any]]:
    """What a journal line tells first of its samples: case, indices, outcome, digest; attempt, `drew` if unusual.

    An entry is of samples in a row that are alike in all that.
    """
    return [
        [case_id, [sample.index for sample in some], outcome, digest, *_more(attempt, drew)]
        for (case_id, outcome, digest, attempt, drew), some in groupby(samples, _told)
    ]


_told = attrgetter("case_id", "outcome", "trace", "attempt", "drew")


def _more(attempt: int, drew: bool) -> Sequence[Any]:
    if drew:
        return attempt, True
    return (attempt,) if attempt > 1 else ()
