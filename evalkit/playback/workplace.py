"""Where a replay takes place when not in the current folder: a temporary copy of it that is thrown away."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.playback.sandbox.staging import stage

__all__ = ["working_copy"]


@contextmanager
def working_copy() -> Iterator[None]:
    """While inside, the current folder is the replay's; what it writes into a copy is gone afterwards.

    The copy lacks what `sandbox.staging` leaves out: hidden files, keys, virtual environments. Code that is loaded
    already stays where it was loaded from.
    """
    before = Path.cwd()
    folder = Path(tempfile.mkdtemp(prefix="evalkit-replay-"))
    try:
        stage(before, folder)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
