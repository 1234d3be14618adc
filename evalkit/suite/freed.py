"""Memory that was freed: given back to the system before more is needed, or kept for it."""

from __future__ import annotations

import contextlib
import ctypes

import pyarrow as pa

__all__ = ["give_back", "keep_freed", "take_from_system"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of `mallopt` in glibc's malloc.h."""
_LARGE = 1 << 18
_LARGEST = 32 << 20
"""What the C library takes for usual at most."""


def take_from_system() -> None:
    """Lets Arrow take its memory from the C library: its own store keeps what is freed, 20 MB of a run.

    And lets the C library give large pieces back as they are freed. By itself it takes the larger ones for usual, the
    more of them it meets, and keeps them: tables that are written while the run goes on left 16 MB.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    _keep_below(_LARGE)


def keep_freed() -> None:
    """Lets the C library keep large pieces that are freed, in a process in which agents run.

    A replay of an agent that needs such pieces has them at hand from the one before. To get each from the system takes
    six times as long (400 kB to 1 MB, on a virtual machine).
    """
    _keep_below(_LARGEST)


def give_back() -> None:
    """Lets the C library give back what lies free between what is in use; nothing where it can't (other than glibc)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _keep_below(size: int) -> None:
    with contextlib.suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, size)
        library.mallopt(_TRIM_THRESHOLD, 2 * size)
