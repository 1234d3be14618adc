"""The lines of a session that an agent writes while it runs: one JSON object a line, the last one possibly torn.

A killed agent leaves half a line behind. What stands before it is whole, and is read; the torn line is counted, and
makes the run unfinished. A broken line anywhere else is not the agent's doing, and refuses the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dicts
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.json_input import may_be_json, parse_json, parse_json_lines

__all__ = ["first_lines", "session_lines"]

_LOOKED_AT = 40


def first_lines(source: Source) -> list[dict[str, Any]]:
    """The objects in the first lines, or in the one document that is a list. For detection: it raises nothing.

    A line of a session can be longer than a source's head (a picture, a snapshot of files), so the lines are read.
    """
    if not may_be_json(source.head):
        return []
    document = source.document()
    if document is not None:
        return dicts(document[:_LOOKED_AT] if isinstance(document, list) else [document])
    found: list[dict[str, Any]] = []
    with suppress(UnreadableTrace):
        for _, item in islice(parse_json_lines(source.lines(), source.where), _LOOKED_AT):
            found += dicts([item])
    return found


def session_lines(source: Source, report: ReadReport) -> tuple[list[tuple[int, dict[str, Any]]], bool]:
    """The objects of all lines with their numbers, from 1, and whether the last line is torn.

    Raises:
        UnreadableTrace: a line before the last one is not JSON.
    """
    found: list[tuple[int, dict[str, Any]]] = []
    torn: UnreadableTrace | None = None
    for number, item in _values(source):
        if torn is not None:
            raise torn
        if isinstance(item, UnreadableTrace):
            torn = item
        elif isinstance(item, dict):
            found.append((number, item))
        else:
            report.skipped["line: no object"] += 1
    if torn is not None and not found:
        raise torn
    if torn is not None:
        report.skipped["line: torn, the last one"] += 1
    return found, torn is not None


def _values(source: Source) -> Iterator[tuple[int, Json | UnreadableTrace]]:
    document = source.document()
    if document is not None:
        yield from enumerate(document if isinstance(document, list) else [document], 1)
        return
    for number, line in enumerate(source.lines(), 1):
        if line.strip():
            try:
                yield number, parse_json(line, f"{source.where}:{number}")
            except UnreadableTrace as problem:
                yield number, problem
