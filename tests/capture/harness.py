"""A session in memory, and an answerer that gives recorded steps back in their order."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from evalkit.capture.http import http_capture
from evalkit.capture.seam import Answer, Answerer, Call, Session
from evalkit.capture.threads import carry_context
from evalkit.trace.model import Step


@dataclass
class Collector:
    """Keeps the steps of a session."""

    found: dict[int, Step] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)

    def started(self, step: Step) -> None:
        """A step began."""
        self.found[step.seq] = step
        self.open.add(step.seq)

    def ended(self, step: Step) -> None:
        """A step ended."""
        self.found[step.seq] = step
        self.open.discard(step.seq)  # a substituted call was not announced

    @property
    def steps(self) -> list[Step]:
        """All steps, in order; none may be open."""
        assert not self.open
        return [self.found[seq] for seq in sorted(self.found)]

    @property
    def only(self) -> Step:
        """The only step."""
        (step,) = self.steps
        return step


class InOrder:
    """Answers calls by the outcomes of recorded steps, one after the other."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self.asked: list[Call] = []

    def answer(self, call: Call) -> Answer:
        """The next step's outcome."""
        self.asked.append(call)
        step = self._steps.pop(0)
        return Answer(step.output, step.error, step.usage, step.model, True, step.ended_at, step.attributes)


@contextmanager
def session(answerer: Answerer | None = None) -> Iterator[Collector]:
    """A session that captures model calls and carries its context into threads."""
    collector = Collector()
    with Session(answerer, collector, lambda: 1_000.0).active(), http_capture(), carry_context():
        yield collector


@contextmanager
def replaying(*steps: Step) -> Iterator[Collector]:
    """A session that answers from `steps`; whoever opens a connection fails."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a connection was opened")

    with (
        mock.patch.object(socket.socket, "connect", refuse),
        mock.patch.object(socket, "create_connection", refuse),
        mock.patch.object(socket, "getaddrinfo", refuse),
        session(InOrder(steps)) as collector,
    ):
        yield collector
