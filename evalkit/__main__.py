"""The console script ``evalkit``, also as ``python -m evalkit``."""

from __future__ import annotations

import gc
import os
import sys

from evalkit.cli.hashes import fix_hashes

__all__ = ["main"]


def main() -> None:
    """Readies the process before most of it is loaded, then does what the command line says."""
    if sys.argv[1:2] in (["replay"], ["run"], ["ab"]):
        fix_hashes()  # may start the process anew
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own keeps what is freed: 20 MB of a run
    gc.set_threshold(200_000, 20, 20)  # a command makes many objects and drops few: looking for garbage cost it a tenth
    from evalkit.cli.main import main as command

    try:
        command()
    finally:
        gc.freeze()  # the interpreter looks for garbage three times as it ends: 0.1 s, and then all memory goes anyway


if __name__ == "__main__":
    main()
