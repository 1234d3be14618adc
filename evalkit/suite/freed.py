"""Memory that was freed, given back to the system before more is needed."""

from __future__ import annotations

import contextlib
import ctypes

import pyarrow as pa

__all__ = ["give_back", "take_from_system"]


def take_from_system() -> None:
    """Lets Arrow take its memory from the C library: its own store keeps what is freed, 20 MB of a run."""
    pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Lets the C library give back what lies free between what is in use; nothing where it can't (other than glibc)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
