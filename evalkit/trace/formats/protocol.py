"""The seam behind which every foreign trace format stands: one module a format, two functions.

A module gives a `TraceFormat`; the table in `formats.registry` names it, or a third party registers it under the
entry-point group ``evalkit.formats``. Detection looks at content, never at a file's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from evalkit.canonical import Json
from evalkit.errors import EvalkitError
from evalkit.trace.model import Trace

__all__ = ["SMALL_BYTES", "KnownByHead", "ReadReport", "Source", "TraceFormat"]

SMALL_BYTES = 8 * 1024**2
"""Up to this size a document is parsed whole at once."""


@dataclass(slots=True)
class ReadReport:
    """What a reader met: counted, so that nothing is dropped silently.

    Attributes:
        steps: steps made, by kind.
        skipped: source elements that became no step, by ``"kind: reason"`` (merged duplicates, empty batches ...).
        unknown: elements of a kind that the format's reader does not know, by that kind; each was kept as an `other`
            step, and is counted in `steps` too.
        passed_over: files of a folder or archive that clearly are no traces, with the reason.
        unreadable: what could not be read, when reading went on all the same (`load_traces(..., keep_going=True)`).
    """

    steps: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    passed_over: dict[str, str] = field(default_factory=dict)
    unreadable: list[EvalkitError] = field(default_factory=list)


def _no_member(name: str) -> bytes | None:
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """One file or folder to read, already opened and, where it was compressed, unpacked.

    Attributes:
        where: the path for messages; ``-`` for standard input.
        path: the file or folder on disk; None for standard input and for a file or folder in an archive.
        head: the first 64 KiB of the content (empty for a folder).
        data: gives the whole content. For files that hold one JSON document.
        lines: gives the content line by line, without reading the whole file. For JSON Lines.
        document: the content parsed as one JSON value; None when it is not one (JSON Lines, a folder, binary).
            Parsed once and kept for whichever format reads the file.
        blocks: gives the content block by block, without reading the whole file. For what is large and has no lines.
        member: of a folder (on disk or in an archive) gives the content of the file of this name in it; None when there
            is none, or it is a link. For formats that are a folder.
    """

    where: str
    path: Path | None
    head: bytes
    data: Callable[[], bytes]
    lines: Callable[[], Iterator[bytes]]
    document: Callable[[], Json]
    blocks: Callable[[], Iterator[bytes]] = lambda: iter(())
    member: Callable[[str], bytes | None] = _no_member

    def start(self) -> bytes:
        """The whole of a small source; somewhat more than `SMALL_BYTES` of another."""
        start = bytearray()
        for block in self.blocks():
            start += block
            if len(start) > SMALL_BYTES:
                break
        return bytes(start)


class TraceFormat(Protocol):
    """One dialect."""

    name: str
    """The name that `--format` takes and that `Trace.dialect` holds."""

    def detect(self, source: Source) -> bool:
        """Whether this dialect wrote `source`, judged by content. Exactly one format may say yes."""
        ...

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The traces in `source`, one at a time.

        Raises:
            UnreadableTrace: the content breaks the format's rules; `where` names file and line or path.
        """
        ...


@runtime_checkable
class KnownByHead(Protocol):
    """What a `TraceFormat` may have besides, so that nobody has to parse a large document to find its format."""

    def begins(self, head: bytes) -> bool:
        """Whether the first bytes leave no doubt that this dialect wrote them: no other format is asked then."""
        ...
