"""Which replay modes a trace is good for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from evalkit.trace.evidence import evidence
from evalkit.trace.model import Step, StepError, Trace
from evalkit.trace.modes import closed_modes, fork_refusal, open_modes
from tests.strategies import traces
from tests.trace.test_evidence import ASKED, BLANK, CALLING, CUT, model, tool, trace

PROMPTED = {**ASKED, "messages": [{"role": "system", "content": "s"}, *ASKED["messages"]]}

ALL = ("exact", "live-model", "fork", "prompt-swap")


def test_a_whole_trace_opens_every_mode() -> None:
    """Nothing is refused where nothing is missing."""
    whole = trace(model(0, CALLING, PROMPTED), tool(1), model(2, given=PROMPTED))
    assert open_modes(whole) == dict.fromkeys(ALL)


@pytest.mark.parametrize(
    ("steps", "closed"),
    [
        (
            (model(0, CALLING, PROMPTED), tool(1, attributes=BLANK), tool(2, "c2"), model(3, given=PROMPTED)),
            {"exact": "step 1: tool result missing", "live-model": "step 1: tool result missing"},
        ),
        (
            (model(0, CALLING, PROMPTED), tool(1, attributes=BLANK)),  # the run ended with it
            {"exact": "step 1: tool result missing"},
        ),
        (
            (
                model(0, CALLING, PROMPTED),
                model(1, given=PROMPTED),
                tool(2, "c9", input=None),
                tool(3, "c8", input=None),
            ),
            {
                "exact": "step 0: no step for the call of get_x, and 2 more",
                "live-model": "step 0: no step for the call of get_x, and 1 more",
            },
        ),
        (
            (model(0, CALLING, {**PROMPTED, "tools": []}), tool(1)),
            dict.fromkeys(("fork", "prompt-swap"), "step 0: tool definitions of get_x missing"),
        ),
        (
            (model(0, given={"messages": []}), model(1, given={"messages": []})),
            {
                "exact": "step 0: messages missing, and 1 more",
                "fork": "steps 0-1: messages missing",
                "prompt-swap": "steps 0-1: no system prompt in the messages",
            },
        ),
        ((model(0, CALLING), tool(1)), {"prompt-swap": "step 0: no system prompt in the messages"}),
        ((tool(0),), {"fork": "there is no model step", "prompt-swap": "there is no model step"}),
    ],
)  # fmt: skip
def test_each_mode_is_closed_by_what_it_needs(steps: tuple[Step, ...], closed: dict[str, str]) -> None:
    """And by nothing else; the reason names the step."""
    assert closed_modes(trace(*steps)) == closed


def test_what_the_provider_held_is_not_sent_in_an_exact_replay_either() -> None:
    """A call seen on the wire is known as it was sent; to go on from it takes the messages that it refers to."""
    asked = {**PROMPTED, "params": {"previous_response_id": "resp_1"}}
    referring = model(1, given=asked, attributes={"wire": "openai_responses", "missing": ["input"]})
    assert set(closed_modes(trace(referring))) == {"fork", "prompt-swap"}
    imported = replace(referring, attributes={"missing": ["input"]})
    withheld = replace(referring, input=None)
    assert all("exact" in closed_modes(trace(step)) for step in (imported, withheld))


def test_a_record_that_breaks_off_in_a_call_is_not_enough() -> None:
    """Nobody knows what the call came to, and the run may have gone on."""
    cut = trace(model(0, CALLING, PROMPTED), tool(1, attributes=CUT), status="unfinished")
    assert closed_modes(cut) == dict.fromkeys(("exact", "live-model"), "step 1: tool result missing")


def test_a_call_at_the_very_end_closes_nothing() -> None:
    """Handing over, or a structured final answer, is a call that no tool carries out."""
    assert open_modes(trace(model(0, CALLING, PROMPTED)))["exact"] is None


def test_a_failed_call_is_answered() -> None:
    """Its error replays."""
    failed = tool(1, output=None, error=StepError("Timeout"))
    assert closed_modes(trace(model(0, CALLING, PROMPTED), failed)) == {}


def test_an_answer_is_not_needed_to_fork() -> None:
    """The model is asked again."""
    unanswered = replace(model(0, given=PROMPTED), output=None)
    assert list(closed_modes(trace(unanswered))) == ["exact"]


def test_a_fork_is_refused_step_by_step() -> None:
    """Only a model step with its full messages and tools can be a start."""
    whole = trace(model(0, CALLING), tool(1), model(2, given={"messages": [], "tools": ASKED["tools"]}))
    assert fork_refusal(whole, 0) is None
    assert fork_refusal(whole, 1) == "step 1 is a tool step: a fork starts at a model step"
    assert fork_refusal(whole, 2) == "step 2: messages missing"
    with pytest.raises(KeyError):
        fork_refusal(whole, 9)


def test_messages_that_were_one_text_are_not_full() -> None:
    """Their tool calls are lost."""
    flat = model(0, given=PROMPTED, attributes={"text_messages": True})
    assert set(closed_modes(trace(flat))) == {"exact", "fork", "prompt-swap"}


@given(traces())
def test_a_complete_trace_closes_only_what_its_content_lacks(any_trace: Trace) -> None:
    """Whatever a trace holds, each mode has an answer; complete evidence leaves exact and live-model open."""
    found = open_modes(any_trace)
    assert tuple(found) == ALL
    if evidence(any_trace).score == 1.0:
        assert found["exact"] is found["live-model"] is None
