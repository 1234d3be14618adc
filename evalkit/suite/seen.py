"""What a run's samples came to so far, as far as one needs it to choose the next: outcomes by index, equal or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, TypeAlias

from evalkit.suite.model import Outcome, Sample
from evalkit.suite.texts import Texts

__all__ = ["CaseSeen", "Seen", "seen_json"]

_LETTERS: dict[Outcome, int] = {"passed": ord("p"), "failed": ord("f"), "missed": ord("m"), "errored": ord("e")}
_OUTCOMES: dict[int, Outcome] = {letter: outcome for outcome, letter in _LETTERS.items()}
_ERRORED = _LETTERS["errored"]
_DIGEST_BYTES = 16
_NONE = bytes(_DIGEST_BYTES)
_State: TypeAlias = tuple[bytes, bool, Mapping[int, int] | None]
"""A letter a sample, whether replays were unequal, and the attempts of samples that are errored, or were."""
_NOTHING: _State = (b"", False, None)


class CaseSeen:
    """One case's samples so far.

    Attributes:
        digest: of the replays, in short.
    """

    __slots__ = ("_attempts", "_letters", "_unequal", "digest")

    def __init__(self, state: _State = _NOTHING, digest: bytes = _NONE) -> None:
        self._letters, self._unequal, self._attempts = state
        self.digest = digest

    @property
    def state(self) -> _State:
        """All of it but the digest; that of very many cases is the same."""
        return self._letters, self._unequal, self._attempts

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
        return self.digest != _NONE and not self._unequal

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
        if fresh and (digest or drew) and outcome != "errored":
            seen = blake2b(digest.encode(), digest_size=_DIGEST_BYTES).digest()
            self._unequal = self._unequal or drew or self.digest not in (_NONE, seen)
            self.digest = seen
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
    """By case id; a case without samples is absent. Some 24 bytes a case are held.

    Args:
        ids: of the cases that samples are expected of; others are taken note of as well.

    Attributes:
        counts: how many samples came to each outcome; of a sample with several attempts, the last one counts.
    """

    def __init__(self, ids: Texts | None = None) -> None:
        self._ids = Texts() if ids is None else ids
        self._others: dict[str, int] = {}
        self._states: list[_State | None] = [None] * len(self._ids)
        self._digests = bytearray(len(self._ids) * _DIGEST_BYTES)
        self._alike: dict[tuple[bytes, bool], _State] = {}
        self.counts: Counter[str] = Counter()

    def add(self, entries: Iterable[Sequence[Any]]) -> None:
        """Notes samples as `seen_json` gives them."""
        for case_id, indices, outcome, digest, *more in entries:
            case = self._case(case_id) or CaseSeen()
            self.counts[outcome] += len(indices)
            self.counts.subtract(case.add(indices, outcome, digest, *more))
            self._hold(case_id, case)

    def has(self, case_id: str, index: int, attempt: int = 1) -> bool:
        """Whether that sample is there, by that attempt or a later one."""
        found = self._case(case_id)
        return found is not None and found.has(index, attempt)

    def errored(self, case_id: str) -> Mapping[int, int]:
        """By index, the attempts of a case's errored samples."""
        found = self._case(case_id)
        return {} if found is None else found.errored

    def retried(self) -> dict[tuple[str, int], int]:
        """By case and index, the last attempt of samples that have several."""
        return {
            (case_id, index): count
            for case_id, case in self.items()
            for index, count in case.attempts.items()
            if count > 1
        }

    def count(self, case_id: str) -> int:
        """How many samples of a case are there."""
        found = self._case(case_id)
        return 0 if found is None else found.count

    def _place(self, case_id: str) -> int:
        """Where a case's columns stand, or would."""
        at = self._ids.find(case_id)
        return at if at >= 0 else self._others.get(case_id, len(self._states))

    def _case(self, case_id: str) -> CaseSeen | None:
        at = self._place(case_id)
        state = self._states[at] if at < len(self._states) else None
        if state is None:
            return None
        return CaseSeen(state, bytes(self._digests[at * _DIGEST_BYTES : (at + 1) * _DIGEST_BYTES]))

    def _hold(self, case_id: str, case: CaseSeen) -> None:
        at = self._place(case_id)
        if at == len(self._states):
            self._others[case_id] = at
            self._states.append(None)
            self._digests += _NONE
        state = case.state
        self._states[at] = state if case.attempts else self._alike.setdefault(state[:2], state)
        self._digests[at * _DIGEST_BYTES : (at + 1) * _DIGEST_BYTES] = case.digest

    def __getitem__(self, case_id: str) -> CaseSeen:
        found = self._case(case_id)
        if found is None:
            raise KeyError(case_id)
        return found

    def __iter__(self) -> Iterator[str]:
        ids = chain(self._ids, self._others)
        return (case_id for case_id, state in zip(ids, self._states, strict=True) if state is not None)

    def __len__(self) -> int:
        return len(self._states) - self._states.count(None)


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
