"""evalkit's own `.trace` file (see `trace.file`)."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from evalkit.trace.file import FORMAT_NAME, read_trace_lines
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import Trace

__all__ = ["FORMAT"]


class NativeFormat:
    """JSON Lines whose first line is a trace header."""

    name = "evalkit"

    def detect(self, source: Source) -> bool:
        """Whether the first line says so, or at least names the format (a header may be longer than the head)."""
        first, newline, _ = source.head.partition(b"\n")
        if not newline:
            return f'"format":"{FORMAT_NAME}"'.encode() in first
        try:
            header = orjson.loads(first)
        except orjson.JSONDecodeError:
            return False
        return isinstance(header, dict) and header.get("format") == FORMAT_NAME

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The traces, checked against their hash chains."""
        for trace in read_trace_lines(source.lines(), source.where):
            report.steps.update(step.kind for step in trace.steps)
            yield trace


FORMAT = NativeFormat()
