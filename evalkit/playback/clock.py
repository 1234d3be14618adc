"""The clock of a frozen world, and how a process shows it in place of its own."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evalkit.errors import ConfigError

__all__ = ["Clock", "clocks_at_hand", "load_time_machine"]

_NS = 1_000_000_000
_TICK = 0.001


def load_time_machine() -> Any:
    """The module, without pytest and dateutil: it imports both where it can, for 0.1 s, and we use neither with it."""
    if "time_machine" in sys.modules:
        return sys.modules["time_machine"]
    unused = [name for name in ("pytest", "dateutil.parser") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(unused))  # type: ignore[arg-type]  # None is "can't be imported"
    try:
        return importlib.import_module("time_machine")
    finally:
        for name in unused:
            del sys.modules[name]


class Clock:
    """A replay's clock: is moved forward by answers, and otherwise stands still, unless it is a moving one.

    A moving one goes on from when it is first looked at, so that an agent that never does is the same each time.
    """

    def __init__(self, start: float, *, moving: bool = False) -> None:
        self._start_ns = round(start * _NS)
        self._moving = moving
        self._moves_since: int | None = None
        self.restart()

    @property
    def ns(self) -> int:
        """Nanoseconds since 1970 UTC."""
        if not self._moving:
            return self._set_ns
        now = time.monotonic_ns()
        if self._moves_since is None:
            self._moves_since = now
        return self._set_ns + now - self._moves_since

    def read(self) -> float:
        """Seconds since 1970 UTC, for a session."""
        return self.ns / _NS if self._moving else self._set_to

    def restart(self) -> None:
        """Turns the clock back to the start, for the next replay."""
        self._set(self._start_ns)

    def advance(self, to: float) -> None:
        """Moves the clock to a recorded time; never back, and not for less than a millisecond."""
        if to - (self.read() if self._moving else self._set_to) >= _TICK:
            self._set(round(to * _NS))

    @contextmanager
    def shown(self) -> Iterator[None]:
        """`time` and `datetime` show this clock."""
        with clocks_at_hand():
            _SHOWN.append(self)
            try:
                yield
            finally:
                _SHOWN.pop()

    def _set(self, to_ns: int) -> None:
        self._set_ns, self._set_to = to_ns, to_ns / _NS
        self._moves_since = None


_SHOWN: list[Clock] = []
_AT_HAND: list[bool] = []


@contextmanager
def clocks_at_hand() -> Iterator[None]:
    """Inside, a clock is shown at once: `time` and `datetime` ask for it; where there is none, they show the system's.

    Raises:
        ConfigError: the installed time-machine can't be asked.
    """
    if _AT_HAND:
        yield
        return
    time_machine = load_time_machine()
    real_ns = time_machine.escape_hatch.time.time_ns
    with time_machine.travel(0.0, tick=False) as traveller:
        # telling it of each move takes as long as answering a call
        vars(traveller)["time_ns"] = lambda: _SHOWN[-1].ns if _SHOWN else real_ns()
        if time.time_ns() < _NS:
            raise ConfigError(
                "this version of time-machine shows no other clock than its own",
                cure='pip install "time-machine>=2.16,<4"',
            )
        _AT_HAND.append(True)
        try:
            yield
        finally:
            _AT_HAND.pop()
