"""Forks of real imported runs: a model that repeats the recorded answers gets the recorded results."""

from __future__ import annotations

from typing import Any

import pytest

import evalkit
from evalkit.check.model import Check
from evalkit.trace.model import Trace
from evalkit.trace.modes import fork_refusal
from evalkit.trace.read import load_traces
from evalkit.wire.openai_message import message_to_openai
from tests.build import a_case
from tests.capture.scripted_server import completion, json_reply, scripted_server
from tests.corpora import CORPORA, needs_corpora

FILES = [
    "langfuse/agno-2025-06-11.trace.json",
    "langfuse/vercel-aisdk-2025-11-17.trace.json",
    "langfuse/crewai-2025-07-11.trace.json",
]


@needs_corpora
@pytest.mark.parametrize("name", FILES)
def test_a_model_that_repeats_itself_gets_what_it_got(name: str) -> None:
    """From each step that a fork can start at: as many results as the model asked for, and no miss."""
    (trace,) = load_traces(str(CORPORA / name))
    starts = [step.seq for step in trace.of_kind("model") if fork_refusal(trace, step.seq) is None]
    assert starts
    for start in starts:
        said = _said_from(trace, start)
        with scripted_server() as server:
            server.will(*[json_reply(completion(**message)) for message in said])
            case = a_case(trace, checks=[Check("repeated_effect", {"names": ["none"]})])
            done = evalkit.replay(case, mode="fork", from_step=start, base_url=server.url)
        assert done.status == "passed", done.reason
        assert done.counts.live_model == len(said)
        assert done.counts.substituted == sum(len(message.get("tool_calls") or ()) for message in said)
        assert done.counts.tool_bodies == 0


def _said_from(trace: Trace, start: int) -> list[dict[str, Any]]:
    """What the model said from a step on, up to the first answer that calls nothing."""
    found: list[dict[str, Any]] = []
    for step in trace.of_kind("model"):
        if step.seq >= start:
            message = message_to_openai(step.output)
            found.append({key: value for key, value in message.items() if key not in ("role", "refusal")})
            if not message.get("tool_calls"):
                return found
    return [*found, {"content": "That is all."}]  # a record that ends with a call
