"""Pruning keeps what led to the failure and says why the rest went."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.distil.slice import slice_trace
from evalkit.errors import InputError
from evalkit.trace.model import USER_MESSAGE, Step, Trace
from tests.build import a_trace, model_step, tool_step, user_step
from tests.strategies import traces

RUN = a_trace(
    Step(0, "agent", "support"),
    Step(1, "other", USER_MESSAGE, output={"role": "user", "content": "refund my order"}, parent=0),
    model_step(2, None, ("weather", {})),
    tool_step(3, "weather", {}, {"sky": "blue"}),
    Step(4, "policy", "refunds", output="allow"),
    model_step(5, None, ("find", {})),
    tool_step(6, "find", {}, {"id": "W8831"}),
    model_step(7, None, ("refund", {"id": "W8831"})),
    tool_step(8, "refund", {"id": "W8831"}, effect="write", parent=0),
    model_step(9, "All is done."),
    output="All is done.",
)


def test_the_slice_follows_values_decisions_and_structure() -> None:
    """The failure, who decided it, the read it used, the user's turn and the policy."""
    assert slice_trace(RUN, [8]).kept == (1, 4, 6, 7, 8)


def test_every_dropped_step_has_a_reason() -> None:
    """In words, by kind, and by whether it came after the failure."""
    assert dict(slice_trace(RUN, [8]).dropped) == {
        0: "no step inside of it was kept, or the trace's own input and output say the same",
        2: "it only asked for calls: what of them mattered is kept",
        3: "its result was not used on the way to the failure",
        5: "it only asked for calls: what of them mattered is kept",
        9: "it came after the failure",
    }


def test_without_a_failure_step_the_final_answer_is_the_failure() -> None:
    """What the answer used is kept."""
    found = tool_step(0, "find", {}, {"rate": 0.72})
    trace = a_trace(found, tool_step(1, "weather", {}, {"sky": "blue"}), tool_step(2, "log"), output={"rate": 0.72})
    assert slice_trace(trace, []).kept == (0, 2)
    assert slice_trace(trace, [2]).kept == (0, 2)
    assert slice_trace(trace, [1]).kept == (1,)


def test_a_reply_that_the_user_answered_is_kept_without_what_it_used() -> None:
    """The wrong word is often in a reply; what it looked up is kept only when it led to the failure."""
    trace = a_trace(
        tool_step(0, "weather", {}, {"sky": "blue", "degrees": 21.5}),
        model_step(1, "It is 21.5 degrees."),
        Step(2, "other", USER_MESSAGE, output={"role": "user", "content": "and my refund?"}),
        model_step(3, "Unanswered and unused."),
        tool_step(4, "refund", {"order": 7}, effect="write"),
    )
    assert slice_trace(trace, [4]).kept == (1, 2, 4)


def test_where_the_failure_is_unknown_the_slice_starts_at_all_that_could_be_it() -> None:
    """Every change, every statement, the first failed call; a look-up that only a statement told of is not kept."""
    trace = a_trace(
        user_step(0, "What about my order W8831?"),
        model_step(1, "Could you tell me your e-mail address, please?"),
        user_step(2, "ann@example.org"),
        model_step(3, None, ("find", {"email": "ann@example.org"})),
        tool_step(4, "find", {"email": "ann@example.org"}, {"order": "W8831", "payment": "card_77"}),
        model_step(5, "It was shipped on the 3rd of May with parcel 99120."),
        user_step(6, "Refund it."),
        model_step(7, None, ("refund", {"payment": "card_77"})),
        tool_step(8, "refund", {"payment": "card_77"}, {"refund": 41.5}, effect="write"),
        model_step(9, "I refunded 41.50."),
        user_step(10, "Thanks"),
    )
    assert slice_trace(trace, []).kept == (0, 2, 4, 5, 6, 7, 8, 9, 10)


def test_a_sub_agent_is_kept_around_what_is_kept() -> None:
    """It says who did it; spans that only hold others, and the outermost agent, say nothing of their own."""
    trace = a_trace(
        Step(0, "agent", "boss"),
        Step(1, "other", "Step 1", parent=0),
        Step(2, "agent", "clerk", parent=1),
        tool_step(3, "refund", {"order": 7}, effect="write", parent=2),
        Step(4, "agent", "idle", parent=0),
    )
    found = slice_trace(trace, [3])
    assert found.kept == (2, 3)
    assert dict(found.dropped)[1] == "it only holds other steps"


def test_a_write_that_failed_is_kept_with_its_decision() -> None:
    """What the agent tried to do says where it was heading."""
    tried = tool_step(1, "cancel", {"order": 7}, error="not allowed", effect="write")
    trace = a_trace(
        model_step(0, None, ("cancel", {"order": 7})), tried, tool_step(2, "find", error="503"), tool_step(3, "mail")
    )
    assert slice_trace(trace, [3]).kept == (0, 1, 3)


def test_the_code_that_made_a_call_is_its_decision() -> None:
    """An agent that writes code asks for no calls by name; its code says what it wanted."""
    trace = a_trace(
        model_step(0, "```py\nprint(weather())\n```"),
        tool_step(1, "weather", {}, {"sky": "blue"}),
        model_step(2, "```py\npay(find(7)['total'])\n```"),
        tool_step(3, "find", {"order": 7}, {"total": 41.5}),
        tool_step(4, "pay", {"amount": 41.5}, effect="write"),
    )
    assert slice_trace(trace, [4]).kept == (2, 3, 4)


def test_a_call_that_no_step_made_is_kept_where_the_failure_is_unknown() -> None:
    """A sub-agent hands its answer over by a call of which there is no step: only its decision says it."""
    trace = a_trace(
        model_step(0, None, ("find", {"order": 7})),
        tool_step(1, "find", {"order": 7}, {"total": 41.5}),
        model_step(2, None, ("final_answer", {"answer": "nothing found"})),
        tool_step(3, "cancel", {"order": 7}, effect="write"),
    )
    assert slice_trace(trace, []).kept == (2, 3)


def test_keep_all_drops_nothing() -> None:
    """The user may not trust the slice."""
    assert slice_trace(RUN, [8], keep_all=True).dropped == ()


def test_an_unknown_step_is_refused() -> None:
    """With a way to find the right one."""
    with pytest.raises(InputError, match="no step 99"):
        slice_trace(RUN, [99])


@given(st.data(), traces())
def test_kept_and_dropped_are_the_whole_trace_and_hold_the_failure(data: st.DataObject, trace: Trace) -> None:
    """No step is lost silently, whatever the trace holds."""
    seqs = [step.seq for step in trace.steps]
    failures = data.draw(st.lists(st.sampled_from(seqs), max_size=3)) if seqs else []
    found = slice_trace(trace, failures)
    assert sorted([*found.kept, *(seq for seq, _ in found.dropped)]) == seqs
    assert set(failures) <= set(found.kept)
    assert all(reason for _, reason in found.dropped)
