"""JSON read piece by piece from a stream: for documents that are too large to be held whole.

A `JsonReader` walks into the objects and arrays that its caller names, and parses only what lies in them, under the
rules of `trace.json_input`. It holds one block, or the largest value that is taken whole. The standard library's
decoder, which says where a value ends, finds the values (twice as fast as ijson 3.6 on real exports); orjson, which
can't, parses them.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.json_input import parse_json

__all__ = ["JsonReader"]

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_LONGEST_TOKEN = 16
"""Only strings and numbers are longer: an error nearer to the end of what was read may only want more of it."""
_CURE = "export the trace again as standard JSON in UTF-8"


class JsonReader:
    """A place in a stream of JSON.

    Args:
        blocks: the stream.
        where: the path for messages.
    """

    def __init__(self, blocks: Iterable[bytes], where: str) -> None:
        self.where = where
        self._blocks = iter(blocks)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._passed = 0
        self._taken = 0
        self._ended = False

    def peek(self) -> str:
        """The next character that is no space, left in place; empty at the end of the stream."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches everywhere
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def members(self) -> Iterator[str]:
        """The keys of the object that comes next. The caller takes each one's value before it asks for the next.

        Raises:
            UnreadableTrace: what comes is no object, or not JSON.
        """
        for _ in self._parts("{", "}"):
            if self.peek() != '"':
                raise self._broken("no key")
            key = self.value()
            self._expect(":")
            yield str(key)

    def items(self) -> Iterator[None]:
        """As `members`, for each item of an array."""
        return self._parts("[", "]")

    def value(self) -> Json:
        """The value that comes next, whole.

        Raises:
            UnreadableTrace: it is not JSON under the rules of `trace.json_input`.
        """
        self.peek()
        end = self._end()
        try:
            value = parse_json(self._text[self._at : end].encode(), self.where)
        except (UnreadableTrace, UnicodeEncodeError) as error:
            what = error.what if isinstance(error, UnreadableTrace) else "a lone surrogate in a string"
            raise UnreadableTrace(what, self.place(), _CURE) from None
        self._at = end
        return value

    @property
    def taken(self) -> int:
        """How many characters were read so far."""
        return self._taken + self._at

    def place(self) -> str:
        """The path with the byte offset, for messages."""
        return f"{self.where} from byte {self._passed + len(self._text[: self._at].encode())}"

    def _parts(self, opening: str, closing: str) -> Iterator[None]:
        self._expect(opening)
        if self.peek() != closing:
            yield
            while self.peek() == ",":
                self._at += 1
                yield
        self._expect(closing)

    def _expect(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise self._broken(f"{wanted} is missing")
        self._at += 1

    def _end(self) -> int:
        """The index after the value that comes next; more is read until it is whole."""
        while True:
            try:
                end = _DECODER.raw_decode(self._text, self._at)[1]
            except json.JSONDecodeError as error:
                inside = error.pos - self._at
                cut = error.msg.startswith("Unterminated") or error.pos + _LONGEST_TOKEN > len(self._text)
                if not cut or not self._more():
                    self._at += inside
                    raise self._broken(error.msg) from None
            except RecursionError:
                raise UnreadableTrace("nested too deeply", self.place(), "flatten the value") from None
            else:
                whole = self._text[end - 1] in '}]"' or end + _LONGEST_TOKEN < len(self._text)
                if whole or self._ended:  # a number may go on in the next block
                    return end
                self._more()

    def _more(self) -> bool:
        """Read at least as much as is held already, so that a long value is not begun too often."""
        held = self._text[self._at :]
        wanted, parts = max(len(held), 1), [held]
        while wanted > 0 and not self._ended:
            block = next(self._blocks, b"")
            self._ended = not block
            try:
                parts.append(self._decoder.decode(block, self._ended))
            except UnicodeDecodeError:
                raise UnreadableTrace("invalid UTF-8", self.place(), _CURE) from None
            wanted -= len(parts[-1])
        self._passed += len(self._text[: self._at].encode())
        self._taken += self._at
        self._text, self._at = "".join(parts), 0
        return len(self._text) > len(held)

    def _broken(self, reason: str) -> UnreadableTrace:
        said = "cut off" if self._ended and self._at >= len(self._text) else f"not JSON ({reason})"
        return UnreadableTrace(said, self.place(), _CURE)
