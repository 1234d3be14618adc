"""Deleting for good, as far as a file system lets one."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["shred"]

_CHUNK_BYTES = 1 << 20


def shred(path: Path) -> None:
    """Overwrites a file with random bytes and removes it; one that is gone already is no error.

    The best that can be done from here: journals, snapshots, wear levelling and backups may hold the old bytes still.
    A symbolic link is removed, and what it points to is left alone.
    """
    if not path.is_symlink() and path.is_file():
        with open(path, "r+b") as file:
            left = file.seek(0, os.SEEK_END)
            file.seek(0)
            while left > 0:
                left -= file.write(os.urandom(min(left, _CHUNK_BYTES)))
            file.flush()
            os.fsync(file.fileno())
            file.truncate(0)
    path.unlink(missing_ok=True)
