"""Ids that an agent draws anew in each run: declared volatile, they stand for the recorded ones from then on."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

import evalkit
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.model import Replay
from tests.build import a_case, a_trace, tool_step
from tests.project import Project

KEYS = ("11111111-aaaa-4aaa-8aaa-111111111111", "22222222-bbbb-4bbb-8bbb-222222222222")
EXACTLY = Check("effects_equal", {"effects": [{"name": "pay", "arguments": {"order": 7, "key": KEYS[0]}}]})


@evalkit.tool(effect="write")
def pay(order: int, key: str) -> dict[str, Any]:
    """Never runs in a replay."""
    raise AssertionError


@evalkit.tool(effect="read")
def status(key: str) -> str:
    """Never runs in a replay."""
    raise AssertionError


def paid(seq: int, key: str, receipt: str, order: int = 7) -> Any:
    """A recorded payment, which says its key again."""
    said = {"receipt": receipt, "note": f"payment {key} was taken", "key": key}
    return tool_step(seq, "pay", {"order": order, "key": key}, said, effect="write")


def a_payment(*steps: Any, checks: tuple[Check, ...] = (EXACTLY,)) -> Case:
    """A case whose payments' keys are volatile."""
    return a_case(a_trace(*steps), checks=checks, volatile={"pay": ("/key",)})


def replayed(case: Case, agent: Callable[[], Any]) -> Replay:
    """One replay of an agent without input."""
    return evalkit.replay(case, lambda _: agent())


def test_an_id_of_the_agents_own_is_known_ever_after(project: Project) -> None:
    """The answer says the agent's id, in a text too; a later call with it finds the recorded one."""
    case = a_payment(paid(0, KEYS[0], "r1"), tool_step(1, "status", {"key": KEYS[0]}, f"{KEYS[0]}: done"))

    def agent() -> Any:
        key = str(uuid.uuid4())
        answer = pay(7, key)
        assert (answer["key"], answer["note"]) == (key, f"payment {key} was taken")
        assert status(key) == f"{key}: done"
        return [key, answer]

    done = replayed(case, agent)
    assert done.status == "passed", done.reason
    assert done.trace.output[0] == KEYS[0], "the trace tells it by its recorded name"  # type: ignore[index]  # JSON
    assert [step.input for step in done.trace.steps] == [{"order": 7, "key": KEYS[0]}, {"key": KEYS[0]}]


def test_replays_that_draw_other_ids_are_equal(project: Project) -> None:
    """So a case of an agent that draws ids is recognised as deterministic, and judged once."""
    case = a_payment(paid(0, KEYS[0], "r1"))
    first, second = (evalkit.replay(case, lambda _: pay(7, str(uuid.uuid4())), sample=sample) for sample in (0, 1))
    assert first.digest == second.digest


def test_two_ids_where_there_was_one_are_seen(project: Project) -> None:
    """An agent that lost its idempotency key does not hide behind the mapping."""
    case = a_payment(paid(0, KEYS[0], "r1"), paid(1, KEYS[0], "r1"))

    def agent() -> Any:
        return [pay(7, str(uuid.uuid4()))["receipt"] for _ in range(2)]

    done = replayed(case, agent)
    keys = [step.input["key"] for step in done.trace.steps]  # type: ignore[index,call-overload]  # JSON
    assert keys[0] == KEYS[0] != keys[1]


def test_the_same_id_again_gets_its_own_answer(project: Project) -> None:
    """Two payments with keys of their own; the first is asked about again, after the second."""
    case = a_payment(paid(0, KEYS[0], "r1"), paid(1, KEYS[1], "r2"))

    def agent() -> Any:
        mine = [str(uuid.uuid4()), str(uuid.uuid4())]
        return [pay(7, key)["receipt"] for key in (*mine, mine[0])]

    done = replayed(case, agent)
    assert done.trace.output == ["r1", "r2", "r1"]
    assert [step.attributes.get("answered_again") for step in done.trace.steps] == [None, None, True]


@pytest.mark.parametrize("key", [KEYS[0], "fresh-key-of-the-agent"])
def test_what_is_not_volatile_must_still_agree(project: Project, key: str) -> None:
    """Only the declared path is left out."""
    done = replayed(a_payment(paid(0, KEYS[0], "r1")), lambda: pay(8, key))
    assert done.status == "missed"
    assert [one.path for one in done.misses[0].differences] == ["/order"]
