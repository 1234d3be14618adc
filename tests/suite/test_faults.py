"""What goes wrong around a run: nothing that was done is lost, and nothing is done twice."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from evalkit.suite import work
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.disk import DiskFault
from evalkit.suite.journal import JOURNAL_NAME
from evalkit.suite.manifest import MANIFEST_NAME
from evalkit.suite.model import Suite
from evalkit.suite.results import ATTEMPTS_NAME, SAMPLES_NAME, read_attempts, read_samples
from evalkit.suite.run import OpenRun
from evalkit.suite.select import list_cases
from tests.loaded import Loaded
from tests.suite.runs import alive, library, run
from tests.suite.test_run import outcomes, timeless

REPOSITORY = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="forks and /proc are Linux's")


def a_run(root: Path, target: str, samples: int, executor: str) -> tuple[str, ...]:
    """The module and arguments that run all cases under `root`, or continue that."""
    return "tests.suite.runs", str(root), target, str(samples), executor


@LINUX
def test_a_sample_that_infrastructure_spoiled_is_replayed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last attempt counts; those before are kept apart."""
    monkeypatch.chdir(library(tmp_path, [12, 13]))
    samples = run(tmp_path, "dies_twice", samples=2, executor="fork")
    assert outcomes(samples) == {"passed": 4}
    assert [sample.attempt for sample in samples["order-13"]] == [2, 2]
    before = read_attempts(tmp_path / "run")
    assert sorted((one.case_id, one.index, one.outcome, one.attempt) for one in before) == [
        ("order-13", 0, "errored", 1),
        ("order-13", 1, "errored", 1),
    ]
    assert all("SIGKILL" in one.reason for one in before)


@LINUX
def test_retries_come_to_an_end(tmp_path: Path) -> None:
    """What dies each time is errored, and each attempt is kept; without retries there is one."""
    for retries in (0, 2):
        root = library(tmp_path / str(retries), [12, 13])
        samples = run(root, "dies", samples=1, executor="fork", retries=retries)
        assert outcomes(samples) == {"passed": 1, "errored": 1}
        assert (root / "run" / ATTEMPTS_NAME).exists() == (retries > 0)
        assert samples["order-13"][0].attempt == (1 if retries == 0 else 2)  # nothing recovered: not a third time


@pytest.mark.parametrize("target", ["twice", "raises", "stray"])
def test_a_failed_or_missed_sample_is_never_replayed_again(tmp_path: Path, target: str) -> None:
    """Otherwise a flaky agent would get as many chances as it needs."""
    samples = run(library(tmp_path, [1, 2]), target, retries=5)
    assert {sample.attempt for several in samples.values() for sample in several} == {1}
    assert read_attempts(tmp_path / "run") == []


@LINUX
def test_what_a_worker_handed_in_before_it_died_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow replays are safe as they end: here each is handed in at once."""
    monkeypatch.setattr(work, "_HAND_IN_EVERY_S", 0.0)
    monkeypatch.chdir(library(tmp_path, list(range(10, 50))))  # two cases an item
    samples = run(tmp_path, "is_counted", samples=1, executor="fork", retries=0)
    assert outcomes(samples) == {"passed": 39, "errored": 1}
    marks = {path.name: path.stat().st_size for path in tmp_path.glob("replays-*")}
    assert marks.pop("replays-13") == 2  # with its item, and alone
    assert set(marks.values()) == {1}


@LINUX
def test_workers_end_with_their_controller(tmp_path: Path, loaded: Loaded) -> None:
    """A killed controller leaves no worker behind that would go on asking a model."""
    root = library(tmp_path, list(range(8)))
    child = loaded.begin(*a_run(root, "sleeps", 60, "fork"), cwd=REPOSITORY)
    try:
        workers = _children(child.pid)
        while len(workers) < 2:
            assert child.goes_on
            time.sleep(0.02)
            workers = _children(child.pid)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.end()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{worker}/cmdline").exists() and alive(worker) for worker in workers):
        assert time.monotonic() < deadline, "a worker outlived its controller"
        time.sleep(0.05)


def _children(process: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.parametrize("executor", ["serial", "fork"])
@pytest.mark.parametrize("most", [3_000, 12_000])
def test_a_full_disk_loses_nothing(tmp_path: Path, loaded: Loaded, executor: str, most: int) -> None:
    """No file may grow beyond a size, as on a full disk; with room again, the run goes on where it was."""
    orders, samples = list(range(6)), 8
    wanted = run(library(tmp_path / "calm", orders), "once", samples=samples)
    root = library(tmp_path / "full", orders)
    folder = root / "run"
    done = loaded.run(*a_run(root, "once", samples, executor), str(most), cwd=REPOSITORY)
    assert done.returncode != 0
    assert "DiskFault" in done.stderr
    assert "the disk is full; what was done is kept" in done.stderr
    assert f"evalkit run --resume {folder}" in done.stderr
    kept = (folder / JOURNAL_NAME).read_bytes()
    assert kept.endswith(b"\n") or not kept
    assert not (folder / SAMPLES_NAME).exists()
    assert loaded.run(*a_run(root, "once", samples, "serial"), cwd=REPOSITORY).returncode == 0
    assert timeless(read_samples(folder)) == timeless(wanted)


def by_hand(root: Path, target: str, samples: int) -> None:
    """A run of all cases under `root`; goes on with one that is there."""
    (root / "run").mkdir(exist_ok=True)
    (root / "run" / MANIFEST_NAME).write_text("{}", "utf-8")
    cases = list(list_cases(root / "cases"))
    suite = Suite("test", f"tests.suite.agents:{target}", samples)
    with OpenRun(root / "run", suite, cases, executor="serial", workers=1) as opened:
        assert opened.up_to({case.id: samples for case in cases})
        assert opened.finish() == ""


def test_tables_that_can_not_be_written_leave_the_journal(tmp_path: Path) -> None:
    """The samples are in it; the run is finished once the tables can be written."""
    wanted = run(library(tmp_path / "calm", [1, 2]), "once")
    root = library(tmp_path, [1, 2])
    obstacle = root / "run" / f".{SAMPLES_NAME}.writing"
    obstacle.mkdir(parents=True)
    with pytest.raises(DiskFault, match="what was done is kept"):
        by_hand(root, "once", 3)
    assert (root / "run" / JOURNAL_NAME).stat().st_size
    obstacle.rmdir()
    by_hand(root, "raises", 3)  # nothing is left for another agent to do
    assert timeless(read_samples(root / "run")) == timeless(wanted)


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets, timeouts and the order of things go by the clock that nobody sets."""
    jumps = iter(range(10**9))
    wanted = run(library(tmp_path / "calm", [1, 2, 3]), "once", samples=4)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + (-1) ** next(jumps) * 1e6 * next(jumps))
    root = library(tmp_path / "jumping", [1, 2, 3])
    by_hand(root, "once", 4)
    assert timeless(read_samples(root / "run")) == timeless(wanted)


@pytest.mark.parametrize("executor", ["serial", "fork", "xdist"])
def test_a_run_is_asked_in_rounds(tmp_path: Path, executor: str) -> None:
    """What is there is not done again, workers serve several rounds, and the numbers say where it stands."""
    root = library(tmp_path, list(range(5)))
    cases: list[CaseRef] = list(list_cases(root / "cases"))
    (root / "run").mkdir()
    (root / "run" / MANIFEST_NAME).write_text("{}", "utf-8")
    suite = Suite("test", "tests.suite.agents:once", 6)
    with OpenRun(root / "run", suite, cases, executor=executor, workers=2, about=30) as opened:
        progress = opened.progress
        assert opened.up_to({case.id: 2 for case in cases})
        assert (progress.done, progress.total, progress.cases_done) == (10, 10, 5)
        assert opened.up_to({"order-0": 6, "order-1": 4})
        assert (progress.done, progress.total, progress.cases_done) == (16, 16, 5)  # of three nothing more was asked
        assert (progress.about, progress.cases, progress.rate) == (30, 5, 1.0)
        assert opened.finish() == ""
    counts = Counter({case: len(several) for case, several in read_samples(root / "run").items()})
    assert counts == {"order-0": 6, "order-1": 4, "order-2": 2, "order-3": 2, "order-4": 2}


def test_a_case_may_have_a_time_limit_of_its_own(tmp_path: Path) -> None:
    """By id pattern; the first that fits."""
    timeouts = {"order-1": 0.2, "order-*": 0.4}
    samples = run(library(tmp_path, [1, 2]), "sleeps", samples=1, timeouts=timeouts)
    assert "0.2 s" in samples["order-1"][0].reason
    assert "0.4 s" in samples["order-2"][0].reason
    assert outcomes(samples) == {"failed": 2}
