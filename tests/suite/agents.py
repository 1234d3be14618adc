"""Agents for the runner's tests; the case's input says what to do."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import multiprocessing
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from evalkit.capture.tools import tool


@tool(effect="read")
def lookup(order: int) -> Any:
    """Answered by the case."""
    raise AssertionError("a tool body ran in a frozen replay")


@tool(effect="write")
def refund(order: int) -> Any:
    """Answered by the case."""
    raise AssertionError("a tool body ran in a frozen replay")


def once(order: int) -> dict[str, Any]:
    """Healthy: one refund."""
    lookup(order)
    return {"done": refund(order)}


def twice(order: int) -> dict[str, Any]:
    """The incident again."""
    lookup(order)
    refund(order)
    return {"done": refund(order)}


def paid_first(order: int) -> dict[str, Any]:
    """Refunds, and then looks."""
    done = refund(order)
    lookup(order)
    return {"done": done}


def stray(order: int) -> dict[str, Any]:
    """Asks for what the case does not hold."""
    return {"done": lookup(order + 1)}


def raises(order: int) -> None:
    """Breaks."""
    raise RuntimeError(f"order {order}")


def dies(order: int) -> dict[str, Any]:
    """Takes its process along, on order 13."""
    if order == 13:
        os._exit(7)
    return once(order)


def talks(order: int) -> dict[str, Any]:
    """Prints, itself and by a program."""
    print(f"working on {order}")
    subprocess.run(["echo", "and so is a program"], check=True)
    return once(order)


def half_a_sign(order: int) -> str:
    """Answers what no JSON can hold, as a model does that is cut off within an emoji."""
    return "done \ud83d"


def asks_half_a_sign(order: int) -> dict[str, Any]:
    """Healthy, after it asked for something with it."""
    with contextlib.suppress(Exception):
        lookup("\ud83d")  # type: ignore[arg-type]  # as a model may call it
    return once(order)


def raises_half_a_sign(order: int) -> None:
    """Breaks, and says so with it."""
    raise ValueError("order \ud83d")


def leaves(order: int) -> None:
    """Ends its process as if all were well."""
    os._exit(0)


def ends_its_process(order: int) -> dict[str, Any]:
    """Takes its process along on order 13: by an exit on 13, by a crash on 14, and prints before."""
    print(f"at work on order {order}")
    if order == 13:
        os._exit(3)
    if order == 14:
        ctypes.string_at(0)
    return once(order)


def interrupts(order: int) -> None:
    """Ends itself as ctrl-C does."""
    raise KeyboardInterrupt


def _marked(name: str) -> int:
    """Adds a mark to a file in the working folder; how many it has now."""
    with open(name, "ab") as file:
        file.write(b".")
    return os.path.getsize(name)


def dies_twice(order: int) -> dict[str, Any]:
    """Takes its process along on order 13, but for the third time."""
    if order == 13 and _marked("deaths") < 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return once(order)


def is_counted(order: int) -> dict[str, Any]:
    """Leaves a mark for each replay; takes its process along on order 13."""
    _marked(f"replays-{order}")
    return dies(order)


def sleeps(order: int) -> dict[str, Any]:
    """Never ends."""
    time.sleep(60)
    return {}


def swallows_the_end(order: int) -> dict[str, Any]:
    """Never ends by itself, and answers as if nothing had been when it is ended."""
    try:
        time.sleep(60)
    except BaseException:  # the point
        return {"order": 0}
    return {}


def out_of_memory(order: int) -> dict[str, Any]:
    """Wants more memory than there is."""
    raise MemoryError("no room")


def disk_is_full(order: int) -> dict[str, Any]:
    """Wants more room than there is."""
    raise OSError(errno.ENOSPC, "no space left on device")


def slow(order: int) -> dict[str, Any]:
    """Takes a moment, so that a kill finds it at work."""
    time.sleep(0.03)
    return once(order)


def never_alike(order: int) -> dict[str, Any]:
    """Healthy, and says something else in each replay."""
    return {**once(order), "drawn": random.random()}


def unsteady(order: int) -> dict[str, Any]:
    """The incident again in a quarter of the replays; which, follows from the frozen world's randomness."""
    drawn = random.random()
    return {**(once(order) if drawn < 0.75 else twice(order)), "drawn": drawn}


def rarely_twice(order: int) -> dict[str, Any]:
    """The incident again in a twentieth of the replays; the others are equal to the letter."""
    return once(order) if random.random() < 0.95 else twice(order)


def names_things(order: int) -> dict[str, Any]:
    """Draws ids that decide nothing, and that nobody sees."""
    assert {str(uuid.uuid4()), secrets.token_hex(4), tempfile.mktemp()}
    return once(order)


def raises_on_13(order: int) -> dict[str, Any]:
    """Breaks on order 13."""
    if order == 13:
        raise RuntimeError("order 13")
    return once(order)


def will_not_end(order: int) -> dict[str, Any]:
    """Takes whatever should end it for something else, on order 13."""
    while order == 13:
        with contextlib.suppress(BaseException):
            time.sleep(60)
    return once(order)


def waits_for_its_thread(order: int) -> dict[str, Any]:
    """Is ended while it waits for a thread, and then waits for it to tidy up, on order 13."""
    if order == 13:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(time.sleep, 300).result()
    return once(order)


def waits_for_a_program(order: int) -> dict[str, Any]:
    """Is inside of C code all the while, on order 13; and the program goes on when it does not."""
    if order == 13:
        os.system("echo $$ > waiting; exec sleep 300")
    return once(order)


def comes_back_twice(order: int) -> dict[str, Any]:
    """Forks, and goes on in both processes; the child answers otherwise, or ends as a script does."""
    child = os.fork()
    if child == 0:
        if order == 13:
            sys.exit(5)
        if order == 14:
            raise RuntimeError("in the child")
        return {"done": "twice"}
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == {13: 5, 14: 1}.get(order, 0)
    return once(order)


def dies_before_its_child(order: int) -> dict[str, Any]:
    """Takes its process along on order 13, and leaves a child behind that goes on."""
    if order == 13:
        if os.fork() == 0:
            time.sleep(300)
        os._exit(7)
    return once(order)


def leaves_a_program(order: int) -> dict[str, Any]:
    """Starts a program, and does not wait for it."""
    program = subprocess.Popen(["sleep", "300"])
    with open("left", "a", encoding="ascii") as file:
        file.write(f"{program.pid}\n")
    return once(order)


def has_processes(order: int) -> dict[str, Any]:
    """Works in processes of its own."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(abs, [-1]) == [1]
    return once(order)


def starts_another(order: int) -> dict[str, Any]:
    """Refunds in a Python of its own, too, on order 13, and does not look at what came of it."""
    if order == 13:
        code = f"import sys; sys.path[:] = {sys.path!r}; from tests.suite.agents import refund; refund({order})"
        subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    return once(order)


def walks_away(order: int) -> dict[str, Any]:
    """Goes to another folder, and removes it; where it starts, it leaves a mark."""
    _marked("here")
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    return once(order)


def closes_its_streams(order: int) -> dict[str, Any]:
    """Says nothing more."""
    sys.stdout.close()
    sys.stderr = None
    return once(order)


def ends_its_group(order: int) -> dict[str, Any]:
    """Tidies up more than is its own, on order 13."""
    if order == 13:
        os.killpg(0, signal.SIGTERM)
    return once(order)


class Speechless(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise ValueError("no text")


def raises_speechless(order: int) -> None:
    """Breaks, and can't say how."""
    raise Speechless


def streams(order: int) -> Iterator[str]:
    """Answers piece by piece, and refunds when somebody asks for the first."""
    once(order)
    yield "done"


def answers_with_a_stream(order: int) -> Iterator[str]:
    """The same from within."""
    return streams(order)
