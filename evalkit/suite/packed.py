"""Digests in half their length, where very many of them are held."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit.suite.made import Made
from evalkit.suite.texts import Pieces

__all__ = ["Digests", "packed", "unpacked"]


def packed(text: str) -> str | bytes:
    """The bytes of hex digits; any other text as it is."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return text
    return found if found.hex() == text else text


def unpacked(held: str | bytes) -> str:
    """The text that `packed` was given."""
    return held.hex() if isinstance(held, bytes) else held


class Digests(Made[str]):
    """Very many texts, most of which are digests."""

    def __init__(self) -> None:
        self._pieces = Pieces()

    def add(self, texts: Iterable[str]) -> int:
        """Adds some; gives the place of the first."""
        first = len(self)
        for held in map(packed, texts):
            self._pieces.append(_HEX + held if isinstance(held, bytes) else _OTHER + held.encode())
        return first

    def __len__(self) -> int:
        return len(self._pieces)

    def made(self, at: int) -> str:
        """The text that stands there."""
        held = self._pieces[at]
        return held[1:].hex() if held.startswith(_HEX) else held[1:].decode()


_HEX, _OTHER = b"x", b"t"
