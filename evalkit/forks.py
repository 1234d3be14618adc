"""Forks of this process: whether they are safe, and made without a warning of what they are safe from."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["can_fork", "forking"]


def can_fork() -> bool:
    """Whether forking is safe here: on Linux, in a process with one Python thread."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def forking() -> Iterator[None]:
    """Inside, a fork is not warned of: Python 3.12 counts the threads that NumPy's BLAS and Arrow keep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
