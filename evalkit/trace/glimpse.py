"""A large document seen by its beginning only, so that finding its format costs neither its time nor its memory.

Formats look at a parsed document. A large one is shown to them cut off: what of it stands in the first kilobytes, then
in the first megabytes, with the objects and lists that are still open there closed. Only when that leaves doubt is the
whole parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import orjson

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import SMALL_BYTES, Source
from evalkit.trace.json_input import MAX_DEPTH, may_be_json, parse_json

__all__ = ["beginning", "glimpses"]

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{},]', re.DOTALL)
_CLOSES = {b"{": b"}", b"[": b"]"}


def glimpses(source: Source) -> Iterator[Source]:
    """A source as a format may see it, from the least that may do to the whole."""
    if may_be_json(source.head):
        start = source.start()
        if len(start) > SMALL_BYTES and not _has_lines(start):
            for part in (source.head, start):
                document = beginning(part)
                if document is not None:
                    yield replace(source, document=partial(_given, document))
    yield source


def beginning(start: bytes) -> Json:
    """The value whose first bytes are `start`, without what is cut off; None when it is no JSON object or list.

    A value that is cut off, a long text say, is left out, and its key with it.
    """
    open_: list[bytes] = []
    end = 0
    for token in _TOKEN.finditer(start):
        mark = token[0]
        if mark in _CLOSES:
            open_.append(_CLOSES[mark])
        elif mark in (b"}", b"]"):
            if not open_ or open_.pop() != mark:
                return None
        elif mark == b'"':  # a text that is cut off
            break
        elif mark != b",":
            continue
        end = token.start() if mark == b"," else token.end()
        if not open_ or len(open_) > MAX_DEPTH:
            break
    try:
        return parse_json(start[:end] + b"".join(reversed(open_)), "")
    except UnreadableTrace:
        return None


def _given(document: Json) -> Json:
    return document


def _has_lines(start: bytes) -> bool:
    """Whether the first line is an object of its own: formats then look at lines, which is cheap."""
    first, newline, rest = start.partition(b"\n")
    try:
        return bool(newline and rest.strip()) and isinstance(orjson.loads(first), dict)
    except orjson.JSONDecodeError:
        return False
