"""Items whose worker died: done again sample by sample, so that only the guilty one is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evalkit.suite.journal import encode_batch
from evalkit.suite.model import Sample
from evalkit.suite.plan import Item, split_item
from evalkit.suite.seen import Seen

__all__ = ["to_do_again"]


def to_do_again(dead: Sequence[tuple[Item, str]], seen: Seen, done: Callable[[Sequence[bytes]], None]) -> list[Item]:
    """The items to try again, a sample each; a sample whose own worker died is told to `done`, as errored.

    Args:
        dead: each item with how its worker died.
        seen: the samples that the workers had handed in before.
    """
    again: list[Item] = []
    for item, why in dead:
        if item.size > 1:
            again += split_item(item, len(again), seen)
        else:
            done([encode_batch([_died(item, why)], [])])
    return again


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
