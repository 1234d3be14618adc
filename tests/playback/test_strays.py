"""What an agent does out of sight is never a pass: in forks, in threads after its answer, in contexts of their own."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import contextlib
import contextvars
import multiprocessing
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalkit.capture.seam import Begun, Call, Session, current_session
from evalkit.capture.tools import tool
from evalkit.capture.unfollowed import Unfollowed
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.afterwards import wait_for_work
from evalkit.playback.collected import Collected
from evalkit.playback.deadline import Deadline
from evalkit.playback.model import Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from tests.build import a_case, a_trace, tool_step

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="forks")
REPOSITORY = Path(__file__).parents[2]
ORDER = 7
STARTED = "tool refund was called in a process that the agent started, where no replay can follow"


@tool(effect="write")
def refund(order: int) -> Any:
    """Answered by the case."""
    raise AssertionError("a tool body ran in a frozen replay")


def the_case() -> Case:
    """A case in which a second refund must not be."""
    return a_case(
        a_trace(tool_step(0, "refund", {"order": ORDER}, {"ok": True}, effect="write")),
        checks=[Check("called", {"name": "refund", "max": 1})],
    )


def replayed(again: Callable[[], object], *, timeout_s: float = 60.0) -> Replay:
    """A replay of an agent that refunds, and then does something else."""

    def agent() -> str:
        refund(ORDER)
        again()
        return "done"

    return prepare(the_case(), timeout_s=timeout_s).replay(PythonTarget(agent))


def in_a_process() -> None:
    """Refunds in one of its own."""
    process = multiprocessing.get_context("fork").Process(target=refund, args=(ORDER,))
    process.start()
    process.join()


def in_a_pool_of_processes() -> None:
    """Refunds in a pool's, which would wait for one that was halted for ever."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(refund, [ORDER + 1])


def in_an_executors_process() -> None:
    """Refunds in one of an executor."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(refund, ORDER).result()


def in_a_fork() -> None:
    """Refunds in a bare fork, and hides that it can't."""
    child = os.fork()
    if child == 0:
        try:
            refund(ORDER)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def in_a_process_that_is_left() -> None:
    """Python waits for it at the end of a script."""
    multiprocessing.get_context("fork").Process(target=refund_late).start()


def in_an_executor_that_is_left() -> None:
    """And for this."""
    concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")).submit(refund_late)


def on_the_network() -> None:
    """Reaches out in a process of its own."""

    def reach() -> None:
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=1)
        except BaseException:
            os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=reach)
    process.start()
    process.join()


@LINUX
@pytest.mark.parametrize(
    "again",
    [
        in_a_process, in_a_pool_of_processes, in_an_executors_process, in_a_fork, on_the_network,
        in_a_process_that_is_left, in_an_executor_that_is_left,
    ],
)  # fmt: skip
def test_what_a_fork_would_do_is_a_miss(again: Callable[[], None]) -> None:
    """Its calls stand in no trace: neither a pass nor the agent's failure; and it says why."""
    done = replayed(again)
    assert done.status == "missed"
    assert "in a process that the agent forked" in done.reason


@LINUX
def test_a_pool_that_outlives_its_case_tells_the_next_one() -> None:
    """An executor of the agent's module begins its processes in the first replay, and serves all."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        for _ in range(2):
            assert replayed(lambda: pool.submit(refund, ORDER).exception()).status == "missed"


@LINUX
def test_a_fork_that_calls_nothing_costs_nothing() -> None:
    """An agent may compute in processes of its own."""

    def compute() -> None:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.map(abs, [-1]) == [1]

    assert replayed(compute).status == "passed"


def in_a_bare_thread() -> None:
    """As C code's threads are: nobody saw it start."""
    done = threading.Event()

    def again() -> None:
        refund(ORDER)
        done.set()

    _thread.start_new_thread(again, ())
    done.wait(30)


def in_an_empty_context() -> None:
    """As some frameworks run what they are given."""
    contextvars.Context().run(refund, ORDER)


def refund_late() -> None:
    """Once the agent has answered."""
    time.sleep(0.1)
    refund(ORDER)


def in_a_thread_that_goes_on() -> None:
    """Python waits for it at the end of a script."""
    threading.Thread(target=refund_late).start()


def by_a_timer() -> None:
    """So it does for this."""
    threading.Timer(0.1, refund, (ORDER,)).start()


def by_a_pool_that_is_left() -> None:
    """And for this."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.submit(refund_late)
    pool.shutdown(wait=False)


@pytest.mark.parametrize(
    "again",
    [in_a_bare_thread, in_an_empty_context, in_a_thread_that_goes_on, by_a_timer, by_a_pool_that_is_left],
)
def test_a_call_is_seen_wherever_the_agent_makes_it(again: Callable[[], None]) -> None:
    """No body runs, and the second refund is the agent's failure."""
    done = replayed(again)
    assert done.status == "failed"
    assert [step.name for step in done.trace.steps] == ["refund", "refund"]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Is opened at the end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("pool", [False, True], ids=["a thread", "a pool"])
def test_work_that_does_not_end_is_a_replay_that_does_not(gate: threading.Event, *, pool: bool) -> None:
    """As it would keep a script from ending; it is told what went on, and after which answer."""

    def again() -> None:
        if pool:
            concurrent.futures.ThreadPoolExecutor(1).submit(gate.wait)
        else:
            threading.Thread(target=gate.wait, name="consumer").start()

    done = replayed(again, timeout_s=0.3)
    assert done.status == "failed"
    assert "stopped after 0.3 s: the agent had come to its end, and" in done.reason
    assert ("work that it gave to a pool" if pool else "its thread consumer") in done.reason


def test_an_exception_is_told_though_a_thread_goes_on(gate: threading.Event) -> None:
    """It came first."""

    def again() -> None:
        threading.Thread(target=gate.wait).start()
        raise RuntimeError("broken")

    assert "RuntimeError: broken" in replayed(again, timeout_s=0.3).reason


def test_a_call_after_the_answer_spoils_the_next_replay(gate: threading.Event) -> None:
    """No sample shows it; a daemon, which Python ends with a script, is not waited for."""
    began: list[threading.Thread] = []

    def again() -> None:
        gate.wait(30)
        with contextlib.suppress(Unfollowed):  # pytest would tell of it
            refund(ORDER)

    def agent() -> str:
        refund(ORDER)
        if began:
            gate.set()
            began[0].join(30)
        else:
            began.append(threading.Thread(target=again, daemon=True))
            began[0].start()
        return "done"

    target = PythonTarget(agent)
    with prepare(the_case()).entered(target) as day:
        first, second, third = (day.replay(target, sample) for sample in range(3))
    assert (first.status, third.status) == ("passed", "passed")
    assert second.status == "missed"
    assert "tool refund was called after the agent's answer" in second.reason


def test_what_calls_late_is_none_of_the_next_replays_where_the_first_was_no_pass(gate: threading.Event) -> None:
    """The next one passes."""
    began: list[threading.Thread] = []

    def again() -> None:
        gate.wait(30)
        with contextlib.suppress(Unfollowed):
            refund(ORDER)

    def agent() -> str:
        if not began:
            began.append(threading.Thread(target=again, daemon=True))
            began[0].start()
            raise RuntimeError("broken")
        gate.set()
        began[0].join(30)
        refund(ORDER)
        return "done"

    target = PythonTarget(agent)
    with prepare(the_case()).entered(target) as day:
        assert [day.replay(target, sample).status for sample in range(2)] == ["failed", "passed"]


def test_a_late_call_ends_neither_a_loop_nor_a_pool_that_later_replays_use() -> None:
    """They would wait for it until their time is over."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    late: list[concurrent.futures.Future[None]] = []

    async def again() -> None:
        await asyncio.sleep(0.05)
        refund(ORDER)

    async def once() -> None:
        refund(ORDER)

    def agent() -> str:
        asyncio.run_coroutine_threadsafe(once(), loop).result()
        if late:
            concurrent.futures.wait(late)
        else:
            late.append(asyncio.run_coroutine_threadsafe(again(), loop))
        return "done"

    target = PythonTarget(agent)
    with prepare(the_case(), timeout_s=5).entered(target) as day:
        assert [day.replay(target, sample).status for sample in range(3)] == ["passed", "missed", "passed"]
    loop.call_soon_threadsafe(loop.stop)
    thread.join(30)
    loop.close()


class Eager(threading.Thread):
    """One whose `join` takes no time limit, and raises."""

    def join(self) -> None:  # type: ignore[override]
        super().join()
        raise RuntimeError("the agent knows")


def an_own_kind_of_thread() -> None:
    """Whose `join` is the agent's affair."""
    with contextlib.suppress(RuntimeError):
        thread = Eager(target=int)
        thread.start()
        thread.join()


def a_thread_that_can_not_start() -> None:
    """As where there are too many; the agent makes do without."""
    thread = threading.Thread(target=int)
    start = "_start_joinable_thread" if sys.version_info >= (3, 13) else "_start_new_thread"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, start, None)
        with contextlib.suppress(TypeError):
            thread.start()


def a_process_that_is_closed() -> None:
    """Nobody can wait for it."""
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()
    process.close()


def a_thread_of_a_pool_that_is_kept() -> None:
    """As loky's, which waits for more work until the interpreter ends."""
    _KEPT.clear()
    _LokysThread(target=_KEPT.wait).start()


_KEPT = threading.Event()
_LokysThread = type("_LokysThread", (threading.Thread,), {"__module__": "joblib.externals.loky.process_executor"})
KINDS = [
    an_own_kind_of_thread,
    a_thread_that_can_not_start,
    a_process_that_is_closed,
    a_thread_of_a_pool_that_is_kept,
]


@LINUX
@pytest.mark.parametrize("kind", KINDS)
def test_waiting_for_work_is_no_fault_of_the_agents(kind: Callable[[], None], request: pytest.FixtureRequest) -> None:
    """Of whatever kind it is."""
    request.addfinalizer(_KEPT.set)
    done = replayed(kind)
    assert (done.status, done.reason) == ("passed", "")


def test_waiting_for_the_live_model_is_not_the_work_that_goes_on_too_long() -> None:
    """A thread that the agent left, too, may wait for longer than the time limit."""
    deadline = Deadline(0.2)
    session = Session(Nothing(), Collected(), time.time)
    deadline.start()
    replay = deadline.waits()
    answered = threading.Timer(0.5, deadline.goes_on, (replay,))
    answered.start()

    def goes_on(seconds: float) -> bool:
        answered.join(seconds)
        return answered.is_alive()

    assert session.begun is not None
    session.begun.append(Begun("its thread", goes_on))
    wait_for_work(session, deadline)
    assert not answered.is_alive()


@LINUX
def test_a_process_that_a_modules_loading_forks_does_nothing_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began before any replay, and would never know of one."""
    (tmp_path / "pooled_agent.py").write_text(POOLED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    done = prepare(the_case()).replay(PythonTarget("pooled_agent:agent"))
    sys.modules.pop("pooled_agent").POOL.terminate()
    assert done.status == "missed"
    assert done.reason == STARTED


POOLED = """
import multiprocessing
from evalkit.capture.tools import tool

@tool(effect="write")
def refund(order):
    return {"ok": "for real"}

POOL = multiprocessing.get_context("fork").Pool(1)

def agent():
    return POOL.apply(refund, (7,))
"""


SPAWNED = """
import contextlib, multiprocessing, os, pathlib, subprocess, sys
from concurrent.futures import ProcessPoolExecutor
from evalkit import record, tool

@tool(effect="write")
def refund(order):
    with open("done for real", "a") as file:
        file.write(str(order))

def in_a_process(order):
    process = multiprocessing.get_context("spawn").Process(target=refund, args=(order,))
    process.start()
    process.join()

def in_a_pool(order):
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(refund, order).exception()

def in_a_program(order):
    subprocess.run([sys.executable, "-c", f"import spawning; spawning.refund({order})"], stderr=subprocess.DEVNULL)

def asks_in_a_program(order):
    code = "import spawning, httpx; httpx.post('http://127.0.0.1:9/v1/chat/completions', json={'messages': []})"
    subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL)

def in_a_program_that_records(order):
    code = f"import spawning; spawning.recorded({order})"
    subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL)

def computes(order):
    code = "import spawning; from evalkit import state; state('seen', 1); print(6 * 7)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"42\\n"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(abs, [-1]) == [1]

def recorded(order):
    with record("own.trace") as run:
        run.user("please")
        refund(order)
    return run.steps

def agent(order):
    refund(order)
    with contextlib.suppress(Exception):
        return globals()[pathlib.Path("how").read_text()](order)
    return "swallowed"
"""


@pytest.fixture
def spawning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Replay]]:
    """Replays an agent that refunds, and then does something else."""
    (tmp_path / "spawning.py").write_text(SPAWNED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(REPOSITORY)]))

    def replayed(how: str) -> Replay:
        Path("how").write_text(how)
        return prepare(the_case()).replay(PythonTarget("spawning:agent"))

    yield replayed
    sys.modules.pop("spawning", None)


@pytest.mark.parametrize("how", ["in_a_process", "in_a_pool", "in_a_program", "in_a_program_that_records"])
def test_what_a_process_that_an_agent_starts_would_do_is_a_miss(spawning: Callable[[str], Replay], how: str) -> None:
    """It began anew, with nothing of the replay but its environment: and refunded for real, in a pass."""
    done = spawning(how)
    assert not Path("done for real").exists()
    assert (done.status, done.reason) == ("missed", STARTED)
    assert spawning("str").status == "passed"  # the next one is not concerned


def test_a_model_is_not_asked_in_a_process_that_an_agent_starts(spawning: Callable[[str], Replay]) -> None:
    """Nobody would count what it costs."""
    done = spawning("asks_in_a_program")
    assert (done.status, done.reason) == ("missed", STARTED.replace("tool refund", "model chat"))


def test_a_process_that_an_agent_starts_may_compute(spawning: Callable[[str], Replay]) -> None:
    """What calls no tool costs nothing."""
    done = spawning("computes")
    assert (done.status, done.reason) == ("passed", "")


def test_an_agent_that_records_itself_is_answered_by_the_case(spawning: Callable[[str], Replay]) -> None:
    """Its recording took the calls from the replay, and did them for real."""
    done = spawning("recorded")
    assert not Path("done for real").exists()
    assert not Path("own.trace").exists()
    assert done.status == "failed"  # the second refund
    assert [step.kind for step in done.trace.steps] == ["tool", "other", "tool"]


class Nothing:
    """Answers nothing."""

    def answer(self, call: Call) -> None:
        """Lets the real thing be done."""


def test_outside_of_a_replay_an_empty_context_belongs_to_nobody() -> None:
    """Afterwards, too."""
    replayed(lambda: None)
    assert contextvars.Context().run(current_session) is None
