"""How a run's work is cut into items: what one worker does at a time, and what one journal line holds."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from evalkit.suite.case_ref import CaseRef, ids_of
from evalkit.suite.made import Made
from evalkit.suite.seen import Seen

__all__ = ["Item", "Portion", "plan_items", "plans_again", "split_item"]

_SHARES, _LEAST_SHARES = 4, 48
"""An item is a quarter of a worker's share of what is left: the first ones are large, so that an item's own cost does
not show, the last ones small, so that no worker idles long at the end. None is less than such a part of a whole share.
"""
_LARGEST = 2_000
"""Samples of an item at most: it is handed over whole."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some samples of one case.

    Attributes:
        samples: their indices.
        attempt: 1, or more where the replays before were errored.
        digest: of the case when the run began.
    """

    path: str
    case_id: str
    version: int
    samples: tuple[int, ...]
    attempt: int = 1
    digest: str = ""


class Portions(Made[Portion]):
    """Portions of very many cases, each made when it is asked for; a copy in another process has them all."""

    def __init__(self, cases: Sequence[CaseRef]) -> None:
        self._cases = cases
        self._at = array("L")
        self._samples: list[tuple[int, ...]] = []
        self._alike: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._attempts = array("L")

    def add(self, case: int, samples: tuple[int, ...], attempt: int) -> None:
        """Adds a portion of the case that stands there."""
        self._at.append(case)
        self._samples.append(self._alike.setdefault(samples, samples))
        self._attempts.append(attempt)

    @property
    def parts(self) -> Iterator[tuple[int, tuple[int, ...], int]]:
        """What was added."""
        return zip(self._at, self._samples, self._attempts, strict=True)

    @property
    def size(self) -> int:
        """Samples in them."""
        return sum(map(len, self._samples))

    def __len__(self) -> int:
        return len(self._at)

    def made(self, at: int) -> Portion:
        """The portion that was added there."""
        case = self._cases[self._at[at]]
        return Portion(case.path, case.id, case.version, self._samples[at], self._attempts[at], case.digest)

    def __reduce__(self) -> tuple[type, tuple[list[Portion]]]:
        return tuple, ([*self],)


@dataclass(frozen=True, slots=True)
class Item:
    """Some portions, done by one worker in order."""

    number: int
    portions: Sequence[Portion]

    @property
    def size(self) -> int:
        """Samples in it."""
        if isinstance(self.portions, Portions):
            return self.portions.size
        return sum(len(portion.samples) for portion in self.portions)


def plan_items(
    cases: Sequence[CaseRef], wanted: Mapping[str, int], workers: int, done: Seen | None = None
) -> list[Item]:
    """The items of a run.

    An item is a case with its samples; tiny cases share an item, and a case with many samples among few is spread.

    Args:
        wanted: by case id, how many samples there should be; of other cases none are planned.
        workers: how many will work at once.
        done: what a journal already holds.
    """
    left = Portions(cases)
    for at, case_id in enumerate(ids_of(cases)):
        most = wanted.get(case_id, 0)
        left.add(at, tuple([i for i in range(most) if done is None or not done.has(case_id, i)]), 1)
    return _items(cases, left, workers)


def plans_again(
    cases: Sequence[CaseRef], wanted: Mapping[str, int], workers: int, done: Seen, retries: int
) -> Iterator[list[Item]]:
    """The items of errored samples that may be replayed once more, and again after those were done.

    No further once nothing recovers: what spoils them is still there.

    Args:
        done: the samples so far; the items that were given are expected in there when the next are asked for.
        retries: how often a sample may be replayed after its first attempt.
    """
    errored = -1
    while errored != done.counts["errored"]:
        errored = done.counts["errored"]
        items = _again(cases, wanted, workers, done, retries)
        if not items:
            return
        yield items


def _again(cases: Sequence[CaseRef], wanted: Mapping[str, int], workers: int, done: Seen, retries: int) -> list[Item]:
    left = Portions(cases)
    for at, case_id in enumerate(ids_of(cases)):
        attempts = done.errored(case_id)
        by_attempt: dict[int, list[int]] = {}
        for index, attempt in sorted(attempts.items()):
            if index < wanted.get(case_id, 0) and attempt <= retries:
                by_attempt.setdefault(attempt + 1, []).append(index)
        for attempt, indices in by_attempt.items():
            left.add(at, tuple(indices), attempt)
    return _items(cases, left, workers)


def split_item(item: Item, first_number: int, done: Seen) -> list[Item]:
    """One item a sample: what is done with an item whose worker died, so that only the guilty sample is lost.

    Args:
        done: the samples that the worker had handed in before.
    """
    singles = [
        replace(portion, samples=(sample,))
        for portion in item.portions
        for sample in portion.samples
        if not done.has(portion.case_id, sample, portion.attempt)
    ]
    return [Item(first_number + at, (single,)) for at, single in enumerate(singles)]


def _items(cases: Sequence[CaseRef], left: Portions, workers: int) -> list[Item]:
    total = ahead = left.size
    least = ceil(total / (workers * _LEAST_SHARES))
    items: list[Item] = []
    batch = Portions(cases)
    size = filled = 0
    for at, indices, attempt in left.parts:
        start = 0
        while start < len(indices):
            if not batch:
                size = min(_LARGEST, max(least, ceil(ahead / (workers * _SHARES))))
            some = indices[start : start + size]
            batch.add(at, some, attempt)
            start += len(some)
            filled += len(some)
            if filled >= size:
                items.append(Item(len(items), batch))
                ahead -= filled
                batch, filled = Portions(cases), 0
    if batch:
        items.append(Item(len(items), batch))
    return items
