"""What a replay did, in memory: its steps, and a short form of them by which equal replays are found.

Under a frozen clock most replays of a case are equal. Those that made the same calls, to the letter, and got the same
recorded answers, at the same times, need no steps of their own: the first one's are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import orjson

from evalkit.capture.seam import Turn
from evalkit.trace.model import Step

__all__ = ["Collected", "Outline"]

Outline: TypeAlias = "tuple[tuple[Any, ...], ...]"
"""What tells a replay's steps from another's of the same case."""


class Collected:
    """The observer of one replay.

    Args:
        before: steps that happened before the replay began.
    """

    def __init__(self, before: Sequence[Step] = ()) -> None:
        self._steps: dict[int, Step] = {step.seq: step for step in before} if before else {}
        self._turns: list[Turn] = []
        self.took = self._turns.append
        """Is told of each substituted call that ended; its step is made when somebody wants it."""

    def started(self, step: Step) -> None:
        """A step began."""
        self._steps[step.seq] = step

    def ended(self, step: Step) -> None:
        """A step ended."""
        self._steps[step.seq] = step

    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        found = {**self._steps, **{turn.seq: turn.step() for turn in self._turns}}
        return tuple(found[seq] for seq in sorted(found))

    def forget(self) -> None:
        """Lets go of the calls, which hold their session, which holds this."""
        self._turns.clear()

    def outline(self) -> Outline | None:
        """The short form; None for a replay that did more than to make recorded calls."""
        if self._steps:
            return None
        found = []
        for turn in self._turns:
            call, answer = turn.call, turn.outcome
            if call.known is None or answer is None or not answer.kept:
                return None
            try:
                told = orjson.dumps(call.attributes) if call.attributes else b""
            except TypeError:  # an integer beyond 64 bits
                return None
            times = turn.started_at, turn.ended_at
            found.append((turn.seq, call.known, call.effect, told, id(answer), turn.parent, *times))
        return tuple(sorted(found) if len(found) > 1 else found)
