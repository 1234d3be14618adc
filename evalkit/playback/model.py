"""Words of a replay: its modes, a miss, and what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.canonical import Json
from evalkit.capture.seam import Counts
from evalkit.check.model import CheckResult
from evalkit.trace.model import Trace

__all__ = ["LAYERS", "Difference", "Miss", "Mode", "Replay", "ReplayStatus", "in_words"]

Mode: TypeAlias = Literal["exact", "live-model", "model-swap", "prompt-swap", "simulation", "fork"]
"""What answers: tools always do so from fixtures.

- ``exact``: the model does so too; ``live-model``: it really runs.
- ``model-swap``, ``prompt-swap``: ``live-model`` with another model, or another system prompt.
- ``simulation``: with declared faults; the model is live where an endpoint is given.
- ``fork``: from one recorded model step on, with a live model and the built-in agent loop.
"""

LAYERS = ("in-process: clock, random, uuid, sockets, credentials",)
"""What keeps a replay from the outside world, for the run's manifest."""

ReplayStatus: TypeAlias = Literal["passed", "failed", "missed", "errored"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One argument path at which a call differs from the nearest recorded one; None stands for an absent value."""

    path: str
    recorded: Json
    actual: Json


@dataclass(frozen=True, slots=True)
class Miss:
    """A call for which the case has no fixture.

    Attributes:
        kind, name, arguments: the call.
        number: which call of the replay it was, from 1.
        nearest: the `seq` of the recorded call of the same capability with the fewest differences, if any.
        differences: where it differs from that one.
        why: what else speaks against an answer (the order, in strict mode); empty for no such fixture.
    """

    kind: str
    name: str
    arguments: Json
    number: int
    nearest: int | None = None
    differences: tuple[Difference, ...] = ()
    why: str = ""

    def sentence(self) -> str:
        """The miss in words."""
        call = f"call {self.number}: {self.kind} {self.name} has no recorded answer"
        if self.why:
            return f"call {self.number}: {self.kind} {self.name}: {self.why}"
        if self.nearest is None:
            return f"{call}; the case never calls {self.name}"
        return f"{call}; nearest is step {self.nearest} ({in_words(self.differences)})"


def in_words(differences: Sequence[Difference]) -> str:
    """Where a call differs from a recorded one, and how."""
    return "; ".join(f"{d.path or '/'}: recorded {_short(d.recorded)}, got {_short(d.actual)}" for d in differences)


@dataclass(frozen=True, slots=True)
class Replay:
    """One execution of a target in a case's frozen world.

    Attributes:
        trace: what happened, in the same model as production.
        status: `missed` and `errored` say nothing about the agent.
        results: the case's checks on `trace`; empty unless the status is passed or failed.
        recorded: dependency calls that the case holds.
        reason: why it did not pass.
        text: the trace as one JSON text, see `playback.kept`.
        digest: of `text`; equal replays have equal ones.
    """

    trace: Trace
    status: ReplayStatus
    results: tuple[CheckResult, ...]
    counts: Counts
    recorded: int
    reason: str = ""
    misses: tuple[Miss, ...] = ()
    duration_s: float = 0.0
    text: bytes = b""
    digest: str = ""


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
