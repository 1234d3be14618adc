"""Approvals before effects, policies that were respected, and changes of unknown outcome."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from evalkit.check.authority import unapproved, unheeded
from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.check.unknown import blind_retries
from evalkit.trace.approval import action_hash
from evalkit.trace.model import Json, Step, StepError, Trace
from tests.build import BOUGHT_AT, a_trace, tool_step
from tests.strategies import traces

PAY: dict[str, Json] = {"to": "ann", "amount": 40}


def judged(type_name: str, *steps: Step, **params: Any) -> CheckResult:
    """One check on a run of some steps, numbered in order."""
    return judge_checks([Check(type_name, params)], a_trace(*steps))[0]


def approval(seq: int, arguments: Json = PAY, *, says: Json = True, **more: Json) -> Step:
    """An approval of a payment."""
    answer: dict[str, Json] = {"approved": says, "approver": "Bo", **more}
    return Step(seq, "approval", "ask", {"tool": "pay", "arguments": arguments}, answer)


def pay(seq: int, arguments: Json = PAY, **rest: Any) -> Step:
    """A payment."""
    return tool_step(seq, "pay", arguments, {"ok": True}, effect="write", **rest)


def test_an_approved_change_passes_and_another_does_not() -> None:
    """The approval is for the very action: another amount is not approved, key order and 40.0 are the same."""
    assert judged("approved", approval(0), pay(1, {"amount": 40.0, "to": "ann"})).passed
    found = judged("approved", approval(0), pay(1, {"to": "ann", "amount": 400}))
    assert (found.passed, found.steps) == (False, (1,))
    assert "without an approval of that action" in found.reason


@pytest.mark.parametrize(
    ("granted", "why"),
    [
        (approval(0, says=False), "refused"),
        (approval(0, until=BOUGHT_AT - 5), "too old"),
        (Step(0, "approval", "ask", {"tool": "pay", "arguments": PAY}, error=StepError("Timeout")), "refused"),
    ],
)
def test_a_refused_or_expired_approval_is_none(granted: Step, why: str) -> None:
    """Both are said."""
    found = judged("approved", granted, pay(1))
    assert not found.passed
    assert why in found.reason


def test_an_approval_is_used_up_and_comes_first() -> None:
    """One yes is for one payment, and not for one that was made already."""
    assert not judged("approved", approval(0), pay(1), pay(2)).passed
    assert judged("approved", approval(0), approval(1), pay(2), pay(3)).passed
    assert not judged("approved", pay(0), approval(1)).passed


def test_which_tools_need_one() -> None:
    """Those that are named, else those that the run asked for; a failed call changed nothing."""
    assert judged("approved", pay(0)).passed
    assert not judged("approved", pay(0), names=["pay"]).passed
    assert judged("approved", pay(0, error="declined"), names=["pay"]).passed
    by_hash = Step(0, "approval", "ask", {"action_hash": action_hash("pay", PAY)}, True)
    assert judged("approved", by_hash, pay(1), names=["pay"]).passed


@pytest.mark.parametrize("decision", [False, "deny", {"allowed": False, "rule": 7}, {"decision": "DENIED"}])
def test_what_a_policy_refused_is_not_done(decision: Json) -> None:
    """In any of the forms that policies answer in."""
    policy = Step(0, "policy", "may_act", {"tool": "pay", "arguments": PAY}, decision)
    found = judged("policy_kept", policy, pay(1))
    assert (found.passed, found.steps) == (False, (1,))


def test_a_refusal_is_about_its_action_and_until_allowed() -> None:
    """Other arguments were not refused; a policy named after the tool is about it; an allowance lifts it."""
    about_pay = Step(0, "policy", "may_pay", {"tool": "pay", "arguments": PAY}, False)
    assert judged("policy_kept", about_pay, pay(1, {"to": "bo", "amount": 1})).passed
    by_name = Step(0, "policy", "may_pay", {"amount": 40}, False)
    assert not judged("policy_kept", by_name, pay(1)).passed
    assert judged("policy_kept", by_name, Step(1, "policy", "may_pay", {}, True), pay(2)).passed
    assert judged("policy_kept", Step(0, "policy", "weather", {}, "sunny"), pay(1)).passed


LOST = StepError("ReadTimeout", "no answer")


def test_a_blind_retry_is_found() -> None:
    """The money may have gone twice."""
    found = judged("unknown_retry", pay(0, error=LOST), pay(1))
    assert (found.passed, found.steps) == (False, (0, 1))
    assert judged("unknown_retry", pay(0, error=LOST), pay(1), names=["refund"]).passed


def test_looking_first_makes_a_retry_safe() -> None:
    """A read about the same thing, a reconciliation, an idempotency key; and an error that says no is known."""
    looked = tool_step(1, "find_payment", {"to": "ann"}, [])
    other = tool_step(1, "find_payment", {"to": "zoe"}, [])
    reconciled = Step(1, "state", "side_effect:pay", {"status": "reconciled", "outcome": "failed"})
    keyed: dict[str, Json] = {**PAY, "idempotency_key": "k1"}
    assert judged("unknown_retry", pay(0, error=LOST), looked, pay(2)).passed
    assert not judged("unknown_retry", pay(0, error=LOST), other, pay(2)).passed
    assert judged("unknown_retry", pay(0, error=LOST), reconciled, pay(2)).passed
    assert judged("unknown_retry", pay(0, keyed, error=LOST), pay(1, keyed)).passed
    assert judged("unknown_retry", pay(0, error="amount must be positive"), pay(1)).passed


def test_only_its_own_reconciliation_makes_a_change_known() -> None:
    """What became of another side effect, or of the same under another key, says nothing of this one."""

    def noted(seq: int, status: str, name: str = "pay", key: str = "7", parent: int | None = None) -> Step:
        return Step(seq, "state", f"side_effect:{name}", {"status": status, "key": key}, parent=parent)

    for other in (noted(2, "reconciled", "mail"), noted(2, "reconciled", key="8")):
        assert not judged("unknown_retry", pay(0), noted(1, "unknown", parent=0), other, pay(3)).passed
    assert judged("unknown_retry", pay(0), noted(1, "unknown", parent=0), noted(2, "reconciled"), pay(3)).passed


def test_a_side_effect_noted_as_unknown_counts() -> None:
    """The tool gave an answer, and said that it does not know."""
    noted = Step(1, "state", "side_effect:pay", {"status": "unknown"}, parent=0)
    assert not judged("unknown_retry", pay(0), noted, pay(2)).passed


@given(traces())
def test_any_trace_can_be_looked_at(trace: Trace) -> None:
    """Whatever it holds: pairs are in order, and only changes are named."""
    assert all(first.seq < again.seq for first, again in blind_retries(trace))
    assert all(step.is_effect for step, _ in [*unapproved(trace), *unheeded(trace)])
