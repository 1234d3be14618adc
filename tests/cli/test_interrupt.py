"""Ctrl-C: the run stops at once, keeps what was done, says how to go on, and goes on."""

from __future__ import annotations

import pytest

from evalkit.suite.results import read_samples
from tests.project import Project
from tests.suite.runs import library


@pytest.mark.parametrize("executor", ["serial", "fork", "xdist"])
def test_an_interrupted_run_goes_on(project: Project, executor: str) -> None:
    """Exit code 130 with the command that continues; afterwards every sample is there once."""
    library(project.root, list(range(4)))
    project.write("suites/s.toml", 'target = "tests.suite.agents:slow"\nsamples = 20\nsequential = false\n')
    command = ("run", "suites/s.toml", "--executor", executor, "-n", "2", "--out", "r")
    stopped = project.interrupted("r/journal.jsonl", *command)
    assert (stopped.code, "evalkit run --resume r" in stopped.err) == (130, True), stopped.err
    assert project.run("run", "--resume", "r").code == 0
    samples = read_samples(project.root / "r")
    assert {case: [sample.index for sample in several] for case, several in samples.items()} == {
        f"order-{order}": list(range(20)) for order in range(4)
    }
