"""A slice is widened ring by ring until the failure is in it."""

from __future__ import annotations

import pytest

from evalkit.distil.slice import Slice
from evalkit.distil.widen import once_a_world, widen
from evalkit.trace.model import Step, Trace
from tests.build import a_trace, tool_step


def a_run() -> Trace:
    """Two calls, two model steps, a note."""
    return a_trace(
        tool_step(0, "find"), Step(1, "model", "chat"), tool_step(2, "refund"), Step(3, "other", "note"),
        Step(4, "model", "chat"),
    )  # fmt: skip


NARROW = Slice((2,), ((0, "a"), (1, "b"), (3, "c"), (4, "d")))


@pytest.mark.parametrize(("needed", "times", "kept"), [((2,), 0, (2,)), ((0,), 1, (0, 2)), ((3,), 2, (0, 1, 2, 3, 4))])
def test_the_narrowest_ring_that_fails_is_taken(needed: tuple[int, ...], times: int, kept: tuple[int, ...]) -> None:
    """The slice; all steps of the kinds in it; everything. What is set aside keeps its reason."""
    done = widen(a_run(), NARROW, lambda ring: "" if set(needed) <= set(ring.kept) else "gone")
    assert (done.times, done.slice.kept, done.why) == (times, kept, "")
    assert {seq for seq, _ in done.slice.dropped} == set(range(5)) - set(kept)


def test_the_slice_stays_where_no_ring_fails() -> None:
    """Then pruning is not to blame; the reason is the slice's own, and each ring was tried once."""
    tried: list[Slice] = []

    def never(ring: Slice) -> str:
        tried.append(ring)
        return f"try {len(tried)}"

    done = widen(a_run(), NARROW, never)
    assert (done.slice, done.times, done.why, len(tried)) == (NARROW, 0, "try 1", 3)


def test_the_same_world_is_replayed_once() -> None:
    """Answers of the world stay, whatever is pruned, so that an agent is not run again for a note more or less."""
    asked: list[Slice] = []

    def mended(ring: Slice) -> str:
        asked.append(ring)
        return "the replay did not fail"

    done = widen(a_run(), NARROW, once_a_world(a_run(), mended))
    assert (done.why, asked) == ("the replay did not fail", [NARROW])
