"""How the items of a run are done: here, over processes, or (by entry point) elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evalkit.registry import Registry
from evalkit.suite.plan import Item

__all__ = ["EXECUTORS", "Executor", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """What an executor is given.

    Attributes:
        suite: the suite as JSON, for the workers.
        workers: how many may work at once.
        scratch: a folder for the executor's own files; removed after the run.
        done: is told of each finished item and its journal line, in the controller, one at a time.
        died: is told of each item whose worker died while doing it.
        over: whether the budget is spent: items not begun are better left; a worker gives no samples for them.
    """

    suite: Mapping[str, Any]
    items: Sequence[Item]
    workers: int
    scratch: Path
    done: Callable[[Item, bytes], None]
    died: Callable[[Item], None]
    over: Callable[[], bool] = lambda: False


class Executor(Protocol):
    """Does the items of a run."""

    def __call__(self, task: Task) -> None:
        """Does every item; returns when each was reported as done or died.

        Raises:
            EvalkitError: what a worker raised on purpose (a missing target, a changed case).
            KeyboardInterrupt: the user stopped it.
        """
        ...


EXECUTORS: Registry[Executor] = Registry(
    "executor",
    "evalkit.executors",
    {
        "serial": "evalkit.suite.executors.serial:run_serial",
        "fork": "evalkit.suite.executors.forked:run_forked",
        "sandbox": "evalkit.suite.executors.sandboxed:run_in_sandboxes",
        "xdist": "evalkit.suite.executors.xdist:run_xdist",
    },
)
