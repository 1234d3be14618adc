"""Substituted model calls through the real OpenAI SDK, six a replay: evalkit, vcrpy, Stepfork, an in-memory server.

Used by ``replay.py``. The in-memory transport alone is what the SDK itself costs: it builds the request, parses the
answer, and nothing is looked up. vcrpy has its cassette loaded once, and matches by the body as well, since without
that it answers any prompt with the next recording. Stepfork's adapter goes round the SDK and gives a dictionary.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from replay_tools import CALLS, Replays, frozen_replays

from evalkit.check.model import Check

__all__ = ["ASKED", "model_replays"]

ASKED: list[str] = []
QUESTIONS = [f"Is service {number} down? " + "Look at its error rate. " * 20 for number in range(CALLS)]


def model_replays(folder: Path) -> dict[str, Replays]:
    """Each way of replaying, by name; peers only where they are installed, nothing without the SDK."""
    try:
        import httpx2
        import openai
    except ImportError:
        return {}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=_answer(json.loads(request.content))))
    sdk = openai.OpenAI(base_url="http://model.test/v1", api_key="none", http_client=httpx2.Client(transport=transport))

    def agent() -> list[str]:
        return [_said(sdk.chat.completions.create(**_request(question)).model_dump()) for question in QUESTIONS]

    ways = {"sdk alone": _alone(agent), "evalkit": _evalkit(folder, agent)}
    peers = {"vcrpy": _vcrpy(folder, agent), "stepfork": _stepfork(folder, sdk)}
    return {**ways, **{name: made for name, made in peers.items() if made is not None}}


def _request(question: str) -> dict[str, Any]:
    system = {"role": "system", "content": "You watch over services. Answer briefly. " * 10}
    return {"model": "gpt-test", "temperature": 0, "messages": [system, {"role": "user", "content": question}]}


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What the server in memory says; counted, because a substituted call must not come here."""
    ASKED.append(asked["messages"][-1]["content"])
    message = {"role": "assistant", "content": f"On '{ASKED[-1][:20]}': yes, since 42 minutes. " * 5, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-test",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 40, "total_tokens": 160},
    }


def _said(completion: dict[str, Any]) -> str:
    return str(completion["choices"][0]["message"]["content"])


def _alone(agent: Callable[[], list[str]]) -> Replays:
    def replay(count: int) -> None:
        for _ in range(count):
            assert len(agent()) == CALLS

    return replay


def _evalkit(folder: Path, agent: Callable[[], list[str]]) -> Replays:
    return frozen_replays(folder / "models.trace", agent, Check("completed", {}), CALLS)


def _vcrpy(folder: Path, agent: Callable[[], list[str]]) -> Replays | None:
    try:
        import vcr
    except ImportError:
        return None
    file = str(folder / "models.yaml")
    match = ["method", "scheme", "host", "port", "path", "query", "body"]
    with vcr.use_cassette(file, match_on=match):
        recorded = agent()

    def replay(count: int) -> None:
        with vcr.use_cassette(file, match_on=match, record_mode="none", allow_playback_repeats=True):
            for _ in range(count):
                assert agent() == recorded

    return replay


def _stepfork(folder: Path, sdk: Any) -> Replays | None:
    try:
        import stepfork
        from stepfork.integrations.openai import chat_completions_create
    except ImportError:
        return None

    def agent() -> list[str]:
        return [_said(chat_completions_create(sdk, **_request(question))) for question in QUESTIONS]

    bundle = folder / "models.sftrace"
    with stepfork.record("bench", output=bundle):
        recorded = agent()
    trace = stepfork.Trace.load(bundle)

    def replay(count: int) -> None:
        for _ in range(count):
            with stepfork.ReplaySession(trace, mode="frozen") as session:
                assert agent() == recorded
            session.verify_complete()

    return replay
