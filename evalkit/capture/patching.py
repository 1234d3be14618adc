"""Methods of other libraries replaced while somebody needs it, and put back afterwards.

Users are counted, because recordings and replays may overlap. A method that a third party replaced on top of ours is
left alone when the last user goes (ours then finds no session and does nothing), and is not replaced a second time.
"""

from __future__ import annotations

import importlib.machinery
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["Patches"]


class Patches:
    """A set of replaced methods with a count of its users.

    Args:
        place: replaces the methods, by `replace_method` and `when_loaded`; called when the first user comes.
    """

    def __init__(self, place: Callable[[Patches], None]) -> None:
        self._place = place
        self._on_import = _OnImport()
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
                if self._on_import.awaited:
                    sys.meta_path.insert(0, self._on_import)
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

    def when_loaded(self, name: str, attribute: str, patch: Callable[[ModuleType], None]) -> None:
        """Calls `patch` with the module `name`, now or once it is loaded, which is when it has the attribute."""
        module = sys.modules.get(name)
        if module is not None and hasattr(module, attribute):
            patch(module)
        self._on_import.awaited[name] = patch

    def _remove(self) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self._on_import]
        self._on_import.awaited.clear()
        with self._placed_lock:
            for (owner, name), (original, ours) in list(self._placed.items()):
                if vars(owner).get(name) is ours:
                    setattr(owner, name, original)
                    del self._placed[owner, name]


class _OnImport:
    """Finds modules as anybody would, and has those that are awaited patched once they are loaded."""

    def __init__(self) -> None:
        self.awaited: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        patch = self.awaited.get(name)
        if patch is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((spec for finder in others if (spec := finder.find_spec(name, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                patch(module)

            loader.exec_module = exec_module
        return spec
