"""Items whose worker died, or was ended: what is lacking is done again sample by sample, so that one alone is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evalkit.suite.journal import encode_batch
from evalkit.suite.model import Sample, Suite
from evalkit.suite.plan import Item, split_item
from evalkit.suite.seen import Seen

__all__ = ["Lost"]


class Lost:
    """What workers did not come back with, in one round.

    Args:
        done: is told the samples that are decided by that.
    """

    def __init__(self, suite: Suite, done: Callable[[Sequence[bytes]], None]) -> None:
        self._suite = suite
        self._tell = done
        self._items: list[tuple[Item, str]] = []

    def died(self, item: Item, why: str) -> None:
        """The worker died while it did an item."""
        self._items.append((item, why))

    def late(self, item: Item, place: int) -> None:
        """The worker was ended in an item's replay of that place, which did not end by itself: the agent failed."""
        if place not in range(item.size):  # none that an honest process would write
            self.died(item, "it did not end in time")
            return
        self._tell([encode_batch([self._failed(item, place)], [])])
        self._items.append((item, ""))

    def to_do_again(self, seen: Seen) -> list[Item]:
        """The items to try again, a sample each; a sample whose own worker died is told as errored.

        Args:
            seen: the samples that are there, those that the workers had handed in before among them.
        """
        again: list[Item] = []
        for item, why in self._items:
            lacking = split_item(item, len(again), seen)
            if item.size > 1:
                again += lacking
            elif lacking:
                self._tell([encode_batch([_died(item, why)], [])])
        return again

    def _failed(self, item: Item, place: int) -> Sample:
        portion, index = [(portion, index) for portion in item.portions for index in portion.samples][place]
        limit = self._suite.timeout_of(portion.case_id)
        return Sample(
            case_id=portion.case_id,
            case_version=portion.version,
            index=index,
            outcome="failed",
            reason=f"the agent did not end when it was stopped after {limit:g} s, so its process was ended",
            duration_s=limit,
            attempt=portion.attempt,
            drew=True,
        )


def _died(item: Item, why: str) -> Sample:
    portion = item.portions[0]
    return Sample(
        case_id=portion.case_id,
        case_version=portion.version,
        index=portion.samples[0],
        outcome="errored",
        reason=f"the worker's process died during this replay{f': {why}' if why else ''}",
        attempt=portion.attempt,
    )
