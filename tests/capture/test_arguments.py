"""A call's arguments by parameter name: a call that the function refuses is none that it took."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit.capture.recording import as_is, record
from evalkit.capture.tools import tool
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from tests.build import a_case
from tests.capture.test_writer import read


@tool(effect="write")
def refund(order: str, *, amount: float = 5.0) -> str:
    """One of whose arguments must be named."""
    return f"{amount} for {order}"


@tool(effect="write")
def move(order: str, /, **more: str) -> str:
    """One whose further arguments may be called as its own."""
    return f"{order} {more}"


class Desk:
    """Whose tool has a receiver."""

    @tool(effect="write")
    def close(self, order: str) -> str:
        """One argument."""
        return order


asked: Any = refund
closed: Any = Desk().close
OTHER_CALLS: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: asked("A-7", amount=5.0), lambda: asked("A-7", 5.0)),
    (lambda: asked("A-7", amount=5.0), lambda: asked("A-7", order="A-7", amount=5.0)),
    (lambda: closed("A-7"), lambda: closed("A-7", "A-8")),
    (lambda: closed("A-7"), lambda: closed("A-8", order="A-7")),
    (lambda: move("A-7", order="B"), lambda: move("A-8", order="B")),
]


@pytest.mark.parametrize(("recorded", "made"), OTHER_CALLS)
def test_a_call_that_the_tool_would_refuse_is_not_the_recorded_one(
    recorded: Callable[[], Any], made: Callable[[], Any], tmp_path: Path
) -> None:
    """Its real body raises `TypeError`, so that a recorded answer would make a failing agent pass."""
    with record(tmp_path / "a.trace", sanitizer=as_is):
        recorded()
    prepared = prepare(a_case(read(tmp_path / "a.trace"), checks=[]))
    assert prepared.replay(PythonTarget(recorded)).status == "passed"
    assert prepared.replay(PythonTarget(made)).status == "missed"


def test_what_a_tool_refuses_is_answered_by_its_refusal(tmp_path: Path) -> None:
    """And the right call, which an agent makes after it, by its result."""

    def run() -> str:
        try:
            return str(asked("A-7", 5.0))
        except TypeError:
            return str(asked("A-7"))

    with record(tmp_path / "a.trace", sanitizer=as_is):
        said = run()
    done = prepare(a_case(read(tmp_path / "a.trace"), checks=[])).replay(PythonTarget(run))
    assert (done.status, done.trace.output) == ("passed", said)
