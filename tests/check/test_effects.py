"""The changes that a run made, against the expected ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.check.writes import result_digest
from evalkit.errors import InputError
from evalkit.trace.model import Step, StepError
from tests.build import a_trace, tool_step


def write(seq: int, name: str, arguments: Any, output: Any = None, **rest: Any) -> Step:
    """A write call."""
    return tool_step(seq, name, arguments, output, effect="write", **rest)


def judged(effects: list[dict[str, Any]], *steps: Step, **params: Any) -> CheckResult:
    """The result of `effects_equal` on a run of some steps."""
    stated: dict[str, Any] = {"effects": effects, **params}
    return judge_checks([Check("effects_equal", stated)], a_trace(*steps))[0]


REFUND: dict[str, Any] = {"name": "refund", "arguments": {"order": 7, "amount": 5}}


@given(st.permutations(range(4)))
def test_the_order_of_effects_does_not_matter(order: list[int]) -> None:
    """Effects are a multiset."""
    effects = [{"name": "pay", "arguments": {"to": at}} for at in range(4)]
    assert judged(effects, *(write(seq, "pay", {"to": at}) for seq, at in enumerate(order))).passed


@given(st.lists(st.integers(0, 3), max_size=5), st.lists(st.integers(0, 3), max_size=5))
def test_equal_multisets_pass_and_others_fail(expected: list[int], done: list[int]) -> None:
    """The check passes exactly when both multisets are equal."""
    effects = [{"name": "pay", "arguments": {"to": at}} for at in expected]
    steps = [write(seq, "pay", {"to": at}) for seq, at in enumerate(done)]
    assert judged(effects, *steps).passed is (sorted(expected) == sorted(done))


def test_only_successful_writes_of_the_agent_count() -> None:
    """Reads, failed and unanswered writes, the user's own calls and hand-overs are no effects of the agent."""
    others = [
        tool_step(1, "lookup", {"order": 7}),
        write(2, "cancel", {}, error="no"),
        write(3, "cancel", {}, attributes={"unfinished": True}),
        write(4, "reset", {}, attributes={"requestor": "user"}),
        write(5, "transfer_to_human_agents", {"summary": "x"}),
    ]
    assert judged([REFUND], write(0, "refund", {"amount": 5.0, "order": 7}), *others).passed
    assert not judged([REFUND], write(0, "refund", {"amount": 5, "order": 7}), *others, handovers=True).passed


def test_a_wrong_argument_is_named_with_expected_and_got() -> None:
    """A reader sees the field that differs, not two long calls."""
    result = judged([REFUND], write(3, "refund", {"order": 7, "amount": 50}))
    assert result.reason == "refund with other arguments: /amount expected 5, got 50"
    assert result.steps == (3,)


def test_a_missing_effect_points_to_the_answer() -> None:
    """What did not happen has no step of its own: the last one shows that the run was over."""
    result = judged([REFUND], tool_step(0, "lookup"))
    assert "expected refund" in result.reason
    assert result.steps == (0,)


def test_an_item_may_repeat_what_its_record_says() -> None:
    """A field that a tool has shown beside the same identifying field changes nothing; an unknown one does."""
    effects = [{"name": "book", "arguments": {"flights": [{"number": "F1", "date": "2024-05-20"}]}}]
    seen = tool_step(0, "search", {}, [{"number": "F1", "from": "JFK", "prices": {"economy": 51}}])
    plain = {"number": "F1", "date": "2024-05-20"}
    assert judged(effects, seen, write(1, "book", {"flights": [{**plain, "from": "JFK", "price": 51}]})).passed
    assert not judged(effects, seen, write(1, "book", {"flights": [{**plain, "price": 52}]})).passed
    assert not judged(effects, seen, write(1, "book", {"flights": [{**plain, "date": "2024-05-21"}]})).passed
    assert not judged(effects, seen, write(1, "book", {"flights": [plain], "from": "JFK"})).passed


def test_a_further_argument_of_the_call_itself_is_a_difference() -> None:
    """Only an item of a list may repeat its record: an argument more is another request."""
    seen = tool_step(0, "search", {}, {"number": "F1", "from": "JFK"})
    effects = [{"name": "book", "arguments": {"number": "F1"}}]
    assert not judged(effects, seen, write(1, "book", {"number": "F1", "from": "JFK"})).passed


def test_the_expected_result_makes_other_arguments_equal() -> None:
    """Two ways to say the same to a tool leave the same state; a mere acknowledgement proves nothing."""
    state = {"order": 7, "status": "cancelled", "refund": {"amount": 5, "to": "gift card", "at": "2024-05-20"}}
    expected = write(0, "cancel", {"order": 7}, state)
    effect = {"name": "cancel", "arguments": {"order": 7}, "result": result_digest(expected)}
    assert judged([effect], write(0, "cancel", {"order": "#7"}, state)).passed
    assert not judged([effect], write(0, "cancel", {"order": "#7"}, {**state, "status": "open"})).passed
    assert result_digest(write(0, "cancel", {}, {"ok": True})) == ""


@pytest.mark.parametrize(
    ("free_text", "near", "far"), [("loose", True, False), ("exact", False, False), ("ignored", True, True)]
)
def test_free_text_is_compared_as_told(free_text: str, near: bool, far: bool) -> None:
    """Prose of five words or more is compared loosely by default."""
    effects = [{"name": "note", "arguments": {"text": "the customer wants a refund for order 7"}}]
    same = write(0, "note", {"text": "customer wants refund for their order 7"})
    other = write(0, "note", {"text": "weather today is sunny with light wind"})
    assert judged(effects, same, free_text=free_text).passed is near
    assert judged(effects, other, free_text=free_text).passed is far


@pytest.mark.parametrize(("name", "again"), [("update_address", True), ("send_money", False)])
def test_setting_the_same_twice_counts_once(name: str, again: bool) -> None:
    """A setting verb with the same telling result changed nothing the second time; sending twice is sending twice."""
    state = {"user": "u1", "address": {"street": "1 Long Street", "city": "Springfield", "zip": "12345"}}
    steps = [write(at, name, {"user": "u1"}, state) for at in range(2)]
    assert judged([{"name": name, "arguments": {"user": "u1"}}], *steps).passed is again


def test_any_of_the_alternatives_will_do() -> None:
    """Healthy runs may differ: `or` holds what else is right."""
    other = [{"name": "cancel", "arguments": {}}]
    assert judged([REFUND], write(0, "cancel", {}), **{"or": [other]}).passed
    assert not judged([REFUND], write(0, "cancel", {"x": 1}), **{"or": [other]}).passed


def test_a_run_that_stopped_has_not_had_its_effects() -> None:
    """Right so far is not right: the run did not come to its end."""
    trace = a_trace(write(0, "refund", REFUND["arguments"]), status="failed", error=StepError("max_steps"))
    result = judge_checks([Check("effects_equal", {"effects": [REFUND]})], trace)[0]
    assert not result.passed
    assert "max_steps" in result.reason


@pytest.mark.parametrize(
    "params",
    [{}, {"effects": {}}, {"effects": [{}]}, {"effects": [], "or": {}}, {"effects": [], "free_text": "no"}, {"x": 1}],
)
def test_wrong_parameters_are_refused(params: dict[str, Any]) -> None:
    """A check that can't mean anything is no check."""
    with pytest.raises(InputError):
        judge_checks([Check("effects_equal", params)], a_trace())


def test_arguments_that_are_no_json_are_not_expected() -> None:
    """A hostile trace fails the check instead of breaking the judge."""
    assert not judged([REFUND], write(0, "refund", {"order": float("nan")})).passed


def test_a_run_that_stops_in_the_middle_of_a_call_is_not_done() -> None:
    """All changes are there, and nobody was told; a hand-over may be the end."""
    done = write(0, "refund", {"order": 7, "amount": 5})
    said = Step(1, "model", "chat", {"messages": []}, {"role": "assistant", "content": "It is refunded."})
    asked = Step(
        1,
        "model",
        "chat",
        {"messages": []},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "find", "arguments": {}}]},
    )
    passed = [judged([REFUND], done, *rest, answered=True).passed for rest in ([], [asked], [said])]
    assert passed == [False, False, True]
    assert judged([REFUND], done, write(1, "transfer_to_human", {}), answered=True).passed
    assert judged([REFUND], done).passed


def test_a_change_that_only_failed_by_luck_is_one_too_many() -> None:
    """Of a tool that is not expected at all; the expected one may need a second try."""
    tried = write(0, "book", {"flight": "A1"}, error="no seat")
    done = write(1, "refund", {"order": 7, "amount": 5})
    assert not judged([REFUND], tried, done, tried=True).passed
    assert judged([REFUND], tried, done).passed
    assert judged([REFUND], write(0, "refund", {"order": 7, "amount": 500}, error="too much"), done, tried=True).passed
