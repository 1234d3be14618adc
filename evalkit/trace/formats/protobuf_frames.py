"""A stream of protobuf messages cut into its messages, by the length before each, or field by field.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from evalkit.errors import UnreadableTrace

__all__ = ["FRAMINGS", "Frame"]

_FIRST_FIELD = 0x0A
"""The tag of a message's field 1, written with its length: what every message of OTLP consists of."""
_MAX_FRAME_BYTES = 128 * 1024**2
"""No message that starts with the tag of field 1 can be taken for a length in four bytes then."""
_MAX_VARINT_BYTES = 5


@dataclass(frozen=True, slots=True)
class Frame:
    """One message, or one element of its only field, which is a message of the same form.

    Attributes:
        where: the path with the offset of its first byte, for messages.
    """

    data: bytes
    where: str


class _Stream:
    """Bytes taken from blocks."""

    def __init__(self, blocks: Iterable[bytes], where: str) -> None:
        self._blocks = iter(blocks)
        self._held = bytearray()
        self._where = where
        self._offset = 0

    @property
    def place(self) -> str:
        return f"{self._where} from byte {self._offset}"

    def at_end(self) -> bool:
        return not self._hold(1)

    def next(self) -> int:
        """The next byte, left in place; -1 at the end."""
        return self._held[0] if self._hold(1) else -1

    def take(self, count: int) -> bytes:
        if count > _MAX_FRAME_BYTES:
            raise self.broken(f"a message of {count} bytes, the most is {_MAX_FRAME_BYTES}")
        if not self._hold(count):
            raise self.broken(f"cut off: {len(self._held)} bytes are left of {count}")
        taken = bytes(self._held[:count])
        del self._held[:count]
        self._offset += count
        return taken

    def varint(self) -> int:
        value = 0
        for at in range(_MAX_VARINT_BYTES):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * at)
            if byte < 0x80:
                return value
        raise self.broken("no length")

    def broken(self, what: str) -> UnreadableTrace:
        return UnreadableTrace(what, self.place, "copy or export the file again")

    def _hold(self, count: int) -> bool:
        while len(self._held) < count:
            block = next(self._blocks, b"")
            if not block:
                return False
            self._held += block
        return True


def _by_length(length: Callable[[_Stream], int]) -> Callable[[Iterable[bytes], str], Iterator[Frame]]:
    def cut(blocks: Iterable[bytes], where: str) -> Iterator[Frame]:
        stream = _Stream(blocks, where)
        while not stream.at_end():
            count = length(stream)
            place = stream.place
            yield Frame(_checked(stream, count), place)

    return cut


def _checked(stream: _Stream, count: int) -> bytes:
    if count and stream.next() not in (_FIRST_FIELD, -1):
        raise stream.broken("no message of OTLP starts here")
    return stream.take(count)


def _by_field(blocks: Iterable[bytes], where: str) -> Iterator[Frame]:
    stream = _Stream(blocks, where)
    while not stream.at_end():
        place = stream.place
        if stream.take(1)[0] != _FIRST_FIELD:
            raise stream.broken("no message of OTLP goes on so")
        count = stream.varint()
        yield Frame(bytes([_FIRST_FIELD]) + _varint(count) + stream.take(count), place)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


FRAMINGS: tuple[Callable[[Iterable[bytes], str], Iterator[Frame]], ...] = (
    _by_length(lambda stream: int.from_bytes(stream.take(4), "big")),
    _by_length(_Stream.varint),
    _by_field,
)
"""In the order in which they are tried; each gives the messages of a stream, or raises UnreadableTrace."""
