"""How the items of a run are done: here, over processes, or (by entry point) elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from evalkit.registry import Registry
from evalkit.suite.plan import Item

__all__ = ["EXECUTORS", "Executor", "Job", "Round", "Rounds"]


@dataclass(frozen=True, slots=True)
class Job:
    """What stays the same over a run's rounds.

    Attributes:
        suite: the suite as JSON, for the workers.
        workers: how many may work at once.
        scratch: a folder for the executor's own files; removed after the run.
        libraries: folders of cases; an agent that is kept from files sees none of them.
        over: whether the budget is spent: items not begun are better left; a worker gives no samples for them.
        meanwhile: what the controller may do while workers are busy, such as loading what it needs later; cheap when
            it is done already.
    """

    suite: Mapping[str, Any]
    workers: int
    scratch: Path
    libraries: tuple[Path, ...] = ()
    over: Callable[[], bool] = lambda: False
    meanwhile: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Round:
    """Items to do.

    Attributes:
        done: is told of finished samples, as journal lines, in the controller; lines that are there at the same time
            are better told at once, since they are written at once. An item's samples may come in several lines.
        died: is told of each item whose worker died while doing it, and how.
        late: is told of each item whose worker was ended because a replay of it did not end by itself; that sample
            failed. Which of the item's samples, in their order, is said.
    """

    items: Sequence[Item]
    done: Callable[[Sequence[bytes]], None]
    died: Callable[[Item, str], None]
    late: Callable[[Item, int], None]


Rounds: TypeAlias = Callable[[Round], None]
"""Does a round's items; returns when each was reported as done, died or late.

It raises an `EvalkitError` that a worker raised on purpose (a missing target, a changed case), and `KeyboardInterrupt`
where the user stopped it.
"""


class Executor(Protocol):
    """Does the items of a run."""

    def __call__(self, job: Job) -> AbstractContextManager[Rounds]:
        """What does the rounds of a run; workers may live as long as the context is open."""
        ...


EXECUTORS: Registry[Executor] = Registry(
    "executor",
    "evalkit.executors",
    {
        "serial": "evalkit.suite.executors.serial:serial",
        "fork": "evalkit.suite.executors.forked:forked",
        "sandbox": "evalkit.suite.executors.sandboxed:sandboxed",
        "xdist": "evalkit.suite.executors.xdist:over_xdist",
    },
)
