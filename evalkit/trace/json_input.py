"""JSON from outside, parsed strictly and without loss: what can't be kept exactly is refused with its place.

Integers of up to 308 digits stay exact. NaN, infinities, numbers that overflow a double, lone surrogates, invalid
UTF-8, a key that stands twice in one object and nesting deeper than 200 levels are refused. One byte order mark at the
start is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from operator import methodcaller
from typing import Any

import orjson

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.visible import one_line

__all__ = ["BOM", "MAX_DEPTH", "json_or_text", "may_be_json", "parse_json", "parse_json_lines", "without_constants"]

BOM = b"\xef\xbb\xbf"
MAX_DEPTH = 200

_BEYOND_64_BIT = 2.0**63
"""Floats from here on may be integers that orjson could not hold."""
_PLAIN = frozenset({str, int, bool, type(None)})
_STRING_OR_CONSTANT = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?(?:NaN|Infinity)', re.DOTALL)
_ESCAPE = b"\\u003"
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_SHOWN_KEY = 60
_colons_in = methodcaller("count", ":")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CURE = "write it as standard JSON in UTF-8; a trace: export it again"


def parse_json(data: bytes, where: str) -> Json:
    """`data` as one JSON value.

    Raises:
        UnreadableTrace: it is not JSON under the module's rules; the message names the byte offset.
    """
    start = len(BOM) if data.startswith(BOM) else 0
    body = data[start:]
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _refusal(body, start, error, where) from None
    colons, huge = _looked_through(value, where)
    repeated = _repeated_key(body, colons)
    if repeated is not None:
        what = f"the key {one_line(repeated, _SHOWN_KEY)!r} stands twice in one object: which value is meant?"
        raise UnreadableTrace(what, where, _CURE)
    if huge:
        value = json.loads(body)  # orjson makes integers beyond 64 bits floats; it has checked all the rest
    return value


def may_be_json(head: bytes) -> bool:
    """Whether a file that starts so may hold JSON objects or lists: control characters stand in no JSON."""
    return head.lstrip().startswith((b"{", b"[")) and _CONTROL.search(head) is None


def parse_json_lines(lines: Iterable[bytes], where: str) -> Iterator[tuple[str, Json]]:
    """The values of JSON Lines, each with its place (``file:line``); blank lines are passed over.

    Raises:
        UnreadableTrace: a line is not JSON.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            spot = f"{where}:{number}"
            yield spot, parse_json(line, spot)


def without_constants(data: bytes) -> tuple[bytes, int]:
    """`data` with ``null`` for each NaN and infinity outside of strings, and how many there were.

    For a format whose own writer puts them in: what they stood for must be no part of a trace.
    """
    count = 0

    def plain(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if match[0].startswith(b'"'):
            return match[0]
        count += 1
        return b"null"

    return _STRING_OR_CONSTANT.sub(plain, data), count


def json_or_text(text: str) -> Json:
    """`text` parsed where it holds a JSON object or array, else as it is.

    A tool's result often is JSON in a string, but ``42`` or ``null`` may as well be meant as words.
    """
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = parse_json(text.encode(), "")
    except (UnreadableTrace, UnicodeEncodeError):
        return text
    return value


def _repeated_key(body: bytes, colons: int) -> str | None:
    """A key that stands twice in one object of a text; None if there is none.

    Parsers keep the last of such values, so that what a person saw in the file and what was read would differ.

    The colons are counted first, which is fast: `body` has as many as its value unless a key got lost, or an escape
    made the difference. Only then are the objects looked at.

    Args:
        colons: how many its parsed value has when it is written without escapes.
    """
    escaped = len(_ESCAPED_COLON.findall(body)) if _ESCAPE in body else 0  # finding none so takes half the time
    if body.count(b":") + escaped == colons:
        return None
    try:
        json.loads(body, object_pairs_hook=_unique)
    except _RepeatedKey as found:
        return found.key
    return None


class _RepeatedKey(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]  # add returns None
    return found


def _refusal(body: bytes, start: int, error: orjson.JSONDecodeError, where: str) -> UnreadableTrace:
    try:
        text = body.decode()
    except UnicodeDecodeError as bad:
        return UnreadableTrace(f"invalid UTF-8 at byte {start + bad.start}", where, _CURE)
    if error.msg.startswith("depth limit"):
        return _too_deep(where)
    if "surrogate" in error.msg:
        reason = "a lone surrogate in the string"
    elif re.match(r"-?(NaN|Infinity)", text[error.pos : error.pos + 9]):
        reason = "NaN or infinity, which JSON has not,"
    else:
        reason = f"not JSON ({error.msg})"
    return UnreadableTrace(f"{reason} at byte {start + len(text[: error.pos].encode())}", where, _CURE)


def _too_deep(where: str) -> UnreadableTrace:
    return UnreadableTrace(f"nested deeper than {MAX_DEPTH} levels", where, "flatten the value")


def _looked_through(value: Json, where: str) -> tuple[int, bool]:
    """How many colons a value has in JSON, and whether a number in it may be an integer beyond 64 bits.

    Looks at all values, level by level.

    Raises:
        UnreadableTrace: there are more levels than are allowed.
    """
    huge = False
    colons = 0
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH + 1):
        colons += sum(map(_colons_in, [item for item in level if type(item) is str]))
        others = [item for item in level if type(item) not in _PLAIN]
        inner: list[Any] = [item for item in others if type(item) is not float]
        if len(inner) < len(others):
            huge = huge or any(type(item) is float and abs(item) >= _BEYOND_64_BIT for item in others)
        if not inner:
            return colons, huge
        level = []
        keys: list[str] = []
        for item in inner:
            if type(item) is dict:
                keys += item
                level += item.values()
            else:
                level += item
        colons += len(keys) + "".join(keys).count(":")
    raise _too_deep(where)
