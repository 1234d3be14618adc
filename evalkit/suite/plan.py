"""How a run's work is cut into items: what one worker does at a time, and what one journal line holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from evalkit.suite.seen import Seen
from evalkit.suite.select import CaseRef

__all__ = ["Item", "Portion", "plan_items", "split_item"]

_ITEMS_A_WORKER = 12
"""Small enough that no worker idles long at the end, large enough that an item's own cost does not show."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some samples of one case."""

    path: str
    case_id: str
    version: int
    samples: tuple[int, ...]


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
        (case, tuple(i for i in range(wanted[case.id]) if done is None or not done.has(case.id, i))) for case in cases
    ]
    total = sum(len(indices) for _, indices in left)
    size = max(1, ceil(total / (workers * _ITEMS_A_WORKER)))
    portions = [
        Portion(case.path, case.id, case.version, indices[start : start + size])
        for case, indices in left
        for start in range(0, len(indices), size)
    ]
    return _packed(portions, size)


def split_item(item: Item, first_number: int) -> list[Item]:
    """One item a sample: what is done with an item whose worker died, so that only the guilty sample is lost."""
    singles = [
        Portion(portion.path, portion.case_id, portion.version, (sample,))
        for portion in item.portions
        for sample in portion.samples
    ]
    return [Item(first_number + at, (single,)) for at, single in enumerate(singles)]


def _packed(portions: Sequence[Portion], size: int) -> list[Item]:
    items: list[Item] = []
    batch: list[Portion] = []
    filled = 0
    for portion in portions:
        batch.append(portion)
        filled += len(portion.samples)
        if filled >= size:
            items.append(Item(len(items), tuple(batch)))
            batch, filled = [], 0
    if batch:
        items.append(Item(len(items), tuple(batch)))
    return items
