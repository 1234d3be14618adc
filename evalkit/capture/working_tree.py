"""What the checked-out code differs by from its commit: the one thing of a run's environment that needs git itself."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from evalkit.capture.git import ask_git

__all__ = ["dirty_patch", "patch_now"]

_TIMEOUT_S = 5.0
_PLAINLY = "--binary --no-ext-diff --no-textconv --ignore-submodules=untracked".split()
"""Whatever a repository's settings leave out, or have a program of theirs show."""
_COMMAND = ("-c", "core.fsmonitor=false", "-c", "diff.relative=false", "diff", "HEAD", *_PLAINLY)


@functools.lru_cache(maxsize=8)
def dirty_patch(folder: Path) -> bytes | None:
    """The differences of tracked files from the commit, as git prints them; empty for none.

    Asked once a process and folder: code that was loaded does not change with its file. None as for `patch_now`.
    """
    return patch_now(folder)


def patch_now(folder: Path, without: Sequence[str] = ()) -> bytes | None:
    """The same at this moment; None where git, a commit or the repository is missing, or git takes longer than 5 s.

    Args:
        without: git's patterns of files that are left out, told from the top of the repository.
    """
    paths = ("--", ":/", *(f":(top,exclude,glob){pattern}" for pattern in without))
    return ask_git(folder, *_COMMAND, *paths, timeout_s=_TIMEOUT_S).out
