"""Where the corpora are: the first argument of a benchmark, else the folder beside the repository."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["BESIDE", "asked_corpora"]

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "corpora"


def asked_corpora() -> Path:
    """The folder of the corpora; ends the program where there is none."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else BESIDE
    if not root.is_dir():
        sys.exit(f"no corpora at {root}")
    return root
