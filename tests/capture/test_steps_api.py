"""Retrievals, policies, approvals, state and side effects: recorded from code that has no recording at hand."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import evalkit
from evalkit.capture.retrieved import documents_of
from evalkit.capture.seam import current_session
from evalkit.errors import UsageError
from evalkit.trace.approval import approval_of, decision_of
from evalkit.trace.model import Step
from evalkit.trace.side_effect import lives
from evalkit.trace.snapshot import snapshot
from tests.build import a_trace, tool_step
from tests.capture.harness import InOrder, session
from tests.integrations.loop import recorded, replayed, shown
from tests.project import Project
from tests.strategies import json_values

RAN: list[str] = []
HASH_OF_TERMS = hashlib.sha256(b"14 days").hexdigest()
HASH_OF_FAQ = hashlib.sha256(b"ask us").hexdigest()


@dataclass(frozen=True)
class Found:
    """A retriever's own document."""

    doc_id: str
    text: str
    score: float


@evalkit.retrieval
def search(question: str, k: int = 2) -> list[Found]:
    """A retriever."""
    RAN.append("search")
    return [Found("terms", "14 days", 0.9), Found("faq", "ask us", 0.5)][:k]


@evalkit.policy(version="7")
def may_refund(order: str) -> bool:
    """A policy."""
    RAN.append("may_refund")
    return order != "9"


@evalkit.approval
async def ask_manager(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """An approval."""
    RAN.append("ask_manager")
    return {"granted": True, "approved_by": "Ada", "expires_at": "2030-01-01T00:00:00Z"}


@evalkit.tool(effect="write")
def refund(order: str, amount: float = 5.0) -> dict[str, str]:
    """Pays back.

    Args:
        order: which one,
            by its number
        amount (float): euros
    """
    RAN.append("refund")
    with evalkit.side_effect("refund", key=order) as deed:
        deed.confirmed(receipt=f"R-{order}")
    return {"refunded": order}


def agent(order: str) -> Any:
    """Uses them all, and knows nothing of a recording."""
    found = search("how long?")
    if not may_refund(order=order):
        return "no"
    asyncio.run(ask_manager("refund", {"order": order, "amount": 5.0}))
    done = refund(order)
    evalkit.state("answered", True, before=False)
    return [found[0].text, done["refunded"]]


def test_each_is_a_step_of_its_kind_in_normal_form(tmp_path: Path) -> None:
    """Documents with hash and rank, the decision, the approval by its names, the effect's life inside of its tool."""
    trace = recorded(agent, "7", tmp_path / "run.trace")
    assert trace.output == ["14 days", "7"]
    documents = [
        {"id": "terms", "content": "14 days", "content_hash": HASH_OF_TERMS, "rank": 1, "score": 0.9},
        {"id": "faq", "content": "ask us", "content_hash": HASH_OF_FAQ, "rank": 2, "score": 0.5},
    ]
    approved = {"approved": True, "approver": "Ada", "until": "2030-01-01T00:00:00Z"}
    assert shown(trace) == [
        ("retrieval", "search", {"query": "how long?", "k": 2}, documents, None, None, None),
        ("policy", "may_refund", {"order": "7"}, True, None, None, None),
        ("approval", "ask_manager", {"tool": "refund", "arguments": {"order": "7", "amount": 5.0}}, approved,
         None, None, None),
        ("tool", "refund", {"order": "7", "amount": 5.0}, {"refunded": "7"}, "write", None, None),
        ("state", "side_effect:refund", {"status": "planned", "key": "7"}, None, None, None, 3),
        ("state", "side_effect:refund", {"status": "executing", "key": "7"}, "planned", None, None, 3),
        ("state", "side_effect:refund", {"status": "confirmed", "key": "7", "receipt": "R-7"}, "executing",
         None, None, 3),
        ("state", "answered", True, False, None, None, None),
    ]  # fmt: skip
    assert trace.steps[1].attributes["version"] == "7"


def test_a_frozen_replay_answers_them(tmp_path: Path, project: Project) -> None:
    """No body runs; each caller gets what it got, of the type that it got; state and the rest are noted again."""
    trace = recorded(agent, "7", tmp_path / "run.trace")
    RAN.clear()
    replay = replayed(agent, trace)
    assert RAN == []
    assert (replay.counts.tool_bodies, replay.counts.substituted) == (0, 4)
    assert replay.trace.output == trace.output
    outside_of_tools = [step[:3] for step in shown(trace) if step[-1] is None]
    assert [step[:3] for step in shown(replay.trace)] == outside_of_tools
    approval = replay.trace.steps[2].output
    assert isinstance(approval, dict)
    assert approval["approved"] is True
    assert approval["approver"] != "Ada"  # who it was is personal data


def test_outside_of_a_run_they_are_the_functions_themselves() -> None:
    """Nothing is noted, and nothing fails."""
    assert current_session() is None
    assert agent("7") == ["14 days", "7"]
    assert agent("9") == "no"
    effect = evalkit.side_effect("refund")
    effect.unknown("timeout")
    effect.reconciled("failed")


def test_they_work_in_threads() -> None:
    """A thread that is started in a run belongs to it."""
    with session() as run:
        thread = threading.Thread(target=agent, args=("7",))
        thread.start()
        thread.join()
    assert [step.kind for step in run.steps].count("approval") == 1
    assert len(run.steps) == 8


def test_an_error_of_a_policy_is_recorded_and_raised() -> None:
    """As a tool's is."""

    @evalkit.policy
    def broken(order: str) -> bool:
        raise LookupError(order)

    with session() as run, pytest.raises(LookupError):
        broken("7")
    assert run.only.error is not None
    assert run.only.error.type == "LookupError"


def test_a_generator_is_refused() -> None:
    """Its answer is no single value."""
    with pytest.raises(UsageError, match="generator"):

        @evalkit.retrieval
        def stream(query: str) -> Any:
            yield query


@pytest.mark.parametrize(
    ("live", "statuses"),
    [
        (lambda effect: None, ["planned", "executing", "confirmed"]),
        (lambda effect: effect.failed("declined"), ["planned", "executing", "failed"]),
        (lambda effect: 1 / 0, ["planned", "executing", "unknown"]),
    ],
    ids=["well", "said", "raised"],
)
def test_a_block_tells_how_its_effect_ended(live: Callable[[Any], Any], statuses: list[str]) -> None:
    """An exception does not tell whether the deed was done."""
    with session() as run:
        try:
            with evalkit.side_effect("refund", key="k") as effect:
                live(effect)
        except ZeroDivisionError:
            RAN.append("raised")
        evalkit.side_effect("refund", key="other").planned()
    first, other = lives(a_trace(*run.steps))
    assert (first.key, list(first.statuses), first.status) == ("k", statuses, statuses[-1])
    assert other.statuses == ("planned",)


class Bank:
    """Takes payments; the answer to the first is lost. Tells afterwards whether one was taken."""

    def __init__(self, *, taken: bool, knows: bool = True) -> None:
        self.taken = taken
        self.knows = knows
        self.asked = 0
        self.paid = 0

    def pay(self) -> None:
        """Pays; the first time nobody hears of it."""
        self.paid += 1
        if self.paid == 1:
            raise TimeoutError

    def find(self, name: str, key: Any) -> Any:
        """Whether it was paid."""
        self.asked += 1
        return "unknown" if not self.knows else ("confirmed", f"R-{key}") if self.taken else "failed"


def paying(bank: Bank) -> str:
    """Pays, and once more where it is known that nothing happened."""
    deed = evalkit.side_effect("pay", key="k", reconciler=bank.find)
    try:
        with deed:
            bank.pay()
    except TimeoutError:
        with deed:
            bank.pay()
    return deed.settle()


def test_a_retry_is_possible_once_it_is_known_that_nothing_happened() -> None:
    """The reconciler is asked as a read tool, and what it said is noted."""
    bank = Bank(taken=False)
    with session() as run:
        assert paying(bank) == "confirmed"
    assert (bank.paid, bank.asked) == (2, 1)
    (life,) = lives(a_trace(*run.steps))
    assert life.statuses == ("planned", "executing", "unknown", "reconciled", "executing", "confirmed")
    (asked,) = [step for step in run.steps if step.kind == "tool"]
    assert (asked.name, asked.input, asked.effect) == ("reconcile_pay", {"name": "pay", "key": "k"}, "read")


@pytest.mark.parametrize(
    ("bank", "said"), [(Bank(taken=True), "done already"), (Bank(taken=False, knows=False), "nobody knows")]
)
def test_no_retry_is_possible_while_it_may_have_happened(bank: Bank, said: str) -> None:
    """Done, or not known: the block is not entered again; outside of a recording too."""
    with pytest.raises(UsageError, match=said):
        paying(bank)
    assert bank.paid == 1


def test_a_replay_does_not_ask_the_reconciler() -> None:
    """Its recorded answer settles the effect again."""
    bank = Bank(taken=True)

    def agent() -> str:
        deed = evalkit.side_effect("pay", key="k", reconciler=bank.find)
        deed.unknown("timeout")
        return deed.settle()

    with session() as run:
        assert agent() == "confirmed"
    with session(InOrder([step for step in run.steps if step.kind == "tool"])) as again:
        assert agent() == "confirmed"
    assert bank.asked == 1
    assert [step.input for step in again.steps] == [step.input for step in run.steps]
    assert lives(a_trace(*again.steps))[0].receipt == "R-k"


@pytest.mark.parametrize("answer", ["maybe", None, ("paid", 1)])
def test_a_reconciler_must_say_one_of_three_things(answer: Any) -> None:
    """And there must be one to ask."""
    with pytest.raises(UsageError, match="said"):
        evalkit.side_effect("pay", reconciler=lambda name, key: answer).settle()
    with pytest.raises(UsageError, match="no reconciler"):
        evalkit.side_effect("pay").settle()


def test_what_is_unknown_can_be_reconciled_from_elsewhere() -> None:
    """By name and key: it is one life."""
    with session() as run:
        evalkit.side_effect("refund", key="k").unknown("timeout")
        evalkit.side_effect("refund", key="k").reconciled("confirmed", receipt="R-1")
    (life,) = lives(a_trace(*run.steps))
    assert (life.statuses, life.receipt) == (("unknown", "reconciled"), "R-1")
    assert run.steps[1].input == {"status": "reconciled", "key": "k", "outcome": "confirmed", "receipt": "R-1"}


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        (["a"], {"content": "a", "rank": 1}),
        ([["a", 0.5]], {"content": "a", "rank": 1, "score": 0.5}),
        ([{"page_content": "a", "metadata": {"source": "s", "version": "3", "lang": "en"}, "id": None}],
         {"id": "s", "content": "a", "version": "3", "rank": 1, "metadata": {"lang": "en"}}),
        ([{"node": {"id_": "n", "text": "a", "metadata": {}}, "score": 0.1}],
         {"id": "n", "content": "a", "rank": 1, "score": 0.1}),
        ({"matches": [{"id": "x", "chunk": 4, "score": 0, "rank": 9}]},
         {"id": "x", "chunk_id": 4, "rank": 9, "score": 0}),
    ],
    ids=["text", "pair", "langchain", "llamaindex", "matches"],
)  # fmt: skip
def test_documents_of_many_makes_have_one_form(returned: Any, wanted: dict[str, Any]) -> None:
    """By the names of their fields."""
    found = documents_of(returned)
    assert found is not None
    (document,) = found
    assert isinstance(document, dict)
    hashed = document.pop("content_hash", None)
    assert document == wanted
    assert (hashed is not None) == ("content" in wanted)


@given(json_values)
def test_whatever_is_returned_can_be_read(value: Any) -> None:
    """A recorder never breaks the agent, and a reader is not broken by a trace."""
    returned: list[Any] = [value, [value], {"results": [value]}, [{"node": {"text": value, "metadata": value}}]]
    for one in returned:
        documents_of(one)
    for body in (value, {"approved": value, "by": value, "until": value, "at": value}):
        approval_of(Step(0, "approval", "ask", {"tool": "t", "arguments": value}, decision_of(body)))
        approval_of(Step(0, "approval", "ask", body, body))


@pytest.mark.parametrize("returned", [None, 3, "text", {"answer": 1}, [3], [None, "a"]])
def test_what_is_no_list_of_documents_stays_as_it_is(returned: Any) -> None:
    """Nothing is made up."""
    assert documents_of(returned) is None


@pytest.mark.parametrize(
    ("answer", "approved", "approver", "until"),
    [
        (True, True, None, None),
        ("denied", False, None, None),
        ({"decision": "approve", "by": "Ada", "until": 5}, True, "Ada", 5.0),
        ({"approved": False, "expires": "1970-01-01T00:01:00"}, False, None, 60.0),
        ({"status": "pending"}, None, None, None),
        (17, None, None, None),
    ],
)
def test_approvals_are_read_by_many_names(answer: Any, approved: bool | None, approver: str | None, until: Any) -> None:
    """Who, until when, and whether at all."""
    step = Step(
        3, "approval", "ask", {"tool": "refund", "arguments": {"order": 7.0}}, decision_of(answer), ended_at=9.0
    )
    found = approval_of(step)
    assert (found.approved, found.approver, found.until, found.at) == (approved, approver, until, 9.0)
    assert found.action == evalkit.action_hash("refund", {"order": 7})


def test_an_action_is_named_by_tool_and_arguments() -> None:
    """In any order of keys; another tool, or another value, is another action."""
    one = evalkit.action_hash("pay", {"to": "a", "sum": 1})
    assert one == evalkit.action_hash("pay", {"sum": 1.0, "to": "a"})
    assert len({one, evalkit.action_hash("pay", {"to": "a", "sum": 2}), evalkit.action_hash("give", {"to": "a"})}) == 3


def test_a_snapshot_names_what_the_run_stood_on(tmp_path: Path) -> None:
    """Definition, approval and documents are found from the steps alone."""
    seen = snapshot(recorded(agent, "7", tmp_path / "run.trace"))
    (tool,) = seen["tools"]
    assert (tool["name"], tool["approval"], tool["error"]) == ("refund", 2, None)
    assert all(len(tool[part]) == 64 for part in ("definition", "arguments", "result"))
    assert seen["approvals"][0]["action"] == evalkit.action_hash("refund", {"order": "7", "amount": 5.0})
    assert seen["retrieval"][0]["documents"][0] == {
        "id": "terms", "content_hash": HASH_OF_TERMS, "rank": 1, "score": 0.9
    }  # fmt: skip
    assert seen["policies"] == [{"step": 1, "name": "may_refund", "version": "7", "decision": True}]
    assert seen["side_effects"][0]["receipt"] == "R-7"
    assert seen["state"] == {"answered": True}
    assert seen["environment"]["python"]


def test_an_approval_that_ran_out_covers_nothing() -> None:
    """Nor does one of other arguments, nor one that came later."""
    asked: Any = {"tool": "refund", "arguments": {"order": 7}}
    granted = Step(0, "approval", "ask", asked, {"approved": True, "until": 5.0})
    calls = [tool_step(at, "refund", {"order": order}) for at, order in ((1, 7), (2, 8))]
    assert [tool["approval"] for tool in snapshot(a_trace(granted, *calls))["tools"]] == [None, None]
    forever = Step(0, "approval", "ask", asked, {"approved": True})
    assert [tool["approval"] for tool in snapshot(a_trace(forever, *calls))["tools"]] == [0, None]


def test_a_tools_definition_stands_with_its_first_step() -> None:
    """From signature and docstring, once a run."""
    with session() as run:
        refund("1")
        refund("2")
    first, second = [step for step in run.steps if step.kind == "tool"]
    assert first.attributes["definition"] == {
        "name": "refund",
        "description": "Pays back.",
        "parameters": {
            "type": "object",
            "properties": {
                "order": {"type": "string", "description": "which one, by its number"},
                "amount": {"type": "number", "description": "euros"},
            },
            "required": ["order"],
        },
        "output_schema": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    assert second.attributes == {}


def test_a_definition_is_made_of_whatever_a_function_says() -> None:
    """Enumerations and models by pydantic; what says nothing has no schema; methods lack their receiver."""

    class Shop:
        @evalkit.tool
        def sell(self, item: Found, note, *rest: int, how: str | None = None, **more: Any) -> None:  # type: ignore[no-untyped-def]  # what is tested
            """:param note: any text"""

    with session() as run:
        Shop().sell(Found("a", "b", 1.0), object())
    definition = run.only.attributes["definition"]
    properties = definition["parameters"]["properties"]
    assert set(properties) == {"item", "note", "how"}
    assert properties["note"] == {"description": "any text"}
    assert properties["how"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert definition["parameters"]["required"] == ["item", "note"]
