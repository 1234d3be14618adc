"""The spans and log records of a source by trace, beyond what memory holds.

A trace's parts may stand anywhere in a source: exporters send what ended, not what belongs together. What is read is
therefore put aside trace by trace, in memory while it is little and in a temporary file when it is not; memory holds
only where in it each trace's parts are.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from types import TracebackType

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.otlp_spans import Batch, Span, SpanEvent

__all__ = ["TraceStore"]

_HELD_BYTES = 16 * 1024**2


class TraceStore:
    """Spans and log records, put in batch by batch and taken out trace by trace. A context manager."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._parts: dict[str, list[int]] = {}
        self._file = SpooledTemporaryFile(_HELD_BYTES)  # noqa: SIM115  # closed by __exit__

    def __enter__(self) -> TraceStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def add(self, batch: Batch) -> None:
        """Put the spans and log records of a batch to what is known of their traces.

        Raises:
            UnreadableTrace: the disk is full.
        """
        groups: dict[str, tuple[list[Span], list[SpanEvent]]] = {}
        for span in batch.spans:
            groups.setdefault(span.trace_id, ([], []))[0].append(span)
        for log in batch.logs:
            groups.setdefault(log.trace_id, ([], []))[1].append(log)
        for trace_id, group in groups.items():
            self._parts.setdefault(trace_id, []).append(self._file.tell())
            try:
                pickle.dump(group, self._file, pickle.HIGHEST_PROTOCOL)
            except OSError as error:
                what = f"its traces can't be put together in a temporary file: {error.strerror}"
                raise UnreadableTrace(what, self._where, "set TMPDIR to a folder on a disk with room") from None

    def traces(self) -> Iterator[tuple[str, list[Span], list[SpanEvent]]]:
        """Each trace id with its spans and log records, in the order in which the ids appeared; either may be none."""
        for trace_id in self._parts:
            yield trace_id, *self._trace(trace_id)

    def logs(self, trace_id: str) -> list[SpanEvent]:
        """The log records of a trace."""
        return self._trace(trace_id)[1]

    def _trace(self, trace_id: str) -> tuple[list[Span], list[SpanEvent]]:
        spans: list[Span] = []
        logs: list[SpanEvent] = []
        for offset in self._parts.get(trace_id, ()):
            self._file.seek(offset)
            more = pickle.load(self._file)  # what `add` wrote, to a file without a name
            spans += more[0]
            logs += more[1]
        return spans, logs
