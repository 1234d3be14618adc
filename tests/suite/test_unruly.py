"""Agents that do more to their process than to answer: it costs their own sample, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalkit.errors import ConfigError
from evalkit.playback import overdue
from evalkit.suite.results import read_samples
from tests.suite.runs import alive, library, run
from tests.suite.test_run import outcomes

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="forks")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three cases in the current folder, the second of which the agents have their ways with."""
    monkeypatch.setattr(overdue, "_GRACE_S", 0.2)
    monkeypatch.chdir(library(tmp_path, [12, 13, 14]))
    return tmp_path


@LINUX
@pytest.mark.parametrize(
    ("agent", "executor"),
    [
        ("will_not_end", "fork"),
        ("will_not_end", "xdist"),
        ("waits_for_its_thread", "fork"),
        ("waits_for_a_program", "fork"),
    ],
)
def test_a_replay_that_does_not_end_when_it_is_stopped_fails(root: Path, agent: str, executor: str) -> None:
    """Its process is ended; it is the agent's failure, is not replayed again, and the others go on."""
    samples = run(root, agent, samples=2, executor=executor, timeout_s=0.5, retries=2)
    assert outcomes(samples) == {"passed": 4, "failed": 2}
    for sample in samples["order-13"]:
        assert (sample.outcome, sample.attempt, sample.drew) == ("failed", 1, True)
        assert "did not end when it was stopped after 0.5 s" in sample.reason
    if agent == "waits_for_a_program":
        assert not alive(int((root / "waiting").read_text()))


@LINUX
def test_a_sandboxed_replay_that_does_not_end_fails(root: Path) -> None:
    """There, too."""
    samples = run(
        root, "will_not_end", samples=1, executor="sandbox", timeout_s=0.5, sandbox=True, unsafe_replay=True
    )  # fmt: skip
    assert outcomes(samples) == {"passed": 2, "failed": 1}


@LINUX
@pytest.mark.parametrize("executor", ["serial", "fork"])
def test_a_fork_of_the_agents_that_comes_back_is_no_second_replay(root: Path, executor: str) -> None:
    """Each sample is there once, is the parent's, and the child ends as it would in a script."""
    samples = run(root, "comes_back_twice", samples=3, executor=executor)
    assert outcomes(samples) == {"passed": 9}
    assert [[one.index for one in several] for several in samples.values()] == [[0, 1, 2]] * 3


@LINUX
def test_a_worker_that_died_is_noticed_though_a_child_of_itsalive(root: Path) -> None:
    """What holds the worker's pipe open is not the worker."""
    began = time.monotonic()
    samples = run(root, "dies_before_its_child", samples=1, executor="fork", retries=0)
    assert outcomes(samples) == {"passed": 2, "errored": 1}
    assert samples["order-13"][0].reason.endswith("exit code 7")
    assert time.monotonic() - began < 200


@LINUX
def test_what_an_agent_left_running_ends_with_the_run(root: Path) -> None:
    """Otherwise each night leaves more of it."""
    assert outcomes(run(root, "leaves_a_program", samples=1, executor="fork")) == {"passed": 3}
    left = [int(line) for line in (root / "left").read_text().split()]
    until = time.monotonic() + 20
    while any(map(alive, left)):
        assert time.monotonic() < until
        time.sleep(0.02)


@LINUX
@pytest.mark.parametrize("agent", ["has_processes", "walks_away", "closes_its_streams"])
def test_what_an_agent_may_do_costs_no_sample(root: Path, agent: str) -> None:
    """Not its own, and not those after it in the same process."""
    assert outcomes(run(root, agent, executor="fork")) == {"passed": 9}


@LINUX
def test_a_pool_of_the_agents_module_is_each_workers_own(root: Path) -> None:
    """Forks would have one queue together, take each other's work from it, and wait for ever."""
    command = [sys.executable, "-m", "tests.suite.runs", str(root), "tests.suite.pooled_agent:computes", "20", "fork"]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True, timeout=300)
    assert outcomes(read_samples(root / "run")) == {"passed": 60}


@pytest.mark.parametrize("executor", ["serial", pytest.param("fork", marks=LINUX), "xdist"])
def test_a_tool_in_a_process_that_an_agent_starts_costs_its_own_sample(root: Path, executor: str) -> None:
    """Whichever process replays: each is told of its own agent's."""
    samples = run(root, "starts_another", samples=2, executor=executor)
    assert outcomes(samples) == {"passed": 4, "missed": 2}
    for sample in samples["order-13"]:
        assert "refund was called in a process that the agent started" in sample.reason


@pytest.mark.parametrize("executor", ["serial", "fork"])
def test_each_replay_starts_in_the_folder_of_the_run(root: Path, executor: str) -> None:
    """Wherever the one before went."""
    assert outcomes(run(root, "walks_away", executor=executor)) == {"passed": 9}
    assert (root / "here").stat().st_size == 9
    assert Path.cwd() == root


@LINUX
def test_an_agent_that_signals_its_group_ends_its_worker(root: Path) -> None:
    """And not the run."""
    samples = run(root, "ends_its_group", samples=1, executor="fork", retries=0)
    assert outcomes(samples) == {"passed": 2, "errored": 1}
    assert "SIGTERM" in samples["order-13"][0].reason


def test_an_exception_without_a_text_is_the_agents_failure(root: Path) -> None:
    """Its own code fails when it is asked."""
    (sample, *_) = run(root, "raises_speechless", samples=1)["order-12"]
    assert sample.outcome == "failed"
    assert "the agent raised Speechless: <its text can't be had: ValueError>" in sample.reason


def test_a_generator_is_no_agent(root: Path) -> None:
    """Nobody would go through it: no tool would be called, and what must not happen would not."""
    with pytest.raises(ConfigError, match="streams is a generator"):
        run(root, "streams")


def test_an_answer_that_nobody_went_through_is_none(root: Path) -> None:
    """Of an agent that only shows it when it is called."""
    samples = run(root, "answers_with_a_stream", samples=1)
    assert outcomes(samples) == {"failed": 3}
    assert "its answer is a generator that nobody went through" in samples["order-12"][0].reason
