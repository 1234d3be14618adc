"""Healthy runs of another order or customer: seen by what was asked, and never demanded of the incident's agent."""

from __future__ import annotations

import pytest

from evalkit.canonical import Json
from evalkit.distil.other_records import Asked
from evalkit.distil.other_records import other_records as other_records_of
from evalkit.distil.propose import propose
from evalkit.trace.model import Step, Trace
from tests.build import a_trace, tool_step, user_step


def refunding(order: Json, asked: Json, *more: Step, times: int = 1) -> Trace:
    """A run that looks an order up and refunds it."""
    writes = [tool_step(1 + at, "refund", {"order": order}, {"ok": True}, effect="write") for at in range(times)]
    return a_trace(tool_step(0, "lookup", {"order": order}, {"amount": 5}), *writes, *more, input=asked)


def other_records(incident: Trace, run: Trace) -> str:
    """What tells two traces apart."""
    return other_records_of(Asked(incident), Asked(run))


@pytest.mark.parametrize(
    ("incident", "run"),
    [
        (refunding(17, "refund 17"), refunding(18, "refund 18")),
        (refunding(17, {"order": 17}), refunding(18, {"order": 18})),
        (refunding("ORD-17", "Please refund ord-17."), refunding("ORD-18", "my order ORD-18 came broken")),
        (refunding("城市甲", "退款 城市甲"), refunding("城市乙", "退款 城市乙")),
        (refunding(17, None, user_step(5, "refund 17")), refunding(18, None, user_step(5, "refund 18"))),
    ],
)
def test_a_run_that_was_asked_about_another_record_is_told(incident: Trace, run: Trace) -> None:
    """By a value that the user brought up and that its calls were given, in place of the incident's."""
    assert other_records(incident, run).startswith("lookup /order: ")
    assert other_records(run, incident)


@pytest.mark.parametrize(
    ("incident", "run"),
    [
        (refunding(17, "refund 17"), refunding(17, "refund 17")),
        (refunding(18, "refund 17"), refunding(17, "refund 17")),  # the incident took a wrong one
        (refunding(18, "refund 17"), refunding(17, "please refund 17")),
        (refunding(17, "refund 17"), refunding(17, "I want the money of order 17 back")),
        (refunding(17, "refund the last one"), refunding(18, "refund my last order")),  # nothing tells
        (refunding(17, "refund 17"), refunding(18, "refund my last order")),
        (refunding(7, "refund 7"), refunding(17, "refund 17 and 7")),
    ],
)
def test_the_same_record_is_not_taken_for_another(incident: Trace, run: Trace) -> None:
    """Whatever either run did with it, and however it was asked."""
    assert other_records(incident, run) == ""


def test_what_a_user_chose_of_an_offer_is_no_other_record() -> None:
    """Two users who were asked which flight: a tool brought both up."""
    offer = tool_step(0, "search", {"to": "LAX"}, {"flights": ["HAT1", "HAT2"]})
    incident, run = (
        a_trace(
            offer, user_step(1, f"I take {flight}"), tool_step(2, "book", {"flight": flight}, {}, effect="write"),
            input="to LAX",
        )
        for flight in ("HAT1", "HAT2")
    )  # fmt: skip
    assert other_records(incident, run) == ""


def test_another_orders_values_are_not_demanded() -> None:
    """A rule that holds for all is; with a run about the same order beside, what that did is demanded, too."""
    incident = refunding(17, "refund 17", times=2)
    other, same = refunding(18, "refund 18"), refunding(17, "refund 17, please")
    assert [check.type for check in propose(incident, passing=[other]) if check.gating] == ["repeated_effect"]
    found = propose(incident, passing=[other, same])
    assert [check.type for check in found if check.gating] == ["effects_equal", "repeated_effect"]
    assert found[0].params["effects"] == [{"name": "refund", "arguments": {"order": 17}}]
    assert "or" not in found[0].params


def test_tools_that_another_order_needed_gate_nothing() -> None:
    """They are shown: for these records another way may be right."""
    incident = a_trace(
        tool_step(0, "lookup", {"order": 17}, {}), tool_step(1, "escalate", {"order": 17}, {}), input="17"
    )
    found = propose(incident, passing=[refunding(18, "18")])
    assert {check.type for check in found} >= {"called", "not_called"}
    assert not any(check.gating for check in found)
