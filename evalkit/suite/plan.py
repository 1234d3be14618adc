"""How a run's work is cut into items: what one worker does at a time, and what one journal line holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from evalkit.suite.seen import Seen
from evalkit.suite.select import CaseRef

__all__ = ["Item", "Portion", "plan_again", "plan_items", "split_item"]

_SHARES, _LEAST_SHARES = 4, 48
"""An item is a quarter of a worker's share of what is left: the first ones are large, so that an item's own cost does
not show, the last ones small, so that no worker idles long at the end. None is less than such a part of a whole share.
"""


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


@dataclass(frozen=True, slots=True)
class Item:
    """Some portions, done by one worker in order."""

    number: int
    portions: tuple[Portion, ...]

    @property
    def size(self) -> int:
        """Samples in it."""
        return sum(len(portion.samples) for portion in self.portions)


def plan_items(
    cases: Sequence[CaseRef], wanted: Mapping[str, int], workers: int, done: Seen | None = None
) -> list[Item]:
    """The items of a run.

    An item is a case with its samples; tiny cases share an item, and a case with many samples among few is spread.

    Args:
        wanted: by case id, how many samples there should be.
        workers: how many will work at once.
        done: what a journal already holds.
    """
    left = [
        (case, tuple(i for i in range(wanted[case.id]) if done is None or not done.has(case.id, i)), 1)
        for case in cases
    ]
    return _items(left, workers)


def plan_again(
    cases: Sequence[CaseRef], wanted: Mapping[str, int], workers: int, done: Seen, retries: int
) -> list[Item]:
    """The items of errored samples that may be replayed once more.

    Args:
        retries: how often a sample may be replayed after its first attempt.
    """
    left: list[tuple[CaseRef, tuple[int, ...], int]] = []
    for case in cases:
        attempts = done.errored(case.id)
        by_attempt: dict[int, list[int]] = {}
        for index, attempt in sorted(attempts.items()):
            if index < wanted[case.id] and attempt <= retries:
                by_attempt.setdefault(attempt + 1, []).append(index)
        left += [(case, tuple(indices), attempt) for attempt, indices in by_attempt.items()]
    return _items(left, workers)


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


def _items(left: Sequence[tuple[CaseRef, tuple[int, ...], int]], workers: int) -> list[Item]:
    total = ahead = sum(len(indices) for _, indices, _ in left)
    least = ceil(total / (workers * _LEAST_SHARES))
    items: list[Item] = []
    batch: list[Portion] = []
    size = filled = 0
    for case, indices, attempt in left:
        start = 0
        while start < len(indices):
            if not batch:
                size = max(least, ceil(ahead / (workers * _SHARES)))
            some = indices[start : start + size]
            batch.append(Portion(case.path, case.id, case.version, some, attempt, case.digest))
            start += len(some)
            filled += len(some)
            if filled >= size:
                items.append(Item(len(items), tuple(batch)))
                ahead -= filled
                batch, filled = [], 0
    if batch:
        items.append(Item(len(items), tuple(batch)))
    return items
