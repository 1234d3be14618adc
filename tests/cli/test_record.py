"""From a recorded agent to a case that replays, with each SDK and each API: nothing of the agent is changed."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from evalkit.trace.read import load_traces
from tests.capture.scripted_apis import BLOCKS, CALLS, REASONING, SAID, events_reply, message, response
from tests.capture.scripted_server import Reply, ScriptedServer, json_reply
from tests.project import Project

TOOLS = """
import json, os
import evalkit

@evalkit.tool(effect="write")
def refund(order):
    return {"ok": True}

URL = os.environ.get("MODEL_URL", "http://model.invalid/v1")
"""
RESPONSES = (
    TOOLS
    + """
import openai

def run(given):
    items = [{"role": "user", "content": "refund order 7"}]
    with openai.OpenAI(base_url=URL, api_key="k", max_retries=0) as client:
        while True:
            answer = client.responses.create(model="m", input=items)
            items += answer.output
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return {"text": answer.output_text}
            for call in calls:
                output = json.dumps(refund(**json.loads(call.arguments)))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})

if __name__ == "__main__":
    run({})
"""
)
ANTHROPIC = (
    TOOLS
    + """
import anthropic

def run(given):
    messages = [{"role": "user", "content": "refund order 7"}]
    with anthropic.Anthropic(base_url=URL.removesuffix("/v1"), api_key="k", max_retries=0) as client:
        while True:
            with client.messages.stream(model="m", max_tokens=100, messages=messages) as stream:
                answer = stream.get_final_message()
            messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return {"text": answer.content[-1].text}
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(refund(**call.input))}
                       for call in calls]
            messages.append({"role": "user", "content": results})

if __name__ == "__main__":
    run({})
"""
)


def refunding(number: int) -> dict[str, Any]:
    """A call of the Responses API."""
    call = {"name": "refund", "arguments": '{"order": 7}'}
    return {**CALLS[0], **call, "id": f"fc_{number}", "call_id": f"call_{number}"}


def streamed(*blocks: dict[str, Any]) -> Reply:
    """A streamed message: thinking with its signature, texts, and calls without deltas of text."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message(stop_reason=None)}]
    for at, block in enumerate(blocks):
        place = {"type": "content_block_delta", "index": at}
        if block["type"] == "tool_use":
            begun, deltas = {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": '{"order": 7}'}]
        elif block["type"] == "thinking":
            begun = {**block, "thinking": "", "signature": ""}
            deltas = [{"type": f"{key}_delta", key: block[key]} for key in ("thinking", "signature")]
        else:
            begun = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": block["text"][half]} for half in (slice(4), slice(4, None))]
        events.append({"type": "content_block_start", "index": at, "content_block": begun})
        events += [{**place, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": at})
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    return events_reply([*events, ended, {"type": "message_stop"}])


def replies(api: str) -> list[Reply]:
    """Two calls of one refund, and a last word that holds an address."""
    last = "Done, lena.vogt@posteo-mail.de."
    if api == "anthropic":
        calls = [{"type": "tool_use", "id": f"toolu_{number}", "name": "refund", "input": {}} for number in range(2)]
        return [streamed(BLOCKS[0], calls[0]), streamed(calls[1]), streamed({"type": "text", "text": last})]
    said = {**SAID, "content": [{"type": "output_text", "text": last, "annotations": []}]}
    return [json_reply(response(*items)) for items in ([REASONING, refunding(1)], [refunding(2)], [said])]


@pytest.mark.parametrize(("api", "code"), [("responses", RESPONSES), ("anthropic", ANTHROPIC)])
def test_a_recorded_agent_becomes_a_case_that_replays(
    project: Project, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, api: str, code: str
) -> None:
    """Every model call and tool is answered from the case, and an address of the recording does not come back."""
    server.will(*replies(api))
    project.write(f"{api}_agent.py", code)
    monkeypatch.setenv("MODEL_URL", server.url)
    assert project.spawn("record", "--", sys.executable, f"{api}_agent.py").code == 0
    (trace,) = load_traces("run.trace")
    assert [step.kind for step in trace.steps] == ["model", "tool", "model", "tool", "model"]

    monkeypatch.delenv("MODEL_URL")
    expected = project.write("expected.json", {"effects": [{"name": "refund", "arguments": {"order": 7}}]})
    done = project.run("ingest", "run.trace", "--id", "refunds", "--expect", str(expected))
    assert done.code == 0, done.err
    monkeypatch.syspath_prepend(str(project.root))
    (again,) = project.run("replay", "refunds", "--target", f"{api}_agent:run", "--json").json()
    assert again["counts"] == {**again["counts"], "tool_bodies": 0, "live_model": 0, "substituted": 5}
    assert again["status"] == "failed"
    assert "lena.vogt" not in json.dumps(again)
