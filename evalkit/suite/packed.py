"""A digest in half its length, where very many of them are held."""

from __future__ import annotations

__all__ = ["packed", "unpacked"]


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
