"""The current session and parent step, carried into threads; a replay's session is told what was begun in it.

A new thread starts with an empty context, so a tool that an agent calls from a thread would be outside of its run. Only
the two variables of the seam are carried: copying the whole context would change how the agent's own code behaves.
asyncio needs nothing: its tasks copy the context themselves, and `run_in_executor` goes through `submit`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from evalkit.capture.patching import Patches
from evalkit.capture.seam import NOWHERE, Position, Session, current_position, current_session

__all__ = ["carry_context"]


@contextmanager
def carry_context() -> Iterator[None]:
    """While active, threads started and work submitted inside of a session belong to it, and to the step around."""
    with _PATCHES.active():
        yield


def _place(patches: Patches) -> None:
    patches.replace_method(threading.Thread, "start", _carrying_start)
    patches.replace_method(ThreadPoolExecutor, "submit", _carrying_submit)

    def patch_pool(module: Any) -> None:
        patches.replace_method(module.ProcessPoolExecutor, "submit", _telling_submit)

    def patch_process(module: Any) -> None:
        patches.replace_method(module.BaseProcess, "start", functools.partial(_telling_start, module.BaseProcess.join))

    patches.when_loaded("concurrent.futures.process", "ProcessPoolExecutor", patch_pool)
    patches.when_loaded("multiprocessing.process", "BaseProcess", patch_process)


_PATCHES = Patches(_place)


def _carrying_start(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(original)
    def start(self: threading.Thread) -> None:
        position = current_position()
        if position.session is None:
            return original(self)
        shadowed: Any = self
        run = self.run

        def carried() -> None:
            del shadowed.run  # so that the thread and its method don't keep each other alive
            with position.taken():
                run()

        shadowed.run = carried
        try:
            original(self)
        except BaseException:
            vars(self).pop("run", None)
            raise
        if not self.daemon and not _is_of_a_pool(type(self)):
            position.session.began(f"its thread {self.name}", functools.partial(_runs, self))

    return start


def _carrying_submit(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def submit(self: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        position = current_position()
        if position.session is None:
            return original(self, function, *args, **kwargs)
        work = functools.partial(_at, position, function)
        with NOWHERE.taken():  # the pool's own threads outlive the session and must not belong to it
            future = original(self, work, *args, **kwargs)
        _tell_of_work(future, position.session)
        return future

    return submit


def _telling_submit(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def submit(*args: Any, **kwargs: Any) -> Any:
        future = original(*args, **kwargs)
        _tell_of_work(future, current_session())
        return future

    return submit


def _telling_start(join: Callable[[Any, float], None], original: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(original)
    def start(self: Any) -> None:
        waited_for = not self.daemon and not _is_of_a_pool(getattr(self, "_target", None))
        original(self)
        session, parent = current_session(), current_position().parent
        if session is not None and parent is None:  # one of a tool's body is no replay's affair
            session.processes += 1
        if session is not None and waited_for:
            session.began(f"its process {self.name}", functools.partial(_lives, self, join))

    return start


def _is_of_a_pool(code: Any) -> bool:
    """Whether a pool or server runs it, which ends it when the interpreter ends: of Python's own, or joblib's loky."""
    return str(getattr(code, "__module__", "")).startswith(("concurrent.", "multiprocessing.", "joblib.", "loky."))


def _tell_of_work(future: Future[Any], session: Session | None) -> None:
    if session is not None:
        session.began("work that it gave to a pool", functools.partial(_is_pending, future))


def _runs(thread: threading.Thread, seconds: float) -> bool:
    threading.Thread.join(thread, seconds)  # an agent's own may do otherwise: raise what the thread raised, say
    return thread.is_alive()


def _lives(process: Any, join: Callable[[Any, float], None], seconds: float) -> bool:
    try:
        join(process, seconds)
        return bool(process.is_alive())
    except ValueError:  # it was closed
        return False


def _is_pending(future: Future[Any], seconds: float) -> bool:
    try:
        future.exception(seconds)
    except CancelledError:
        return False
    except TimeoutError:
        return True
    return False


def _at(position: Position, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with position.taken():
        return function(*args, **kwargs)
