"""Memory that was freed, given back to the system before more is needed."""

from __future__ import annotations

import contextlib
import ctypes

import pyarrow as pa

__all__ = ["give_back", "take_from_system"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of `mallopt` in glibc's malloc.h."""
_LARGE = 1 << 18


def take_from_system() -> None:
    """Lets Arrow take its memory from the C library: its own store keeps what is freed, 20 MB of a run.

    And lets the C library give large pieces back as they are freed. By itself it takes the larger ones for usual, the
    more of them it meets, and keeps them: tables that are written while the run goes on left 16 MB.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    with contextlib.suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_TRIM_THRESHOLD, _LARGE)


def give_back() -> None:
    """Lets the C library give back what lies free between what is in use; nothing where it can't (other than glibc)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
