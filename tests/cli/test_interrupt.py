"""Ctrl-C: the run stops at once, keeps what was done, says how to go on, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from evalkit.suite.results import read_samples
from tests.project import REPOSITORY, Project
from tests.suite.runs import library


@pytest.mark.parametrize("executor", ["serial", "fork", "xdist"])
def test_an_interrupted_run_goes_on(project: Project, executor: str) -> None:
    """Exit code 130 with the command that continues; afterwards every sample is there once."""
    library(project.root, list(range(4)))
    project.write("suites/s.toml", 'target = "tests.suite.agents:slow"\nsamples = 40\nsequential = false\n')
    command = [sys.executable, "-m", "evalkit", "run", "suites/s.toml", "--executor", executor, "-n", "2", "--out", "r"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    child = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True)
    journal = project.root / "r" / "journal.jsonl"
    while not journal.exists() or not journal.stat().st_size:
        assert child.poll() is None
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "evalkit run --resume r" in said
    assert project.run("run", "--resume", "r").code == 0
    samples = read_samples(project.root / "r")
    assert {case: [sample.index for sample in several] for case, several in samples.items()} == {
        f"order-{order}": list(range(40)) for order in range(4)
    }
