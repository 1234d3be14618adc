"""Memory that was freed, given back to the system before more is needed."""

from __future__ import annotations

import contextlib
import ctypes

__all__ = ["give_back"]


def give_back() -> None:
    """Lets the C library give back what lies free between what is in use; nothing where it can't (other than glibc)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
