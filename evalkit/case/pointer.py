"""Git LFS: where a file's content was not fetched, a pointer of a few lines stands in its place."""

from __future__ import annotations

import re
from pathlib import Path

from evalkit.errors import InputError

__all__ = ["named_by_pointer", "refuse_pointer"]

_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")
_LARGEST_BYTES = 1_024
"""By Git LFS's specification."""


def named_by_pointer(content: bytes) -> str:
    """The SHA-256 of the content that a pointer stands for, in hexadecimal; empty for what is no pointer."""
    found = _POINTER.match(content) if len(content) < _LARGEST_BYTES else None
    return found[1].decode() if found else ""


def refuse_pointer(path: str | Path) -> None:
    """Tells that a file can't be read because its content was not fetched.

    Raises:
        InputError: a pointer stands in its place.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST_BYTES)
    except OSError:
        return
    if named_by_pointer(content):
        raise InputError("Git LFS did not fetch it: a pointer stands in its place", str(path), "git lfs pull") from None
