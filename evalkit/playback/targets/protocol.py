"""What is under test, behind one method: an agent in this process, or one in another that a gateway serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from evalkit.canonical import Json
from evalkit.playback.gateway.address import Address
from evalkit.playback.gateway.gateway import Gateway
from evalkit.registry import Registry

__all__ = [
    "TARGETS",
    "AnyTarget",
    "OutsideTarget",
    "Surroundings",
    "Target",
    "TargetFactory",
    "TargetKilled",
    "TargetUnavailable",
    "outside_of",
    "unfit_for",
]


class TargetKilled(Exception):
    """A signal ended the agent's process: the machine may have had no room for it."""


class TargetUnavailable(Exception):
    """The agent's service could not be reached: a fault of infrastructure, which says nothing about the agent."""


class Target(Protocol):
    """An agent that can be started."""

    def run(self, given: Json) -> Json:
        """Starts the agent with a case's input and gives its final answer.

        Raises whatever the agent raises.
        """
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an agent in another process is given of its replay.

    Attributes:
        address: where its model and its tools are.
        gateway: what serves them; its `stirred` is set when a call was missed.
        timeout_s: seconds that it may take.
        started_at: the frozen day's start, seconds since 1970 UTC; nothing can make it believe in it.
        seed: of the sample.
    """

    address: Address
    gateway: Gateway
    timeout_s: float
    started_at: float
    seed: int


class OutsideTarget(Protocol):
    """An agent in another process, which evalkit meets at the gateway only."""

    @property
    def place(self) -> tuple[int, str]:
        """Port and token that its gateway must have; port 0 for any of both."""
        ...

    def run_outside(self, given: Json, around: Surroundings) -> Json:
        """Starts the agent with a case's input and gives its final answer.

        Raises:
            TargetUnavailable: there is nobody to start.
            ReplayTimeout: it took too long.
            ReplayHalt: it went on for too long after a miss.
            Exception: how the agent failed.
        """
        ...


AnyTarget: TypeAlias = "Target | OutsideTarget"


def outside_of(target: AnyTarget) -> OutsideTarget | None:
    """A target in another process, as such; None where it runs in this one.

    By its method, since a protocol's own ``isinstance`` takes longer than a substituted call.
    """
    return cast(OutsideTarget, target) if hasattr(target, "run_outside") else None


def unfit_for(target: AnyTarget, given: Json) -> str:
    """Why a target will hardly understand an input, where it can tell; in words."""
    tells: Callable[[Json], str] = getattr(target, "unfit_for", lambda _: "")
    return tells(given)


class TargetFactory(Protocol):
    """Makes a target from what a suite or a flag says."""

    def __call__(self, reference: str | Callable[..., Any] | Mapping[str, Json], /) -> AnyTarget:
        """The target that `reference` names (a function may stand for itself), or that a table describes.

        Raises:
            ConfigError: there is no such thing.
        """
        ...


TARGETS: Registry[TargetFactory] = Registry(
    "target",
    "evalkit.targets",
    {
        "python": "evalkit.playback.targets.python:PythonTarget",
        "command": "evalkit.playback.targets.command:CommandTarget",
        "http": "evalkit.playback.targets.http:HttpTarget",
    },
)
