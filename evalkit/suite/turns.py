"""In which order two arms take their turns, so that what drifts meanwhile drifts for both.

A model endpoint gets slower, a provider changes a model, a cache fills. The turns of a block are A B B A: each arm's
samples lie at the same time on average (with odd numbers, nearly), and a steady drift cancels. Two turns of one arm in
a row are one.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Arm", "Turn", "turns"]

Arm: TypeAlias = Literal["a", "b"]


class Turn(NamedTuple):
    """One arm's turn: every case up to so many samples."""

    arm: Arm
    up_to: int


def turns(samples: int, blocks: int) -> list[Turn]:
    """The turns of an A/B run.

    Args:
        samples: a case and arm.
        blocks: A B B A blocks wanted; there are fewer where there are not two samples an arm for each.

    Returns:
        2 blocks + 1 turns. With a single sample an arm it is A, then B: nothing can be balanced.
    """
    parts = min(2 * blocks, samples - samples % 2) or 1
    order: list[Arm] = [arm for at in range(parts) for arm in (("a", "b") if at % 2 == 0 else ("b", "a"))]
    done: dict[Arm, int] = {"a": 0, "b": 0}
    found: list[Turn] = []
    for arm in order:
        done[arm] += 1
        turn = Turn(arm, round(samples * done[arm] / parts))
        if found and found[-1].arm == arm:
            found[-1] = turn
        else:
            found.append(turn)
    return found
