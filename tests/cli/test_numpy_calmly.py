"""NumPy is loaded for commands that replay, and nobody is told of how."""

from __future__ import annotations

import subprocess
import sys

import pytest

VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
CODE = f"""
import os, sys
from evalkit.cli.numpy_calmly import load_numpy
load_numpy()
print("numpy" in sys.modules, os.environ.get("{VARIABLE}"))
"""


@pytest.mark.parametrize("chosen", [None, "20"])
def test_the_environment_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, chosen: str | None) -> None:
    """The agent, and what it starts, waits as it would have; a number that somebody chose is heeded."""
    monkeypatch.delenv(VARIABLE, raising=False)
    if chosen is not None:
        monkeypatch.setenv(VARIABLE, chosen)
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", str(chosen)]
