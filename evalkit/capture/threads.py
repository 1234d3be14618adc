"""The current session and parent step, carried into threads.

A new thread starts with an empty context, so a tool that an agent calls from a thread would be outside of its run. Only
the two variables of the seam are carried: copying the whole context would change how the agent's own code behaves.
asyncio needs nothing: its tasks copy the context themselves, and `run_in_executor` goes through `submit`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from evalkit.capture.patching import Patches
from evalkit.capture.seam import NOWHERE, Position, current_position

__all__ = ["carry_context"]


@contextmanager
def carry_context() -> Iterator[None]:
    """While active, threads started and work submitted inside of a session belong to it, and to the step around."""
    with _PATCHES.active():
        yield


def _place(patches: Patches) -> None:
    patches.replace_method(threading.Thread, "start", _carrying_start)
    patches.replace_method(ThreadPoolExecutor, "submit", _carrying_submit)


_PATCHES = Patches(_place)


def _carrying_start(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(original)
    def start(self: threading.Thread) -> None:
        position = current_position()
        if position.session is None:
            return original(self)
        if position.session.begun is not None and not self.daemon and not _is_of_a_pool(self):
            position.session.begun.append(self)
        shadowed: Any = self
        run = self.run

        def carried() -> None:
            del shadowed.run  # so that the thread and its method don't keep each other alive
            with position.taken():
                run()

        shadowed.run = carried
        try:
            return original(self)
        except BaseException:
            vars(self).pop("run", None)
            raise

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
        if position.session.begun is not None:
            position.session.begun.append(future)
        return future

    return submit


def _is_of_a_pool(thread: threading.Thread) -> bool:
    """Whether a pool of Python's own keeps it, which ends it when the interpreter ends."""
    return type(thread).__module__.startswith("concurrent.")


def _at(position: Position, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with position.taken():
        return function(*args, **kwargs)
