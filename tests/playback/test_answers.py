"""What an agent gets in a replay: objects of its own, whatever it does with them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

import evalkit
from evalkit.check.model import Check
from evalkit.trace.model import Step
from tests.build import a_case, a_trace, tool_step
from tests.project import Project

COMPLETED = Check("completed", {})


@evalkit.tool(effect="read")
def order(number: int) -> dict[str, Any]:
    """Never runs in a replay."""
    raise AssertionError


@evalkit.retrieval
def search(query: str) -> list[dict[str, Any]]:
    """Never runs in a replay."""
    raise AssertionError


def spoiling(_: Any) -> Any:
    """An agent that changes what it was given."""
    first, docs = order(1), search("terms")
    seen = copy.deepcopy([first, docs])
    first["items"].clear()
    docs[0]["text"] = "spoiled"
    return [seen, order(1)]


def test_an_agent_that_changes_an_answer_changes_neither_its_trace_nor_the_next_replay(project: Project) -> None:
    """The trace tells what the tool gave, not what the agent made of it; the recording stays as it is."""
    given = {"items": [1, 2**70], "free": None}
    documents: list[Any] = [{"id": "a", "content": "t"}]
    returned: list[Any] = [{"text": "t"}]
    looked = tool_step(1, "search", {"query": "terms"}, documents, attributes={"returned": returned}, effect=None)
    case = a_case(a_trace(tool_step(0, "order", {"number": 1}, given), _as_retrieval(looked)), checks=[COMPLETED])
    for _ in range(2):
        done = evalkit.replay(case, spoiling)
        assert done.trace.output == [[given, returned], given], done.reason
        assert [step.output for step in done.trace.steps] == [given, documents, given]


@pytest.mark.parametrize("value", [1, "text", None, [2**70], {"a": [1.5]}])
def test_every_json_value_comes_back_as_it_was(project: Project, value: Any) -> None:
    """Numbers of any size too."""
    case = a_case(a_trace(tool_step(0, "order", {"number": 1}, value)), checks=[COMPLETED])
    assert evalkit.replay(case, lambda _: order(1)).trace.output == value


def _as_retrieval(step: Step) -> Step:
    return replace(step, kind="retrieval", effect_source=None)
