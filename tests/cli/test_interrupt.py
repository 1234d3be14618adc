"""Ctrl-C: the run stops at once, keeps what was done, says how to go on, and goes on."""

from __future__ import annotations

import os
import signal

import pytest

from evalkit.suite.results import read_samples
from tests.project import REPOSITORY, Project
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


@pytest.mark.parametrize(
    ("options", "by", "times"),
    [
        (("--executor", "fork"), signal.SIGTERM, 1),
        (("--executor", "xdist"), signal.SIGTERM, 1),
        (("--sandbox", "--unsafe-replay"), signal.SIGINT, 1),
        (("--executor", "fork"), signal.SIGINT, 3),
        (("--sandbox", "--unsafe-replay"), signal.SIGINT, 3),
    ],
)
def test_a_run_that_is_told_to_end_tidies_up(
    project: Project, options: tuple[str, ...], by: signal.Signals, times: int
) -> None:
    """As a cancelled job is (SIGTERM), or by somebody in a hurry: the way on is said, no temporary file stays."""
    library(project.root, list(range(4)))
    project.write("slowly.py", (REPOSITORY / "tests/suite/agents.py").read_text("utf-8"))  # a sandbox reads no other
    project.write("suites/s.toml", 'target = "slowly:slow"\nsamples = 40\nsequential = false\n')
    temporary = project.root / "temporary"
    temporary.mkdir()
    command = ("run", "suites/s.toml", "-n", "2", "--out", "r", *options)
    stopped = project.interrupted(
        "r/journal.jsonl", *command, by=by, times=times, env={**os.environ, "TMPDIR": str(temporary)}
    )
    assert (stopped.code, "evalkit run --resume r" in stopped.err) == (130, True), stopped.err
    assert list(temporary.iterdir()) == []
    assert project.run("run", "--resume", "r").code == 0
