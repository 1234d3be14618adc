"""Which format wrote a file, judged by its content; and which files clearly are no traces."""

from __future__ import annotations

import re

from evalkit.canonical import Json
from evalkit.errors import UnknownFormat, UnreadableTrace
from evalkit.trace.formats.protocol import KnownByHead, Source, TraceFormat
from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.glimpse import glimpses
from evalkit.trace.visible import visible

__all__ = ["claiming_format", "claims", "no_trace", "shape_of", "unknown_format"]

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"RIFF", "a picture or sound"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "a database"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\0asm", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"\0\0\1\0", "a picture"),
    (b"wOF", "a font"),
    (b"OTTO", "a font"),
    (b"\0\1\0\0\0", "a font"),
    (b"ID3", "sound"),
    (b"\x93NUMPY", "an array"),
)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def claiming_format(source: Source) -> TraceFormat | None:
    """The one format that claims a source; None when none does.

    Raises:
        UnreadableTrace: several do.
    """
    fitting: dict[str, TraceFormat] = {
        name: each for name, each in FORMATS.items() if isinstance(each, KnownByHead) and each.begins(source.head)
    }
    if not fitting:
        for seen in glimpses(source):
            fitting = {name: each for name, each in FORMATS.items() if each.detect(seen)}
            if len(fitting) == 1:
                break
    if len(fitting) > 1:
        names = ", ".join(fitting)
        raise UnreadableTrace(
            f"{len(fitting)} formats claim it ({names}), wanted exactly one: a bug in one of them",
            source.where,
            f"pass --format with one of: {names}",
        )
    return next(iter(fitting.values()), None)


def claims(format: TraceFormat, source: Source) -> bool:
    """Whether a format claims a source."""
    return (isinstance(format, KnownByHead) and format.begins(source.head)) or any(map(format.detect, glimpses(source)))


def no_trace(head: bytes) -> str:
    """Why a file that no format claims clearly is no trace; empty when it may be one.

    Text that is no JSON is none (README, LICENSE, a table); JSON and unknown binary data may be.
    """
    if not head.strip():
        return "empty"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head[2:4] == b"\r\n" and _NO_TEXT.search(head):
        return "compiled Python"
    if head.lstrip().startswith((b"{", b"[")) or _NO_TEXT.search(head):
        return ""
    return "text, no JSON"


def unknown_format(source: Source, problem: UnreadableTrace | None) -> UnknownFormat:
    """The refusal of a file that no format claims, with what was seen in it.

    Args:
        problem: why it is not one JSON document.
    """
    seen = visible(source.head[:60].decode("utf-8", "backslashreplace")) if source.head else "nothing (it is empty)"
    broken = f" (as one JSON document: {problem.what})" if problem and source.head else ""
    document = None if problem or not source.head else source.document()
    found = f" It is {shape_of(document)}." if document is not None else ""
    wide = source.head.startswith((b"\xff\xfe", b"\xfe\xff"))  # as PowerShell redirects output
    return UnknownFormat(
        f"no format reads it{', for it is UTF-16' if wide else broken}.{found} It starts with: {seen}. "
        f"Tried: {', '.join(FORMATS.names())}",
        source.where,
        "save it as UTF-8" if wide else "pass --format NAME if it is one of these, or convert it",
    )


def shape_of(document: Json) -> str:
    """What a JSON document is, in words: enough to tell labels, a schema or a database from a trace."""
    if isinstance(document, list):
        first = document[0] if document else None
        each = f", the first of them an object with {_keys(first)}" if isinstance(first, dict) and first else ""
        return f"a JSON list of {len(document):,}{each}"
    if isinstance(document, dict):
        what = "a JSON schema" if "$schema" in document or "$defs" in document else "a JSON object"
        return f"{what} with {_keys(document)}" if document else "an empty JSON object"
    return "a JSON value"


def _keys(value: dict[str, Json]) -> str:
    shown = ", ".join(visible(key[:30]) for key in [*value][:4])
    return f"{shown} and {len(value) - 4:,} keys more" if len(value) > 4 else shown
