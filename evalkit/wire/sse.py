"""Server-sent events: bytes to events and back.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation. As there, an event
counts only once its blank line has come, so the tail of a cut stream is no event.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from evalkit.wire.body import parse_json

__all__ = ["Event", "encode_event", "event_name", "parse_events", "parse_objects"]

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        data: its data lines, joined by line feeds.
        event: its type; empty when the stream names none.
    """

    data: str
    event: str = ""


def parse_events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """The events of a stream that came in pieces of any size."""
    data: list[str] = []
    kind = ""
    for line in _lines(chunks):
        if not line:
            if data:
                yield Event("\n".join(data), kind)
            data, kind = [], ""
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            kind = value


def parse_objects(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream's events; an event that holds anything else is passed over."""
    for event in parse_events(chunks):
        try:
            raw = parse_json(event.data)
        except ValueError:
            continue
        if isinstance(raw, dict):
            yield raw


def encode_event(data: bytes, event: str = "") -> bytes:
    """One event as bytes, blank line included. `data` may hold line feeds."""
    head = f"event: {event}\n".encode() if event else b""
    return head + b"".join(b"data: " + line + b"\n" for line in _LINE_END.split(data)) + b"\n"


def event_name(event: dict[str, Any]) -> str:
    """The name under which an event of an API is sent: its type, where that can stand in a line."""
    kind = event.get("type")
    return kind if isinstance(kind, str) and kind.isprintable() and kind.isascii() else "message"


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The complete lines; the rest behind the last line end is dropped."""
    content = b"".join(chunks).removeprefix(_BOM)
    lines = _LINE_END.split(content)
    return (line.decode("utf-8", "replace") for line in lines[:-1])
