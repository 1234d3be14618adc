"""Methods of other libraries replaced while somebody needs it, and put back afterwards.

Users are counted, because recordings and replays may overlap. A method that a third party replaced on top of ours is
left alone when the last user goes (ours then finds no session and does nothing), and is not replaced a second time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Patches"]


class Patches:
    """A set of replaced methods with a count of its users.

    Args:
        place: replaces the methods, by calling `replace_method`; called when the first user comes.
        lift: is called when the last user has gone, before the methods are put back.
    """

    def __init__(self, place: Callable[[Patches], None], lift: Callable[[Patches], None] | None = None) -> None:
        self._place = place
        self._lift = lift
        self._users = 0
        self._users_lock = threading.Lock()
        self._placed: dict[tuple[type, str], tuple[Any, Any]] = {}
        self._placed_lock = threading.Lock()  # apart from the users': an import in another thread may ask for it

    @contextmanager
    def active(self) -> Iterator[None]:
        """While active, the methods are replaced."""
        with self._users_lock:
            if not self._users:
                self._place(self)
            self._users += 1
        try:
            yield
        finally:
            with self._users_lock:
                self._users -= 1
                if not self._users:
                    self._remove()

    def replace_method(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        """Replaces ``owner.name`` by what `make` builds around it; once, however often it is asked for."""
        with self._placed_lock:
            if (owner, name) not in self._placed:
                original = getattr(owner, name)
                ours = make(original)
                setattr(owner, name, ours)
                self._placed[owner, name] = (original, ours)

    def _remove(self) -> None:
        if self._lift is not None:
            self._lift(self)
        with self._placed_lock:
            for (owner, name), (original, ours) in list(self._placed.items()):
                if vars(owner).get(name) is ours:
                    setattr(owner, name, original)
                    del self._placed[owner, name]
