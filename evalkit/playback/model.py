"""Words of a replay: a miss, and what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from evalkit.canonical import Json
from evalkit.capture.seam import Counts
from evalkit.check.model import CheckResult
from evalkit.playback.kept import Kept
from evalkit.trace.model import Trace

__all__ = [
    "LAYERS",
    "OUTSIDE_LAYERS",
    "RELAYED",
    "UNSAFE",
    "Difference",
    "Miss",
    "Replay",
    "ReplayStatus",
    "in_words",
]

LAYERS = ("in-process: clock, random, uuid, sockets, credentials",)
"""What keeps a replay from the outside world, for the run's manifest."""

OUTSIDE_LAYERS = ("gateway: model and tools only; the agent's clock, files and network are the machine's",)
"""What keeps a replay of an agent in another process from the outside world: little."""

RELAYED = "the model's endpoint alone, asked by a process outside"
"""What a sandbox with a live model reaches."""

UNSAFE = "unsafe replay: too few kernel layers"
"""How a manifest says that a sandbox could not hold an attack."""

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
        answered_by: the miss policy that answered it all the same; empty where the replay ended there.
        refused: why the policy for it could not answer it.
    """

    kind: str
    name: str
    arguments: Json
    number: int
    nearest: int | None = None
    differences: tuple[Difference, ...] = ()
    why: str = ""
    answered_by: str = ""
    refused: str = ""

    def sentence(self) -> str:
        """The miss in words."""
        told = f"; answered by policy {self.answered_by}" if self.answered_by else ""
        return self._what() + told + (f"; {self.refused}" if self.refused else "")

    def _what(self) -> str:
        call = f"call {self.number}: {self.kind} {self.name} has no recorded answer"
        if self.why:
            return f"call {self.number}: {self.kind} {self.name}: {self.why}"
        if self.nearest is None:
            return f"{call}; the case never calls {self.name}"
        return f"{call}; nearest is step {self.nearest} ({in_words(self.differences)})"


def in_words(differences: Sequence[Difference]) -> str:
    """Where a call differs from a recorded one, and how."""
    return "; ".join(f"{d.path or '/'}: recorded {_short(d.recorded)}, got {_short(d.actual)}" for d in differences)


@dataclass(slots=True)  # not frozen: every sample makes one, and freezing triples the time of that
class Replay:
    """One execution of a target in a case's frozen world; nobody changes it.

    Attributes:
        id: of its trace.
        kept: what is kept of it: its own trace, or an equal replay's.
        status: `missed` and `errored` say nothing about the agent.
        results: the case's checks on `trace`; empty where the replay did not come to its end. Those of a missed one
            that did (its misses were answered by a policy) say nothing: the run was distorted.
        recorded: dependency calls that the case holds.
        reason: why it did not pass.
        stopped: why the budget ended it; it is no sample then.
        drew: whether the agent drew random numbers, which may decide what it does; not seen of one in another process.
        pressed: whether the machine's time or memory had a hand in how it ended: the next one may end otherwise.
    """

    id: str
    kept: Kept
    status: ReplayStatus
    results: tuple[CheckResult, ...]
    counts: Counts
    recorded: int
    reason: str = ""
    misses: tuple[Miss, ...] = ()
    duration_s: float = 0.0
    stopped: str = ""
    drew: bool = False
    pressed: bool = False

    @property
    def trace(self) -> Trace:
        """What happened, in the same model as production."""
        return self.kept.trace if self.kept.trace.id == self.id else replace(self.kept.trace, id=self.id)

    @property
    def text(self) -> bytes:
        """The trace as one JSON text, see `playback.kept`."""
        return self.kept.text

    @property
    def digest(self) -> str:
        """Of `text`; equal replays have equal ones."""
        return self.kept.digest


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
