"""The frozen world of a replay: clock, randomness, network and environment of the day, inside this process.

- The clock stands at the run's logical start and moves to each recorded answer's time; a moving one also goes on in
  real seconds.
- `random`, `uuid`, `secrets`, `os.urandom` and, where loaded, numpy's global generator follow a seed. Whether an agent
  draws from `random` or numpy, which may decide what it does, is noticed.
- Sockets are refused by an audit hook, which also sees `_socket` and C code that raises Python's events; only the live
  model's endpoint may be reached, and only in a mode that asks for it.
- The environment is that of `playback.environment`, for each replay anew.

This holds off accidents, not attacks: a subprocess or a C library can still reach out. One replay at a time enters the
world in a process.
"""

from __future__ import annotations

import _random
import hashlib
import importlib
import ipaddress
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from evalkit.playback.environment import environment_of
from evalkit.playback.fixtures import ReplayHalt
from evalkit.playback.options import PLAIN_WORLD, WorldOptions

__all__ = ["Clock", "Guard", "World", "load_time_machine"]

_NS = 1_000_000_000
_TICK = 0.001
_NETWORK_EVENTS = frozenset(
    {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind"}
)


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
    """The replay's clock: is moved forward by answers, and otherwise stands still, unless it is a moving one."""

    def __init__(self, start: float, *, moving: bool = False) -> None:
        self._start_ns = self._now_ns = round(start * _NS)
        self._now = self._now_ns / _NS
        self._moving = moving
        self._traveller: Any = None
        self._is_asked = False

    @property
    def now(self) -> float:
        """Seconds since 1970 UTC."""
        return self.read()

    def read(self) -> float:
        """The time, for a session."""
        return time.time() if self._moving and self._traveller is not None else self._now

    def restart(self) -> None:
        """Turns the clock back to the start, for the next replay."""
        if self._moving and self._traveller is not None:
            self._traveller.move_to(self._start_ns / _NS)
        else:
            self._set(self._start_ns)

    def advance(self, to: float) -> None:
        """Moves the clock to a recorded time; never back, and not for less than a millisecond."""
        if to - self._now < _TICK:
            return
        if self._moving and self._traveller is not None:
            if to > self.read():
                self._traveller.move_to(to)
        else:
            self._set(round(to * _NS))

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """`time` and `datetime` show this clock."""
        with load_time_machine().travel(self._now, tick=self._moving) as self._traveller:
            self._is_asked = not self._moving and self._can_be_asked()
            try:
                yield
            finally:
                self._traveller = None

    def _can_be_asked(self) -> bool:
        """Lets time-machine ask this clock, where it can: telling it of each move takes as long as answering a call."""
        vars(self._traveller)["time_ns"] = lambda: self._now_ns
        before = self._now_ns
        self._now_ns += _NS
        asked = time.time_ns() == self._now_ns
        self._now_ns = before
        if not asked:  # another version of it
            del vars(self._traveller)["time_ns"]
        return asked

    def _set(self, to_ns: int) -> None:
        if not self._is_asked and self._traveller is not None and to_ns != self._now_ns:
            self._traveller.shift((to_ns - self._now_ns) / _NS)  # exact up to 104 days, and far cheaper than `move_to`
        self._now_ns, self._now = to_ns, to_ns / _NS


@dataclass(slots=True)
class Guard:
    """Refuses the network, but for one endpoint.

    Attributes:
        host, port: the live model's endpoint; None refuses everything.
        refused: what was refused, in words.
        excused: whether the code that asks may reach anything: the body of a tool that is live on purpose.
    """

    host: str | None = None
    port: int | None = None
    refused: list[str] = field(default_factory=list)
    excused: Callable[[], bool] | None = None

    @classmethod
    def for_endpoint(cls, base_url: str | None) -> Guard:
        """A guard that lets only `base_url`'s host and port through."""
        if base_url is None:
            return cls()
        parts = urlsplit(base_url)
        return cls(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))

    @contextmanager
    def active(self) -> Iterator[None]:
        """While active, every socket of this process asks this guard."""
        _install_hook()
        _ACTIVE.append(self)
        try:
            yield
        finally:
            _ACTIVE.remove(self)

    def check(self, event: str, args: tuple[Any, ...]) -> None:
        """Lets a network event pass or halts the replay."""
        if event == "socket.bind":
            return  # a bound socket sends nothing; asyncio's self-pipe binds on some systems
        if event in ("socket.getaddrinfo", "socket.gethostbyname"):
            target: Any = (args[0], args[1] if len(args) > 1 else self.port)
            allowed = self.host is not None and args[0] in (self.host, self.host.encode())
        else:
            target = args[1] if len(args) > 1 else None
            allowed = self._reaches_endpoint(target)
        if not allowed and not (self.excused is not None and self.excused()):
            sentence = f"network refused: {event.removeprefix('socket.')} {_shown(target)}"
            self.refused.append(sentence)
            raise ReplayHalt(sentence)

    def _reaches_endpoint(self, target: Any) -> bool:
        if self.host is None or not isinstance(target, tuple) or len(target) < 2 or target[1] != self.port:
            return False
        return str(target[0]) == self.host or _is_address_of(str(target[0]), self.host)


class World:
    """Everything that a replay sees of the outside; one world serves the replays of a case, one after the other.

    Args:
        start: logical start, seconds since 1970 UTC.
        guard: what may be reached.
        options: what the project chooses.
        base_url: where the live model is; None without one.
    """

    def __init__(
        self, start: float, guard: Guard, options: WorldOptions = PLAIN_WORLD, base_url: str | None = None
    ) -> None:
        self.clock = Clock(start, moving=options.clock == "moving")
        self.guard = guard
        self._seen = (base_url, options)
        self._undo_changes: Callable[[], None] = lambda: None
        self._source = _Source()
        self._seed = 0

    @contextmanager
    def entered(self) -> Iterator[World]:
        """Inside, the process lives in this world."""
        with (
            environment_of(*self._seen) as self._undo_changes,
            self.guard.active(),
            _chance_from(self._source),
            self.clock.frozen(),
        ):
            yield self

    def restart(self, seed: int) -> None:
        """Begins the day anew: clock and environment as at its start, all chance from `seed`, nothing refused yet."""
        self.clock.restart()
        self._undo_changes()
        self.guard.refused.clear()
        self._source.restart(seed)
        self._seed = seed
        random.seed(seed)
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed(seed % 2**32)

    def drew(self) -> bool:
        """Whether a random number was drawn since the restart: from `random`, a `Random` of the agent's, or numpy.

        Ids (`uuid`, `secrets`, `os.urandom`) don't count: they name things, and decide nothing. Asked once a day; it
        draws a number itself.
        """
        if self._source.generators or random.getrandbits(32) != _random.Random(self._seed).getrandbits(32):
            return True
        numpy_random: Any = sys.modules.get("numpy.random")
        if numpy_random is None:
            return False
        fresh = numpy_random.RandomState(self._seed % 2**32)
        return bool(numpy_random.random_sample() != fresh.random_sample())


class _Source:
    """Bytes that follow a seed and nothing else: what stands in for the system's own randomness.

    Attributes:
        generators: how many generators of the agent's own it seeded.
    """

    def __init__(self) -> None:
        self.restart(0)

    def restart(self, seed: int) -> None:
        self._seed = seed
        self._drawn = 0
        self.generators = 0

    def bytes(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}/{self._drawn}".encode()).digest(count)

    def bits(self, count: int) -> int:
        return int.from_bytes(self.bytes((count + 7) // 8), "big") >> (-count % 8)


@contextmanager
def _chance_from(source: _Source) -> Iterator[None]:
    """All randomness comes from `source`; what was there before comes back afterwards."""
    state = random.getstate()
    numpy_random: Any = sys.modules.get("numpy.random")
    numpy_state = None if numpy_random is None else numpy_random.get_state()
    real_urandom, real_uuid1 = os.urandom, uuid.uuid1
    random_module: Any = random
    real_seed = random.Random.seed

    def seed_from_source(self: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None:
            a = source.bits(64)
            source.generators += not _is_of_python(sys._getframe(2))
        real_seed(self, a, version)

    random_module.Random.seed = seed_from_source  # ``Random()`` would ask the system itself
    os.urandom = source.bytes
    random_module._urandom = source.bytes  # what SystemRandom, and so `secrets`, reads
    uuid.uuid1 = lambda node=None, clock_seq=None: uuid.UUID(int=source.bits(128), version=1)
    try:
        yield
    finally:
        os.urandom, random_module._urandom, uuid.uuid1 = real_urandom, real_urandom, real_uuid1
        random_module.Random.seed = real_seed
        random.setstate(state)
        if numpy_state is not None:
            numpy_random.set_state(numpy_state)


def _is_of_python(frame: FrameType) -> bool:
    """Whether Python's own library runs there: it makes generators for names of temporary files, say."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in sys.stdlib_module_names


_ACTIVE: list[Guard] = []
_HOOKED: list[bool] = []


def _install_hook() -> None:
    """Audit hooks can't be removed, so one is added at most once and asks the active guard, if any."""
    if not _HOOKED:
        sys.addaudithook(_audit)
        _HOOKED.append(True)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _ACTIVE and event in _NETWORK_EVENTS:
        _ACTIVE[-1].check(event, args)


def _is_address_of(address: str, host: str) -> bool:
    if host == "localhost":
        try:
            return ipaddress.ip_address(address).is_loopback
        except ValueError:
            return False
    return not host.replace(".", "").isdigit() and ":" not in host  # the name was checked when it was resolved


def _shown(target: Any) -> str:
    if isinstance(target, tuple) and len(target) >= 2:
        return f"{target[0]}:{target[1]}"
    return str(target)
