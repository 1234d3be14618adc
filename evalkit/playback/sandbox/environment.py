"""The environment of a sandboxed agent: a short list of harmless variables, and keys that open nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path

__all__ = ["DUMMY_KEY", "DUMMY_KEYS", "HARMLESS", "scrub_environment"]

HARMLESS = frozenset(
    "PATH LANG LANGUAGE LC_ALL LC_CTYPE TZ TERM NO_COLOR COLUMNS LINES PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING "
    "PYTHONDONTWRITEBYTECODE PYTHONWARNINGS OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS".split()
)
"""Variables that stay as they are."""

DUMMY_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "MISTRAL_API_KEY",
)
"""Keys without which clients refuse to start."""

DUMMY_KEY = "evalkit-replay"
"""What they are given; it opens nothing."""

_SHORTEST_SECRET = 8
_HEADER = sys.getsizeof(b"") - 1
"""Bytes before the text of a `bytes` object."""
_ENV_START, _ENV_END = 47, 48  # fields 50 and 51 of /proc/self/stat, counted from the third (man 5 proc)


def scrub_environment(keep: Collection[str], home: Path) -> None:
    """Leaves the harmless variables and those of the patterns in `keep`, with `home` as home and temporary folder.

    The text that the process was started with, which ``/proc/self/environ`` and C code see, is wiped too, and so are
    the values that Python and libc hold. Copies that a library made elsewhere in memory stay.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in HARMLESS or any(fnmatchcase(name, pattern) for pattern in keep)
    }
    kept |= {
        "HOME": str(home),
        "TMPDIR": str(home),
        **{name: DUMMY_KEY for name in DUMMY_KEYS if name not in kept},
    }
    _wipe_values(os.environ.keys() - kept.keys())
    os.environ.clear()
    with contextlib.suppress(OSError, ValueError, IndexError):
        _wipe_start()
    os.environ.update(kept)
    tempfile.tempdir = None  # it keeps the folder that it found first


def _wipe_values(names: Collection[str]) -> None:
    """Overwrites variables' values where libc and Python have them: this fork's memory is the agent's from now on."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    for name in map(os.fsencode, names):
        value = os.environb[name]
        if len(value) < _SHORTEST_SECRET:  # short bytes may be shared objects of the interpreter's
            continue
        at = libc.getenv(name)
        if at:
            ctypes.memset(at, 0, len(value))
        ctypes.memset(id(value) + _HEADER, 0, len(value))


def _wipe_start() -> None:
    """Overwrites the block of the stack that the kernel put the environment in; no variable points there any more."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
