"""Sessions and parents carried into threads, executors and tasks."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

from evalkit.capture.seam import current_session
from evalkit.capture.tools import tool
from tests.capture.harness import Collector, session


@tool(effect="read")
def leaf(number: int) -> int:
    """A tool that calls nothing."""
    return number * 2


def in_thread(number: int) -> None:
    """Calls the leaf from a thread of its own."""
    thread = threading.Thread(target=leaf, args=(number,))
    thread.start()
    thread.join()


@tool(effect="read")
def nested_by_thread(number: int) -> int:
    """A tool that calls the leaf from a thread."""
    in_thread(number)
    return number


@tool(effect="read")
async def nested_by_tasks(number: int) -> list[int]:
    """A tool that calls the leaf from tasks, from an executor and from `to_thread`."""

    async def task(at: int) -> int:
        await asyncio.sleep(0)
        return leaf(at)

    loop = asyncio.get_running_loop()
    gathered = await asyncio.gather(task(number), task(number + 1))
    return [*gathered, await loop.run_in_executor(None, leaf, number), await asyncio.to_thread(leaf, number)]


def parents(run: Collector) -> dict[str, set[int | None]]:
    """Which parents the steps of a name have."""
    found: dict[str, set[int | None]] = {}
    for step in run.steps:
        found.setdefault(step.name, set()).add(step.parent)
    return found


def test_a_thread_belongs_to_the_step_that_started_it() -> None:
    """A tool called from a tool's thread is that tool's child."""
    with session() as run:
        nested_by_thread(1)
        in_thread(2)
    assert [(step.name, step.parent) for step in run.steps] == [
        ("nested_by_thread", None),
        ("leaf", 0),
        ("leaf", None),
    ]


def test_work_given_to_an_executor_belongs_to_who_gave_it() -> None:
    """The submitter decides, not the thread that happens to run the work."""
    with session() as run, ThreadPoolExecutor(2) as pool:
        list(pool.map(nested_by_thread, range(4)))
    owners = {step.seq for step in run.steps if step.name == "nested_by_thread"}
    assert parents(run) == {"nested_by_thread": {None}, "leaf": owners}
    assert len(owners) == 4


def test_tasks_and_executors_of_asyncio_keep_the_parent() -> None:
    """Concurrent tools each own what they started."""

    async def agent() -> None:
        await asyncio.gather(nested_by_tasks(1), nested_by_tasks(5))

    with session() as run:
        asyncio.run(agent())
    owners = [step for step in run.steps if step.name == "nested_by_tasks"]
    assert [step.parent for step in owners] == [None, None]
    for owner in owners:
        children = [step.output for step in run.steps if step.parent == owner.seq]
        assert sorted(children, key=str) == sorted(owner.output, key=str)  # type: ignore[arg-type]  # a list of numbers


def test_an_executor_outlives_the_session_without_belonging_to_it() -> None:
    """A pool first used inside of a session runs later work outside of it."""
    with ThreadPoolExecutor(1) as pool:
        with session() as run:
            assert pool.submit(current_session).result() is not None
            pool.submit(leaf, 1).result()
        assert pool.submit(current_session).result() is None
        pool.submit(leaf, 2).result()
    assert len(run.steps) == 1


def test_two_sessions_at_once_stay_apart() -> None:
    """Threads of two sessions record into their own."""
    runs: list[Collector] = []
    barrier = threading.Barrier(2, timeout=10)

    def agent(number: int) -> None:
        with session() as run:
            runs.append(run)
            barrier.wait()
            in_thread(number)

    threads = [threading.Thread(target=agent, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(step.input["number"] for run in runs for step in run.steps) == [1, 2]  # type: ignore[index,call-overload,type-var]  # JSON
    assert [len(run.steps) for run in runs] == [1, 1]


def test_threading_is_as_it_was_afterwards() -> None:
    """Nothing stays replaced, and a thread's own attributes are clean."""
    before = (threading.Thread.start, ThreadPoolExecutor.submit)
    with session():
        assert threading.Thread.start is not before[0]
        thread = threading.Thread(target=leaf, args=(1,))
        thread.start()
        thread.join()
        assert "run" not in vars(thread)
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == before


def test_only_our_context_is_carried() -> None:
    """The agent's own context variables keep their meaning: a new thread starts without them."""
    own: contextvars.ContextVar[str] = contextvars.ContextVar("own", default="empty")
    seen: list[str] = []
    with session():
        own.set("set")
        thread = threading.Thread(target=lambda: seen.append(own.get()))
        thread.start()
        thread.join()
    assert seen == ["empty"]
