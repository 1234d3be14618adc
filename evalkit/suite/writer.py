"""One writer a run: a second process that would write the same run is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.errors import InputError

__all__ = ["LOCK_NAME", "sole_writer"]

LOCK_NAME = ".writing.lock"


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Keeps others from writing the run; the system lets go of the lock when this process dies.

    A record lock: unlike `flock`'s it is not shared with forked workers, which may outlive a killed controller.

    Raises:
        InputError: another process is writing it.
    """
    try:
        import fcntl
    except ImportError:  # Windows: no such lock
        yield
        return
    path = folder / LOCK_NAME
    with open(path, "wb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another process is writing this run", str(folder), "wait for it, or stop it") from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
