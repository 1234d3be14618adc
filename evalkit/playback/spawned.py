"""Where processes that an agent forks or starts tell of the calls that they were refused (see `capture.unfollowed`)."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import lru_cache

__all__ = ["told_by_spawned", "told_in"]


def told_in() -> str:
    """The file; each process that replays agents has its own, which is there only once something is told."""
    return _file_of(os.getpid())


def told_by_spawned() -> str:
    """What was told since this was asked last; empty for nothing."""
    path = told_in()
    if not os.access(path, os.F_OK):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip() or "a process that the agent started was refused a call"
    finally:
        with suppress(OSError):  # it is still being written, on Windows
            os.unlink(path)


@lru_cache(maxsize=1)
def _file_of(process: int) -> str:
    name = f"evalkit-refused-{process}-{os.urandom(8).hex()}"
    return os.path.join(os.path.abspath(tempfile.gettempdir()), name)
