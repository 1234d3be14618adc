"""Where the real traces are that nobody of this project made; tests that need them skip where they are absent."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["CORPORA", "needs_corpora"]

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
needs_corpora = pytest.mark.skipif(not CORPORA.is_dir(), reason="the corpora are not beside the repository")
