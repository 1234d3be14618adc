"""What a project chooses about the frozen world of its replays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from evalkit.canonical import Json

__all__ = ["PLAIN_WORLD", "ClockKind", "WorldOptions", "world_from_json"]

ClockKind: TypeAlias = Literal["still", "moving"]


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """The choices.

    Attributes:
        clock: ``still`` moves only with the recorded answers, so that equal runs are equal; ``moving`` goes on in real
            seconds from there, for agents that wait until a time has come.
        keep_env: patterns of environment variables that an agent sees as they are (``APP_*``), beside the harmless
            ones; all others are left out. None leaves all in, what looks like a credential replaced.
        working_copy: whether replays take place in a temporary copy of the current folder.
    """

    clock: ClockKind = "still"
    keep_env: tuple[str, ...] | None = None
    working_copy: bool = False

    def json(self) -> dict[str, Json]:
        """For a manifest, and for another process."""
        return {**asdict(self), "keep_env": None if self.keep_env is None else list(self.keep_env)}


PLAIN_WORLD = WorldOptions()


def world_from_json(body: Mapping[str, Any]) -> WorldOptions:
    """The choices that `WorldOptions.json` wrote."""
    kept = body["keep_env"]
    return WorldOptions(body["clock"], None if kept is None else tuple(kept), body["working_copy"])
