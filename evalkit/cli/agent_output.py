"""What agents print, apart from what a command says: with ``--json`` standard output holds data and nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

__all__ = ["agents_to_stderr"]

_OUT, _ERR = 1, 2


@contextmanager
def agents_to_stderr(*, wanted: bool) -> Iterator[None]:
    """Sends what is printed meanwhile, here and by the processes started here, to standard error."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    with redirect_stdout(sys.stderr), _descriptor():
        yield


@contextmanager
def _descriptor() -> Iterator[None]:
    try:
        kept = os.dup(_OUT)
        os.dup2(_ERR, _OUT)
    except OSError:  # one of them is closed: nothing is printed to it
        yield
        return
    try:
        yield
    finally:
        os.dup2(kept, _OUT)
        os.close(kept)
