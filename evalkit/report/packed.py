"""What a page draws on demand: compressed, inert data in the page, unpacked by its script.

A page of 10,000 cases would be 600,000 elements. So only the most urgent rows stand in the document, and what is below
the most urgent of these; every row has an entry here with what filters and sorting need, and the HTML of what is not in
the document. It is the templates' own output, escaped like the rest, and the page's policy holds for it all the same.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from evalkit.report.text import MAX_TEXT, cut
from evalkit.trace.visible import visible

__all__ = ["STATIC_DETAILS", "STATIC_ROWS", "both", "entry", "pack"]

STATIC_ROWS = 100
"""Rows that stand in the document itself, and are read without any script."""
STATIC_DETAILS = 20
"""Rows below which the drill-down does, too."""
_LEVEL = 6
_SOME = 3 << 14
"""Bytes that are written at once; three of them are four letters."""


def entry(
    case_id: str,
    *,
    section: str,
    folded: bool,
    keys: Iterable[str],
    numbers: dict[str, float | None],
    chosen: dict[str, Iterable[str]],
    text: str,
) -> dict[str, Any]:
    """What the page's script knows of a row.

    Args:
        section: the group that it stands in; `folded`: and whether it is folded there.
        keys: what chips filter by.
        numbers: what columns sort by; None comes last.
        chosen: what lists filter by.
        text: what the text filter looks through, in lower case.
    """
    lists = {key: [_plain(value) for value in values] for key, values in chosen.items()}
    return {
        "id": case_id, "section": section, "folded": folded, "keys": [*keys], **numbers, **lists, "text": _plain(text)
    }  # fmt: skip


def pack(entries: Iterable[dict[str, Any]], drawn: Iterable[bytes]) -> Iterator[str]:
    """The rows, the most urgent first: deflated (zlib), base64; parts between NUL characters, which no page holds.

    First the entries of all rows as JSON; then for each the HTML of the row and that of what is below it. One row at a
    time: those of 100,000 cases are never there together.

    Args:
        drawn: what `both` makes of each row's two texts, in this order; empty ones for what stands in the document.
    """
    rest = b""
    for part in _deflated(_parts(entries, drawn)):
        rest += part
        if len(rest) >= _SOME:
            yield base64.b64encode(rest[:_SOME]).decode()
            rest = rest[_SOME:]
    yield base64.b64encode(rest).decode()


def both(row: str, below: str) -> bytes:
    """A row's two texts as `pack` takes them."""
    return f"\0{row}\0{below}".encode()


def _parts(entries: Iterable[dict[str, Any]], drawn: Iterable[bytes]) -> Iterator[bytes]:
    separator = b"["
    for one in entries:
        yield separator + orjson.dumps(one)
        separator = b","
    yield b"]" if separator == b"," else b"[]"
    yield from drawn


def _deflated(parts: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(_LEVEL)
    for part in parts:
        yield compressor.compress(part)
    yield compressor.flush()


def _plain(text: str) -> str:
    """As the templates write it, so that a choice in a list and a row's value are equal."""
    return visible(cut(text, MAX_TEXT))
