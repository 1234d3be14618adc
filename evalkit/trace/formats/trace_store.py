"""What stands in a source, by trace, beyond what memory holds.

A trace's parts may stand anywhere in a source: exporters send what ended, not what belongs together. What is read is
therefore put aside trace by trace, in memory while it is little and in a temporary file when it is not; memory holds
only where in it each trace's parts are.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Generic, TypeVar

from evalkit.errors import UnreadableTrace

__all__ = ["TraceStore"]

T = TypeVar("T")

_HELD_BYTES = 16 * 1024**2


class TraceStore(Generic[T]):
    """Items, put in as they are read and taken out trace by trace. A context manager.

    Args:
        where: the source, for messages.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._parts: dict[str, list[int]] = {}
        self._file = SpooledTemporaryFile(_HELD_BYTES)  # noqa: SIM115  # closed by __exit__

    def __enter__(self) -> TraceStore[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def add(self, items: Iterable[tuple[str, T]]) -> None:
        """Put items, each with its trace's id, to what is known of their traces. Best called with many at once.

        Raises:
            UnreadableTrace: the disk is full.
        """
        groups: dict[str, list[T]] = {}
        for trace_id, item in items:
            groups.setdefault(trace_id, []).append(item)
        for trace_id, group in groups.items():
            self._parts.setdefault(trace_id, []).append(self._file.tell())
            try:
                pickle.dump(group, self._file, pickle.HIGHEST_PROTOCOL)
            except OSError as error:
                what = f"its traces can't be put together in a temporary file: {error.strerror}"
                raise UnreadableTrace(what, self._where, "set TMPDIR to a folder on a disk with room") from None

    def traces(self) -> Iterator[tuple[str, list[T]]]:
        """Each trace id with its items, in the order in which the ids appeared."""
        for trace_id in self._parts:
            yield trace_id, self.items(trace_id)

    def items(self, trace_id: str) -> list[T]:
        """The items of a trace in the order in which they were put in; none where it is not known."""
        found: list[T] = []
        for offset in self._parts.get(trace_id, ()):
            self._file.seek(offset)
            found += pickle.load(self._file)  # what `add` wrote, to a file without a name
        return found
