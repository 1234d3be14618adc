"""A disk that is full or gone: said as an error with its cure, and nothing that was written before is lost."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.errors import EvalkitError

__all__ = ["DiskFault", "disk_fault", "half_written", "on_disk", "to_disk", "write_whole"]


class DiskFault(EvalkitError):
    """A run's file can't be written."""


def disk_fault(error: OSError, path: Path) -> DiskFault:
    """What the system said, and what to do."""
    run = path.parent
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    what = "the disk is full" if full else f"it can't be written: {error.strerror or error}"
    cure = "free some space" if full else "mend that"
    return DiskFault(f"{what}; what was done is kept", str(path), f"{cure}, then evalkit run --resume {run}")


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Turns the system's errors inside into a `DiskFault` about `path`."""
    try:
        yield
    except OSError as error:
        raise disk_fault(error, path) from None


def to_disk(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":  # no such thing there
        return
    file = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(PermissionError):  # Windows: a file opened for reading can't be waited for
            os.fsync(file)
    finally:
        os.close(file)


def half_written(name: str) -> str:
    """What a file is called while it is written."""
    return f".{name}.writing"


def write_whole(path: Path, data: bytes | Iterable[bytes], *, durable: bool = False) -> None:
    """Writes a file, over an older one; it appears whole or not at all.

    Args:
        data: all of it, or its parts one after the other.
        durable: waits until it is on the disk, for what nothing could make again.

    Raises:
        DiskFault: the disk is full or gone.
    """
    temporary = path.with_name(half_written(path.name))
    try:
        with on_disk(path):
            with open(temporary, "wb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
