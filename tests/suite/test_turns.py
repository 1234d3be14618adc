"""The order of two arms' turns: what drifts in time drifts for both."""

from __future__ import annotations

import itertools
from statistics import mean

import pytest

from evalkit.suite.turns import Turn, turns


def test_the_turns_of_one_block_are_a_b_b_a() -> None:
    """Neighbouring turns of one arm are one."""
    assert turns(10, 1) == [Turn("a", 5), Turn("b", 10), Turn("a", 10)]


@pytest.mark.parametrize("samples", [2, 4, 10, 16, 100])
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_both_arms_lie_at_the_same_time_on_average(samples: int, blocks: int) -> None:
    """With an even number of samples a steady drift cancels exactly."""
    at: dict[str, list[int]] = {"a": [], "b": []}
    done = {"a": 0, "b": 0}
    for arm, up_to in turns(samples, blocks):
        for _ in range(up_to - done[arm]):
            at[arm].append(len(at["a"]) + len(at["b"]))
        done[arm] = up_to
    assert done == {"a": samples, "b": samples}
    assert mean(at["a"]) == pytest.approx(mean(at["b"]))


@pytest.mark.parametrize(("samples", "count"), [(1, 2), (2, 3), (3, 3), (8, 9), (1000, 9)])
def test_there_are_as_few_turns_as_the_blocks_need(samples: int, count: int) -> None:
    """Each turn may start the workers anew."""
    found = turns(samples, 4)
    assert len(found) == count
    assert found[-1].up_to == samples
    assert all(one.arm != other.arm for one, other in itertools.pairwise(found))
