"""What is under test, behind one method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from evalkit.canonical import Json
from evalkit.registry import Registry

__all__ = ["TARGETS", "Target", "TargetFactory"]


class Target(Protocol):
    """An agent that can be started."""

    def run(self, given: Json) -> Json:
        """Starts the agent with a case's input and gives its final answer.

        Raises whatever the agent raises.
        """
        ...


class TargetFactory(Protocol):
    """Makes a target from what a suite or a flag says."""

    def __call__(self, reference: str | Callable[..., Any], /) -> Target:
        """The target that `reference` names (a function may stand for itself).

        Raises:
            ConfigError: there is no such thing.
        """
        ...


TARGETS: Registry[TargetFactory] = Registry(
    "target", "evalkit.targets", {"python": "evalkit.playback.targets.python:PythonTarget"}
)
