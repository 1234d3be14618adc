"""Items over processes, by pytest-xdist: a work item is a test item, its journal line travels in the test's report.

The controller runs pytest in this process on a plan file; each worker collects the same plan, does what it is sent, and
survives or is replaced as xdist does it. Pytest's own output, plug-ins and configuration stay out of the way.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from evalkit.errors import EvalkitError
from evalkit.playback.overdue import LOOK_S, Mark, Patience, shared_mark
from evalkit.suite.executors.protocol import Job, Round, Rounds
from evalkit.suite.executors.raised import error_from
from evalkit.suite.executors.xdist_worker import BATCH, MARK_SUFFIX, PLAN_NAME, RAISED, item_name

__all__ = ["over_xdist"]

_QUIET = [
    "--quiet", "--capture=no", "-p", "no:cacheprovider", "-p", "no:junitxml", "-p", "no:doctest", "-p", "no:logging",
    "-p", "no:warnings", "-p", "no:faulthandler", "-p", "no:unraisableexception", "-p", "no:threadexception",
]  # fmt: skip


@contextlib.contextmanager
def over_xdist(job: Job) -> Iterator[Rounds]:
    """Does the items on `job.workers` processes, which each round starts anew."""
    yield lambda work: _do(work, job)


def _do(work: Round, job: Job) -> None:
    plan = job.scratch / PLAN_NAME
    plan.write_bytes(orjson.dumps({"suite": dict(job.suite), "items": work.items}, list))
    (job.scratch / "pytest.ini").write_text("[pytest]\n", "utf-8")
    watch = _Watch(job.scratch)
    controller = _Controller(work, watch)
    workers = str(min(job.workers, len(work.items)))  # a round of few items needs no more, and each takes long to start
    arguments = [
        *_QUIET, "-p", "xdist.plugin", "-n", workers, "--dist", "load", "--maxprocesses", workers,
        "--max-worker-restart", str(len(work.items)), "-p", "evalkit.suite.executors.xdist_worker",
        "-c", str(job.scratch / "pytest.ini"), "--rootdir", str(job.scratch),
        "--basetemp", str(job.scratch / "temporary"), str(plan),
    ]  # fmt: skip
    output = io.StringIO()
    with watch, _no_plugin_autoload(), contextlib.redirect_stdout(output):
        code = pytest.main(arguments, plugins=[controller])
    if controller.raised is not None:
        raise controller.raised
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise EvalkitError(f"pytest-xdist ended with exit code {int(code)}", cure=output.getvalue()[-2000:])


class _Controller:
    """Receives the reports of the workers."""

    def __init__(self, work: Round, watch: _Watch) -> None:
        self._work = work
        self._watch = watch
        self._items = {item_name(item.number): item for item in work.items}
        self.raised: EvalkitError | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        item = self._items[report.nodeid.rpartition("::")[2]]
        found = dict(report.user_properties)
        if BATCH in found:
            if report.when == "call":
                self._work.done([str(found[BATCH]).encode("utf-8", "surrogatepass")])
        elif RAISED in found and self.raised is None:
            self.raised = error_from(str(found[RAISED]))
            pytest.exit("a worker met an error", returncode=pytest.ExitCode.TESTS_FAILED)
        elif report.failed and report.when != "teardown":
            if item.number in self._watch.late:
                self._work.late(item, self._watch.late[item.number])
            else:
                self._work.died(item, "")


class _Watch:
    """Ends workers whose replay goes on though its time is over, and buries the dead, for as long as it is entered.

    Attributes:
        late: by the number of the item which of its samples did not end.
    """

    def __init__(self, folder: Path) -> None:
        self.late: dict[int, int] = {}
        self._folder = folder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        for path in self._folder.glob(f"*{MARK_SUFFIX}"):  # of a round before, whose workers are gone
            path.unlink()
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        waiting: dict[Path, Patience] = {}
        while not self._over.wait(LOOK_S):
            for path in self._folder.glob(f"*{MARK_SUFFIX}"):
                if path not in waiting:
                    waiting[path] = Patience(shared_mark(path))
                mark = waiting[path].mark
                if _has_ended(mark.process):
                    del waiting[path]
                    path.unlink()
                elif mark.process > 0 and waiting[path].is_over():  # of no process 0 would mean our own group
                    self._end(mark)

    def _end(self, mark: Mark) -> None:
        self.late[mark.work] = mark.place
        with contextlib.suppress(ProcessLookupError):
            os.kill(mark.process, getattr(signal, "SIGKILL", signal.SIGTERM))


def _has_ended(worker: int) -> bool:
    """Whether a worker is gone. Until somebody asks the system still has it, with its places at a model."""
    if worker <= 0 or not hasattr(os, "WNOHANG"):
        return False
    try:
        return os.waitpid(worker, os.WNOHANG)[0] == worker
    except ChildProcessError:
        return True


@contextlib.contextmanager
def _no_plugin_autoload() -> Iterator[None]:
    """Keeps the environment's other pytest plug-ins out of the workers: only what evalkit asks for is loaded."""
    before = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"), os.environ.get("PYTEST_ADDOPTS")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        yield
    finally:
        for name, value in zip(("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_ADDOPTS"), before, strict=True):
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
