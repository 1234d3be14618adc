"""Pruning, held against the facts: a slice is widened until the failure is still there in what is left.

What "still there" means is the caller's business: that the checks fail on the pruned trace, and, where the agent can be
run, that a replay of the pruned case fails in the same way. A replay lives on another floor, so it comes in as a
function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from evalkit.distil.slice import Slice, prune
from evalkit.trace.model import Trace

__all__ = ["Reproduces", "Widened", "once_a_world", "widen"]

Reproduces: TypeAlias = Callable[[Slice], str]
"""Why the failure is not in what a slice leaves, in words; empty when it is."""


@dataclass(frozen=True, slots=True)
class Widened:
    """A slice that was tried.

    Attributes:
        times: how often it had to be widened.
        why: why the failure is not even in the whole trace; empty when it is in this slice.
    """

    slice: Slice
    times: int
    why: str


def widen(trace: Trace, sliced: Slice, reproduces: Reproduces) -> Widened:
    """The narrowest of the slice's rings in which the failure is; the slice itself where it is in none.

    The first ring beyond the slice has every step of a kind that the slice keeps, the last has every step.
    """
    first = ""
    for times, ring in enumerate(_rings(trace, sliced)):
        why = reproduces(ring)
        if not why:
            return Widened(ring, times, "")
        first = first or why
    return Widened(sliced, 0, first)


def once_a_world(trace: Trace, replays: Reproduces) -> Reproduces:
    """`replays`, asked once for all slices that leave a replay the same recorded answers: it sees nothing else."""
    known: dict[tuple[int, ...], str] = {}

    def reproduces(sliced: Slice) -> str:
        world = tuple(step.seq for step in prune(trace, sliced).steps if step.is_dependency)
        if world not in known:
            known[world] = replays(sliced)
        return known[world]

    return reproduces


def _rings(trace: Trace, sliced: Slice) -> Iterator[Slice]:
    yield sliced
    kinds = {trace.step(seq).kind for seq in sliced.kept}
    wider = tuple(step.seq for step in trace.steps if step.seq in sliced.kept or step.kind in kinds)
    if len(wider) > len(sliced.kept):
        yield Slice(wider, tuple((seq, why) for seq, why in sliced.dropped if seq not in wider))
    if len(trace.steps) > len(wider):
        yield Slice(tuple(step.seq for step in trace.steps), ())
