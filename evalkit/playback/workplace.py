"""Where a replay takes place when not in the current folder: a temporary copy of it that is thrown away."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.playback.sandbox.staging import stage

__all__ = ["working_copy"]


@contextmanager
def working_copy() -> Iterator[Callable[[], None]]:
    """While inside, the current folder is the replays'; what they write into a copy is gone afterwards.

    The copy lacks what `sandbox.staging` leaves out: hidden files, keys, virtual environments. Code that is loaded
    already stays where it was loaded from.

    Yields:
        what makes the copy again what it was at first, for the next replay.
    """
    before = Path.cwd()
    folder = Path(tempfile.mkdtemp(prefix="evalkit-replay-"))
    try:
        stage(before, folder)
        fresh = _state(folder)

        def renew() -> None:
            nonlocal fresh
            if _state(folder) != fresh:
                _empty(folder)
                stage(before, folder)
                fresh = _state(folder)

        os.chdir(folder)
        try:
            yield renew
        finally:
            os.chdir(before)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _state(folder: Path) -> list[tuple[object, ...]]:
    """What tells a changed tree from one that is not: writing gives a file another time, or another number."""
    found: list[tuple[object, ...]] = []
    waiting = [str(folder)]
    while waiting:
        here = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:  # it is gone, or may not be looked at: neither is as it was
            found.append((here,))
            continue
        for entry in entries:
            try:
                told = entry.stat(follow_symlinks=False)
            except OSError:  # what a thread removes meanwhile
                found.append((entry.path,))
                continue
            found.append((entry.path, told.st_ino, told.st_mode, told.st_size, told.st_mtime_ns, told.st_ctime_ns))
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return found


def _empty(folder: Path) -> None:
    """Removes what is in a folder; makes the folder where an agent has removed it, or put something in its place."""
    if folder.is_symlink() or folder.is_file():  # a link's folder is not ours to empty
        folder.unlink()
    folder.mkdir(exist_ok=True)
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            Path(entry.path).unlink(missing_ok=True)
