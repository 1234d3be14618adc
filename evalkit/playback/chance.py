"""The chance of a frozen world: everything that is drawn follows a seed, and draws that may decide are noticed."""

from __future__ import annotations

import _random
import hashlib
import os
import random
import sys
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Chance", "chance_at_hand"]


class Chance:
    """What a replay draws: from `random`, numpy's global generator where it is loaded, and the system's randomness."""

    def __init__(self) -> None:
        self._seed = self._drawn = 0
        self._own: dict[int, tuple[random.Random, Any]] = {}
        """Generators that were made without a seed, by their ids; each with its state then, or at the restart."""

    def restart(self, seed: int) -> None:
        """All follows `seed` from now on."""
        self._seed = seed
        self._drawn = 0
        self._forget_dropped()
        random.seed(seed)
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed(seed % 2**32)

    def bytes(self, count: int) -> bytes:
        """What stands in for the system's randomness."""
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}/{self._drawn}".encode()).digest(count)

    def bits(self, count: int) -> int:
        """The same as a number."""
        return int.from_bytes(self.bytes((count + 7) // 8), "big") >> (-count % 8)

    def drew(self) -> bool:
        """Whether a random number was drawn since the restart: from `random`, a `Random` of the agent's, or numpy.

        That a generator was made is no draw: some libraries make one as they are loaded. Ids (`uuid`, `secrets`,
        `os.urandom`) don't count: they name things, and decide nothing. Asked once after a restart; it draws a number
        itself.
        """
        if random.getrandbits(32) != _random.Random(self._seed).getrandbits(32):
            return True
        if any(_state(own) != before for own, before in self._own.values()):
            return True
        numpy_random: Any = sys.modules.get("numpy.random")
        if numpy_random is None:
            return False
        fresh = numpy_random.RandomState(self._seed % 2**32)
        return bool(numpy_random.random_sample() != fresh.random_sample())

    def _forget_dropped(self) -> None:
        """Watches on what somebody still has, such as a module that made it when it was first loaded."""
        if not self._own:
            return
        known = [weakref.ref(own) for own, _ in self._own.values()]
        self._own.clear()
        for one in known:
            if (own := one()) is not None:
                self._own[id(own)] = own, _state(own)

    def seeded(self, generator: random.Random, maker: FrameType) -> None:
        """Watches a generator that got its seed from here, unless Python's own library made it."""
        if not _is_of_python(maker):
            self._own[id(generator)] = generator, _state(generator)

    def left(self, generator: random.Random) -> None:
        """Watches a generator no longer: its maker chose a seed, and what it draws follows from that."""
        self._own.pop(id(generator), None)

    @contextmanager
    def followed(self) -> Iterator[None]:
        """All randomness of the process comes from here."""
        with chance_at_hand():
            _FOLLOWED.append(self)
            try:
                yield
            finally:
                _FOLLOWED.pop()


_FOLLOWED: list[Chance] = []
_AT_HAND: list[bool] = []


@contextmanager
def chance_at_hand() -> Iterator[None]:
    """Inside, a chance is followed at once: who draws asks whether there is one, and draws from the system if not.

    The global generators come back afterwards as they were before.
    """
    if _AT_HAND:
        yield
        return
    state = random.getstate()
    numpy_random: Any = sys.modules.get("numpy.random")
    numpy_state = None if numpy_random is None else numpy_random.get_state()
    real_urandom, real_uuid1 = os.urandom, uuid.uuid1
    random_module: Any = random
    real_seed = random.Random.seed

    def urandom(size: int, /) -> bytes:
        return _FOLLOWED[-1].bytes(size) if _FOLLOWED else real_urandom(size)

    def uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
        return uuid.UUID(int=_FOLLOWED[-1].bits(128), version=1) if _FOLLOWED else real_uuid1(node, clock_seq)

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        if not _FOLLOWED:
            real_seed(self, a, version)
        elif a is None:
            real_seed(self, _FOLLOWED[-1].bits(64), version)
            _FOLLOWED[-1].seeded(self, sys._getframe(2))
        else:
            real_seed(self, a, version)
            _FOLLOWED[-1].left(self)

    random_module.Random.seed = seed  # ``Random()`` would ask the system itself
    os.urandom = urandom
    random_module._urandom = urandom  # what SystemRandom, and so `secrets`, reads
    uuid.uuid1 = uuid1
    _AT_HAND.append(True)
    try:
        yield
    finally:
        _AT_HAND.pop()
        os.urandom, random_module._urandom, uuid.uuid1 = real_urandom, real_urandom, real_uuid1
        random_module.Random.seed = real_seed
        random.setstate(state)
        if numpy_state is not None:
            numpy_random.set_state(numpy_state)


def _state(generator: random.Random) -> Any:
    return _random.Random.getstate(generator)


def _is_of_python(frame: FrameType) -> bool:
    """Whether Python's own library runs there: it makes generators for names of temporary files, say."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in sys.stdlib_module_names
