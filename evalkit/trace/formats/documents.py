"""A source as the JSON documents in it: one document, or one a line. What every JSON format starts from."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import Source
from evalkit.trace.json_input import may_be_json, parse_json, parse_json_lines

__all__ = ["documents", "first_document", "whole_document"]


def first_document(source: Source) -> Json:
    """The document, or the first line's; None where neither is JSON. For detection: it raises nothing."""
    if not may_be_json(source.head):
        return None
    document = source.document()
    if document is not None:
        return document
    try:
        return parse_json(next(source.lines(), b""), source.where)
    except UnreadableTrace:
        return None


def documents(source: Source) -> Iterable[tuple[str, Json]]:
    """Each document with its place.

    Raises:
        UnreadableTrace: a line is not JSON (while it is read).
    """
    document = source.document()
    return parse_json_lines(source.lines(), source.where) if document is None else [(source.where, document)]


def whole_document(source: Source) -> Json:
    """The one document of a source.

    Raises:
        UnreadableTrace: it is none; the message says what is wrong and where.
    """
    found = source.document()
    return parse_json(source.data(), source.where) if found is None else found
