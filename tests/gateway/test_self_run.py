"""Agents whose tools are not served over MCP run them for real: that is seen, counted and judged."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from evalkit.case.model import Case
from evalkit.check.model import Check
from tests.build import a_case, a_trace, sanitized, tool_step
from tests.gateway.conversations import model_step
from tests.gateway.serving import Caller, serving

REFUND = {"order": 7}


def call(call_id: str, name: str = "refund") -> dict[str, Any]:
    """A call of the model, as the API has it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(REFUND)}}


def conversation(refunds: int, name: str = "refund") -> list[dict[str, Any]]:
    """What the agent sends after so many refunds."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "refund 7"}]
    for at in range(refunds):
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call(f"c{at}", name)]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": '{"ok": true}'},
        ]
    return messages


def refund_case(name: str = "refund") -> Case:
    """The model asks for two refunds, one after the other, and is done."""
    steps = []
    for at in range(3):
        asked = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{at}", "name": name, "arguments": REFUND}],
        }
        body = {"model": "m-1", "messages": conversation(at, name)}
        steps.append(model_step(2 * at, "openai_chat", body, asked if at < 2 else "Done."))
        if at < 2:
            steps.append(tool_step(2 * at + 1, "refund", REFUND, {"ok": True}, effect="write"))
    return a_case(a_trace(*steps), checks=[Check("repeated_effect", {})])


def ask(caller: Caller, refunds: int, name: str = "refund") -> None:
    """One turn of the agent."""
    status, body = caller.ask("/v1/chat/completions", {"model": "m-1", "messages": conversation(refunds, name)})
    assert status == 200, body


def test_tools_that_the_agent_ran_itself_become_steps() -> None:
    """Bodies that were executed, not substituted; the checks see them, so that the incident is not missed."""
    with serving(refund_case()) as served:
        for turn in range(3):
            ask(served.caller, turn)
    done = served.done
    assert (done.counts.tool_bodies, done.counts.substituted, done.status) == (2, 3, "failed")
    ran = [step for step in done.trace.steps if step.kind == "tool"]
    assert [(step.name, step.input, step.output, step.effect) for step in ran] == [
        ("refund", REFUND, {"ok": True}, "write")
    ] * 2
    assert [step.kind for step in done.trace.steps] == ["model", "tool", "model", "tool", "model"]


def test_tools_that_were_served_are_counted_once() -> None:
    """Also where the agent puts the server's name before the tool's."""
    for name in ("refund", "shop__refund"):
        with serving(refund_case(name)) as served:
            for turn in range(3):
                ask(served.caller, turn, name)
                if turn < 2:
                    served.caller.rpc("tools/call", {"name": "refund", "arguments": REFUND})
        assert (served.done.counts.tool_bodies, served.done.counts.substituted) == (0, 5)


def test_another_tool_that_was_served_hides_nothing() -> None:
    """Neither one with the same arguments, nor one whose name is the end of this one's."""
    for name in ("lookup", "fund"):
        step = tool_step(9, name, REFUND, {"amount": 5.0})
        case = refund_case()
        incident = replace(case.trace.trace, steps=(*case.trace.trace.steps, step))
        with serving(replace(case, trace=sanitized(incident))) as served:
            ask(served.caller, 0)
            assert "result" in served.caller.rpc("tools/call", {"name": name, "arguments": REFUND})
            ask(served.caller, 1)
        assert (served.done.counts.tool_bodies, served.done.counts.substituted) == (1, 3)


def test_a_history_that_the_agent_began_with_is_not_its_doing() -> None:
    """Only calls that the model made in this session count."""
    with serving(refund_case()) as served:
        ask(served.caller, 1)
    assert served.done.counts.tool_bodies == 0
