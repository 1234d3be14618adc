"""One item after the other, in this process: nothing to start, for small runs and debuggers."""

from __future__ import annotations

from evalkit.suite.executors.protocol import Task
from evalkit.suite.work import Worker

__all__ = ["run_serial"]


def run_serial(task: Task) -> None:
    """Does the items here; an agent that kills its process kills this one, and `--resume` continues."""
    worker = Worker(task.suite)
    for item in task.items:
        if task.over():
            return
        task.done(item, worker.do(item))
