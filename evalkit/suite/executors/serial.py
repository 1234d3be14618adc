"""One item after the other, in this process: nothing to start, for small runs and debuggers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evalkit.suite.executors.protocol import Job, Round, Rounds
from evalkit.suite.work import Worker

__all__ = ["serial"]


@contextmanager
def serial(job: Job) -> Iterator[Rounds]:
    """Does the items here; an agent that kills its process kills this one, and `--resume` continues."""
    worker = Worker(job.suite)

    def do(work: Round) -> None:
        for item in work.items:
            if job.over():
                return
            work.done([worker.do(item, between=lambda line: work.done([line]))])

    yield do
