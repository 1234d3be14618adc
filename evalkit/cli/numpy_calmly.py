"""NumPy, loaded so that its linear algebra's threads wait asleep."""

from __future__ import annotations

import os
from importlib import import_module

__all__ = ["load_numpy"]

_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
_LEAST = "4"


def load_numpy() -> None:
    """Loads NumPy for a command that will need it.

    OpenBLAS starts a thread for each further core as it is loaded, and these look for work for a while before they
    sleep: a tenth of a second of each core, which the replays of a run, or other jobs of a CI machine, have a use for.
    How many threads there are stays as it is, and so does the environment that agents see.
    """
    chosen = _VARIABLE in os.environ
    os.environ.setdefault(_VARIABLE, _LEAST)  # 2^4 cycles, the shortest; it is read once, as the library is loaded
    try:
        import_module("numpy")
    finally:
        if not chosen:
            del os.environ[_VARIABLE]
