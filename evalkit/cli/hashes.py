"""The order of sets: Python draws it anew in each process, and an agent that goes through a set would be another."""

from __future__ import annotations

import os
import sys

__all__ = ["fix_hashes"]

_VARIABLE = "PYTHONHASHSEED"


def fix_hashes() -> None:
    """Starts this process anew with a fixed hash seed, where its seed was drawn; does not return then.

    A seed that was chosen stays. On Windows, where a process can't become another program, nothing is done.
    """
    drawn = sys.flags.hash_randomization and os.environ.get(_VARIABLE, "random") in ("", "random")
    if not drawn or sys.flags.ignore_environment or os.name != "posix" or not sys.orig_argv:
        return
    os.environ[_VARIABLE] = "0"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
