"""One registry for every kind of plug-in: formats, wires, checks, targets, executors.

A built-in is named by ``"module:attribute"`` and loaded when asked for, so that a long table costs nothing at start.
Third parties register by entry point under the registry's group (``evalkit.checks`` and so on); a built-in's name
can't be taken by an entry point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from evalkit.errors import ConfigError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Names to plug-ins of one kind.

    Args:
        kind: the singular noun for messages, such as ``"check"``.
        group: the entry-point group, such as ``"evalkit.checks"``.
        builtins: name to ``"module:attribute"``.
    """

    def __init__(self, kind: str, group: str, builtins: Mapping[str, str]) -> None:
        self.kind = kind
        self.group = group
        self._builtins = dict(builtins)
        self._loaded: dict[str, T] = {}

    def names(self) -> list[str]:
        """All names, built-ins first, in the order of their table (it is the order of detection)."""
        strangers = sorted(name for name in _entry_points(self.group) if name not in self._builtins)
        return [*self._builtins, *strangers]

    def get(self, name: str) -> T:
        """The plug-in called `name`.

        Raises:
            ConfigError: nobody registered that name, or loading it failed.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def items(self) -> Iterator[tuple[str, T]]:
        """All plug-ins with their names, loading each."""
        for name in self.names():
            yield name, self.get(name)

    def _load(self, name: str) -> T:
        if name in self._builtins:
            module, _, attribute = self._builtins[name].partition(":")
            return cast(T, getattr(import_module(module), attribute))
        found = _entry_points(self.group).get(name)
        if found is None:
            known = ", ".join(self.names())
            raise ConfigError(f"no {self.kind} is called {name!r}", cure=f"use one of: {known}")
        try:
            return cast(T, found.load())
        except Exception as error:
            raise ConfigError(
                f"the {self.kind} {name!r} failed to load: {type(error).__name__}: {error}",
                where=f"entry point {found.value}",
                cure="repair or uninstall the package that registers it",
            ) from error


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
