"""Which earlier step each value came from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from evalkit.trace.flow import OUTPUT, answer_step, flow, leaves
from evalkit.trace.model import Step, Trace
from tests.build import a_trace, model_step, tool_step, user_step
from tests.strategies import traces


def test_a_value_is_traced_to_the_result_that_held_it() -> None:
    """Whole leaves, with the pointer in the step that used them."""
    trace = a_trace(
        tool_step(0, "find", {}, [{"id": "W8831", "total": 41.5}]),
        tool_step(1, "refund", {"order": {"id": "W8831"}, "amount": 41.5}),
    )
    assert flow(trace).sources(1) == [("/order/id", "W8831", 0), ("/amount", 41.5, 0)]


def test_a_value_is_found_inside_a_text() -> None:
    """A user writes an identifier and an amount into a sentence, in their own case and grouping."""
    refund = tool_step(1, "refund", {"id": "W8831", "sum": 1250})
    trace = a_trace(user_step(0, "Refund $1,250.00 for w8831, please"), refund)
    assert flow(trace).sources(1) == [("/id", "W8831", 0), ("/sum", 1250, 0)]


def test_json_in_a_string_is_looked_into() -> None:
    """Some tools answer with text that is JSON, some are asked with it."""
    trace = a_trace(
        tool_step(0, "find", {}, '{"orders": [{"id": "order one"}]}'),
        tool_step(1, "refund", {"body": '{"id": "order one"}'}),
    )
    assert flow(trace).sources(1) == [("/body/id", "order one", 0)]


def test_the_first_and_the_last_place_are_named() -> None:
    """Where a value came into the run, and where it was read last before its use; never a later step."""
    steps = [user_step(0, "order W8831"), *(tool_step(at, "find", {}, {"id": "W8831"}) for at in (1, 2))]
    trace = a_trace(*steps, tool_step(3, "refund", {"id": "W8831"}), tool_step(4, "find", {}, {"id": "W8831"}))
    assert flow(trace).steps_before(3) == {0, 2}


def test_a_model_is_the_source_only_of_what_it_invented() -> None:
    """A model that repeats a result is not where the value came from."""
    trace = a_trace(
        tool_step(0, "find", {}, {"id": "W8831"}),
        model_step(1, None, ("refund", {"id": "W8831", "key": "made_up_1"})),
        tool_step(2, "refund", {"id": "W8831", "key": "made_up_1"}),
    )
    assert flow(trace).sources(2) == [("/id", "W8831", 0), ("/key", "made_up_1", 1)]
    assert flow(trace).steps_before(1) == {0}


def test_values_that_come_from_anywhere_are_not_followed() -> None:
    """Booleans, null and single characters connect everything with everything."""
    common = {"a": True, "b": None, "c": 1, "d": "x", "e": ""}
    assert flow(a_trace(tool_step(0, "find", {}, common), tool_step(1, "set", common))).sources(1) == []


def test_the_final_output_has_sources_too() -> None:
    """What the answer used."""
    trace = a_trace(tool_step(0, "find", {}, {"status": "down", "rate": 0.72}), output={"cause": "rate is 0.72"})
    assert flow(trace).sources(OUTPUT) == [("/cause", "rate is 0.72", 0)]


def test_an_error_message_is_a_source() -> None:
    """A model that reads an amount out of an error has it from there."""
    trace = a_trace(tool_step(0, "pay", {"sum": 255}, error="total price is 305"), tool_step(1, "pay", {"sum": 305}))
    assert flow(trace).steps_before(1) == {0}


def test_the_answer_is_the_last_model_answer_that_calls_nothing() -> None:
    """Else the last step; a run without steps has none."""
    assert answer_step(a_trace(model_step(0, "hi"), model_step(1, None, ("find", {})), tool_step(2, "find"))) == (0,)
    assert answer_step(a_trace(tool_step(0, "find"), tool_step(1, "find"))) == (1,)
    assert answer_step(a_trace()) == ()


def test_deep_values_end() -> None:
    """A hostile nesting is cut, not followed until the stack ends."""
    deep: Any = "x1"
    for _ in range(900):
        deep = [deep]
    assert list(leaves(deep)) == []


@given(traces())
def test_sources_always_come_before_their_use(trace: Trace) -> None:
    """Whatever a trace holds, a step's values come from steps of the trace that were before it."""
    found = flow(trace)
    for step in trace.steps:
        assert all(0 <= seq < step.seq for seq in found.steps_before(step.seq))
    assert found.steps_before(OUTPUT) <= {step.seq for step in trace.steps}


@pytest.mark.parametrize(
    ("said", "used"),
    [
        ("The flight on May 15, 2024", "2024-05-15"),
        ("due 15 May 2024", "2024-05-15"),
        ("on 05/15/2024 at noon", "2024-05-15"),
        ("order W-8831-A please", "w8831a"),
        ("costs 1,250.50 EUR", 1250.5),
        ("a discount of 15%", 0.15),
        ("I am Yusuf  ROSSI from 19122", "Yusuf Rossi"),
    ],
)
def test_a_value_is_found_in_another_spelling(said: str, used: Any) -> None:
    """Dates, separators, number formats, shares, case, and names that are words."""
    trace = a_trace(user_step(0, said), tool_step(1, "set", {"value": used}))
    assert flow(trace).sources(1) == [("/value", used, 0)]


def test_the_origin_of_a_value_is_named() -> None:
    """Who brought it into the run."""
    told = Step(
        1,
        "model",
        "chat",
        {"messages": [{"role": "system", "content": "Send refunds to desk_12."}]},
        {"role": "assistant", "content": None, "tool_calls": []},
    )
    trace = a_trace(
        user_step(0, "order W8831"),
        told,
        tool_step(2, "find", {}, {"card": "card_77"}),
        model_step(3, None, ("refund", {"key": "made_up_1"})),
        tool_step(4, "refund", {"id": "W8831", "desk": "desk_12", "card": "card_77", "key": "made_up_1"}),
    )
    origins = {source.pointer: source.origin for source in flow(trace).by_step[4]}
    assert origins == {"/id": "user", "/desk": "prompt", "/card": "tool", "/key": "model"}
