"""Running a suite: each sample comes to one outcome, and a kill loses nothing that was finished."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.errors import ConfigError, InputError, IntegrityError
from evalkit.suite.manifest import start_run, suite_json
from evalkit.suite.model import Manifest, Sample, Selection, Suite
from evalkit.suite.results import read_samples, read_traces
from evalkit.suite.run import OpenRun
from evalkit.suite.select import select_cases
from evalkit.suite.writer import sole_writer
from tests.loaded import Loaded
from tests.suite.runs import library, run

REPOSITORY = Path(__file__).parents[2]


def outcomes(samples: Mapping[str, Sequence[Sample]]) -> Counter[str]:
    """How often each outcome came."""
    return Counter(sample.outcome for several in samples.values() for sample in several)


def timeless(samples: Mapping[str, Sequence[Sample]]) -> dict[str, list[Sample]]:
    """Samples without their durations."""
    return {case: [replace(sample, duration_s=0.0) for sample in several] for case, several in samples.items()}


@pytest.mark.parametrize(
    ("target", "outcome"), [("once", "passed"), ("twice", "failed"), ("stray", "missed"), ("raises", "failed")]
)
def test_an_agent_comes_to_its_outcome(tmp_path: Path, target: str, outcome: str) -> None:
    """A healthy run passes, the incident fails, a missing fixture is neither."""
    samples = run(library(tmp_path, [1, 2]), target)
    assert outcomes(samples) == {outcome: 6}
    assert {case: [s.index for s in several] for case, several in samples.items()} == {
        "order-1": [0, 1, 2],
        "order-2": [0, 1, 2],
    }


def test_a_sample_says_what_it_did(tmp_path: Path) -> None:
    """Counts, checks with reasons, and the trace that was kept."""
    sample = run(library(tmp_path, [1]), "twice")["order-1"][0]
    assert (sample.tool_bodies, sample.live_model, sample.substituted) == (0, 0, 3)
    assert (sample.checks[0].passed, sample.checks[0].steps) == (False, (1, 2))
    assert "2 times" in sample.reason or "twice" in sample.reason
    trace = read_traces(tmp_path / "run", [sample.trace])[sample.trace]
    assert [step.name for step in trace.steps] == ["lookup", "refund", "refund"]
    assert trace.output == {"done": {"ok": True}}


def test_a_miss_names_the_nearest_call(tmp_path: Path) -> None:
    """The sample carries the sentence that people read."""
    sample = run(library(tmp_path, [1]), "stray")["order-1"][0]
    assert sample.misses == (
        "call 1: tool lookup has no recorded answer; nearest is step 0 (/order: recorded 1, got 2)",
    )
    assert sample.checks == ()


def test_a_strict_suite_wants_the_recorded_order(tmp_path: Path) -> None:
    """Without it the order of calls is the checks' affair."""
    assert outcomes(run(library(tmp_path / "any", [1]), "paid_first")) == {"passed": 3}
    samples = run(library(tmp_path / "strict", [1]), "paid_first", strict=True)
    assert outcomes(samples) == {"missed": 3}
    assert "strict order: expected tool lookup (step 0), got tool refund" in samples["order-1"][0].reason


def test_equal_replays_are_kept_once(tmp_path: Path) -> None:
    """A frozen replay of a deterministic agent gives one trace, however often it is run."""
    samples = run(library(tmp_path, [1]), "once", samples=50, keep_traces="all")["order-1"]
    assert len({sample.trace for sample in samples}) == 1
    assert len(read_traces(tmp_path / "run", {sample.trace for sample in samples})) == 1


@pytest.mark.parametrize("executor", ["fork", "xdist"])
def test_processes_give_the_same_samples_as_one(tmp_path: Path, executor: str) -> None:
    """How the work is spread shows in nothing but the time."""
    one = run(library(tmp_path / "a", list(range(6))), "twice", samples=4)
    many = run(library(tmp_path / "b", list(range(6))), "twice", samples=4, executor=executor)
    assert timeless(one) == timeless(many)


@pytest.mark.parametrize("executor", ["fork", "xdist"])
def test_a_worker_that_dies_costs_only_its_sample(tmp_path: Path, executor: str) -> None:
    """The sample is errored, the rest of its item goes on."""
    samples = run(library(tmp_path, [11, 12, 13]), "dies", samples=2, executor=executor, retries=0)
    assert outcomes(samples) == {"passed": 4, "errored": 2}
    assert all(sample.outcome == "errored" and "died" in sample.reason for sample in samples["order-13"])


def test_a_replay_that_takes_too_long_fails(tmp_path: Path) -> None:
    """The agent's time limit is the agent's failure, not infrastructure's."""
    sample = run(library(tmp_path, [1]), "sleeps", samples=1, timeout_s=0.2)["order-1"][0]
    assert (sample.outcome, "0.2 s" in sample.reason) == ("failed", True)


@pytest.mark.parametrize("executor", ["serial", "fork", "xdist"])
def test_a_target_that_is_not_there_is_a_configuration_error(tmp_path: Path, executor: str) -> None:
    """Nothing is run, and the message names the target, also from another process."""
    with pytest.raises(ConfigError, match="has no nobody"):
        run(library(tmp_path, [1]), "nobody", executor=executor)


def test_a_changed_case_is_not_run(tmp_path: Path) -> None:
    """A worker checks the whole file before it replays it."""
    library(tmp_path, [1])
    path = tmp_path / "cases" / "order-1" / "v0001.parquet"
    data = bytearray(path.read_bytes())
    at = data.index(b"refund")
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises((IntegrityError, InputError)):
        run(tmp_path, "once")


@pytest.mark.parametrize("executor", ["serial", "fork", "xdist"])
def test_a_case_that_became_another_since_the_run_began_is_not_run(tmp_path: Path, executor: str) -> None:
    """Also where the new file is sound: the verdict would be on another case than the manifest names."""
    root = library(tmp_path, [1, 2])
    suite = Suite("test", "tests.suite.agents:once", 2)
    cases = select_cases(root / "cases", Selection())
    start_run(root / "run", Manifest("r", suite_json(suite), (), "now"))
    other = library(tmp_path / "other", [3])
    (other / "cases" / "order-3" / "v0001.parquet").replace(root / "cases" / "order-2" / "v0001.parquet")
    with (
        OpenRun(root / "run", suite, cases, executor=executor, workers=1) as opened,
        pytest.raises(IntegrityError, match="another one than when this began"),
    ):
        opened.up_to({case.id: 2 for case in cases})


def wait_until_free(folder: Path) -> None:
    """The system lets go of a killed process's lock, on a busy machine a moment after its end."""
    for _ in range(200):
        try:
            with sole_writer(folder):
                return
        except FileNotFoundError:  # killed before it made the folder
            return
        except InputError:
            time.sleep(0.05)
    raise AssertionError("the killed run is still locked")


@pytest.mark.parametrize(
    ("executor", "kills", "earliest_s", "latest_s"), [("fork", 10, 0.05, 0.35), ("xdist", 5, 0.6, 1.4)]
)
def test_killing_at_random_moments_loses_nothing_and_repeats_nothing(
    tmp_path: Path, loaded: Loaded, executor: str, kills: int, earliest_s: float, latest_s: float
) -> None:
    """After some SIGKILLs and as many continuations, the samples are those of an undisturbed run."""
    orders, samples = list(range(8)), 12
    wanted = run(library(tmp_path / "calm", orders), "once", samples=samples)
    root = library(tmp_path / "killed", orders)
    command = ("tests.suite.runs", str(root), "slow", str(samples), executor)
    draws = random.Random(20261129)
    for _ in range(kills):
        child = loaded.begin(*command, cwd=REPOSITORY)
        with suppress(TimeoutError):
            assert child.end(draws.uniform(earliest_s, latest_s)).returncode == 0
            break
        os.killpg(child.pid, signal.SIGKILL)
        child.end()
        wait_until_free(root / "run")
    else:
        assert loaded.run(*command, cwd=REPOSITORY).returncode == 0
    assert timeless(read_samples(root / "run")) == timeless(wanted)


def test_a_second_process_can_not_write_the_same_run(tmp_path: Path) -> None:
    """Two continuations at once would double samples; the later one is refused."""
    root = library(tmp_path, list(range(4)))
    command = [sys.executable, "-m", "tests.suite.runs", str(root), "slow", "200", "serial"]
    child = subprocess.Popen(command, cwd=REPOSITORY, start_new_session=True)
    try:
        while not (root / "run" / "journal.jsonl").exists():
            time.sleep(0.02)
            assert child.poll() is None
        with pytest.raises(InputError, match="another process"):
            run(root, "slow", samples=200)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_forks_are_only_made_of_a_process_with_one_thread() -> None:
    """A lock that another thread holds would stay locked in the child."""
    code = (
        "import threading; from evalkit.forks import can_fork; before = can_fork(); "
        "stop = threading.Event(); threading.Thread(target=stop.wait).start(); print(before, can_fork()); stop.set()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
