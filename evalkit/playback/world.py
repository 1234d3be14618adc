"""The frozen world of a replay: clock, chance, network and environment of the day, inside this process.

- The clock stands at the run's logical start and moves to each recorded answer's time; a moving one also goes on in
  real seconds (`playback.clock`).
- `random`, `uuid`, `secrets`, `os.urandom` and, where loaded, numpy's global generator follow a seed. Whether an agent
  draws from `random` or numpy, which may decide what it does, is noticed (`playback.chance`).
- Sockets are refused; only the live model's endpoint may be reached, and only in a mode that asks for it
  (`playback.guard`).
- The environment is that of `playback.environment`, and the current folder the one that the world was entered in, for
  each replay anew.

This holds off accidents, not attacks: a subprocess or a C library can still reach out. One replay at a time enters the
world in a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import chdir, getcwd

from evalkit.playback.chance import Chance, chance_at_hand
from evalkit.playback.clock import Clock, clocks_at_hand
from evalkit.playback.environment import environment_of
from evalkit.playback.guard import Guard, sends_at_hand
from evalkit.playback.options import PLAIN_WORLD, WorldOptions

__all__ = ["World", "at_hand"]

_AT_HAND: list[tuple[tuple[str | None, WorldOptions], Callable[[], None]]] = []


@contextmanager
def at_hand(base_url: str | None, options: WorldOptions = PLAIN_WORLD) -> Iterator[Callable[[], None]]:
    """Makes this process ready for worlds of this kind: setting up one after the other takes longer than a replay.

    Inside, the environment is the replays'; clock, chance and network are the process's own while no world is entered.

    Yields:
        what takes back an agent's changes to the environment.

    Raises:
        ConfigError: see `clock.clocks_at_hand`.
    """
    kind = (base_url, options)
    if _AT_HAND and _AT_HAND[-1][0] == kind:
        yield _AT_HAND[-1][1]
        return
    with environment_of(base_url, options) as undo_changes, chance_at_hand(), clocks_at_hand(), sends_at_hand():
        _AT_HAND.append((kind, undo_changes))
        try:
            yield undo_changes
        finally:
            _AT_HAND.pop()


class World:
    """Everything that a replay sees of the outside; one world serves the replays of a case, one after the other.

    Args:
        start: logical start, seconds since 1970 UTC.
        guard: what may be reached.
        options: what the project chooses.
        base_url: where the live model is; None without one.

    Attributes:
        renew_folder: takes back what a replay changed in the folder, where that is a copy.
    """

    def __init__(
        self, start: float, guard: Guard, options: WorldOptions = PLAIN_WORLD, base_url: str | None = None
    ) -> None:
        self.clock = Clock(start, moving=options.clock == "moving")
        self.guard = guard
        self.chance = Chance()
        self._kind = (base_url, options)
        self.renew_folder: Callable[[], None] | None = None
        self._undo_changes: Callable[[], None] = lambda: None
        self._folder = ""

    @contextmanager
    def entered(self) -> Iterator[World]:
        """Inside, the process lives in this world."""
        with (
            at_hand(*self._kind) as self._undo_changes,
            self.guard.active(),
            self.chance.followed(),
            self.clock.shown(),
        ):
            self._folder = getcwd()
            try:
                yield self
            finally:
                if self.renew_folder is None:  # else whoever made the copy leaves it
                    self._return()

    def restart(self, seed: int) -> None:
        """Begins the day anew: clock, environment, folder as at its start, chance from `seed`, nothing refused yet."""
        self.clock.restart()
        self._undo_changes()
        if self.renew_folder is not None:
            self.renew_folder()
        self._return()
        self.guard.refused.clear()
        self.chance.restart(seed)

    def _return(self) -> None:
        """Goes back to the folder that an agent has left, and maybe removed."""
        try:
            if getcwd() == self._folder:
                return
        except OSError:
            pass
        chdir(self._folder)
