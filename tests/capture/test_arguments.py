"""A call's arguments by parameter name: a call that the function refuses is none that it took."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit.capture.dependencies import approval, policy, retrieval
from evalkit.capture.recording import as_is, record
from evalkit.capture.tools import tool
from evalkit.errors import UsageError
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


a_function: Any = len
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


class Nameless:
    """A function that is an object."""

    def __call__(self, order: str) -> str:
        """What it does."""
        return order


@pytest.mark.parametrize("mark", [tool, retrieval, policy, approval])
@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("refund", "must be a function, got str"),
        (staticmethod(a_function), "put the mark below @staticmethod"),
        (classmethod(a_function), "put the mark below @classmethod"),
        (property(a_function), "put the mark below @property"),
        (functools.partial(a_function), "a partial has no name"),
        (Nameless(), "a Nameless has no name"),
        (max, "tells no signature"),
    ],
)
def test_what_can_not_be_marked_is_refused_where_it_is_marked(mark: Any, marked: Any, words: str) -> None:
    """With what to do instead; a static method would get an instance that it does not take."""
    with pytest.raises(UsageError) as refused:
        mark(marked)
    assert words in f"{refused.value}"


@pytest.mark.parametrize("name", ["", 7])
def test_a_name_is_a_text(name: Any) -> None:
    """Another one could be written to no trace."""
    with pytest.raises(UsageError, match="a name is a text"):
        tool(name=name)(Nameless())


def test_a_callable_is_a_tool_by_the_name_that_it_is_given(tmp_path: Path) -> None:
    """An object or a part of a function has none of its own."""
    called: Any = tool(effect="read", name="look")(Nameless())
    with record(tmp_path / "a.trace", sanitizer=as_is):
        assert called("A-7") == "A-7"
    assert [(step.name, step.input) for step in read(tmp_path / "a.trace").steps] == [("look", {"order": "A-7"})]


class Order:
    """One that no JSON holds."""


@tool(effect="write")
def pay(order: Order, amount: int) -> int:
    """Gets what can't be told."""
    del order
    return amount


@retrieval
def look_up(query: str, seen: list[str]) -> list[str]:
    """Changes what it gets."""
    seen.append(query)
    return [query]


def test_what_of_the_arguments_is_not_told_or_does_not_stay_is_a_gap(tmp_path: Path) -> None:
    """Else two orders are one change, and a replay's agent misses what the tool did to its argument."""
    with record(tmp_path / "a.trace", sanitizer=as_is):
        pay(Order(), 5)
        look_up("A-7", [])
        refund("A-7")
    paid, looked_up, _ = found = read(tmp_path / "a.trace").steps
    assert [len(step.attributes.get("gaps", ())) for step in found] == [1, 1, 0]
    assert "the arguments held a" in paid.attributes["gaps"][0]
    assert "Order, of which only the type is kept" in paid.attributes["gaps"][0]
    assert "its arguments were changed" in looked_up.attributes["gaps"][0]
