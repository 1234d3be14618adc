"""The built-in agent loop: goes on from a recorded model step where the agent's own code is not at hand.

It asks an OpenAI-compatible endpoint, carries out the calls through the session (which answers them from fixtures), and
asks again, until the model calls nothing or the limit is met. Every call it makes is seen as an agent's would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.canonical import Json, exact_text
from evalkit.capture.seam import Answer, Position, Session, current_session
from evalkit.playback.endpoint.client import client_library
from evalkit.playback.known_tools import KnownTools
from evalkit.playback.overrides import chat_tool
from evalkit.playback.shape import shaped_as
from evalkit.trace.model import Step, Trace
from evalkit.wire.json_text import object_of
from evalkit.wire.openai_message import message_to_openai

__all__ = ["AgentLoop", "EndpointError", "StepLimit", "first_request"]

_PARAMS = frozenset(
    "temperature top_p max_tokens max_completion_tokens stop seed presence_penalty frequency_penalty response_format "
    "tool_choice parallel_tool_calls reasoning_effort logit_bias".split()
)
_EMPTY: tuple[Any, ...] = (None, "", [], {})


class EndpointError(Exception):
    """The endpoint gave no completion."""


class StepLimit(Exception):
    """The model went on calling tools."""


class AgentLoop:
    """A target that starts at a recorded model step.

    Args:
        trace: the run.
        seq: number of the model step; its messages are whole (see `trace.modes.fork_refusal`).
        base_url: the endpoint, up to ``/v1``.
        max_turns: model calls after which it stops with `StepLimit`.
    """

    def __init__(self, trace: Trace, seq: int, base_url: str, *, max_turns: int = 20) -> None:
        self._trace = trace
        self._step = trace.step(seq)
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._max_turns = max_turns
        self._tools = KnownTools(trace)

    def run(self, given: Json) -> Json:
        """Goes on from the step; the final answer, in the shape that the run's own has.

        Raises:
            EndpointError: no completion came.
            StepLimit: the model did not come to an end.
        """
        session = current_session()
        assert session is not None, "the loop runs in replays only"
        body, _ = first_request(self._step)
        messages = body["messages"]
        http = client_library()
        with (
            Position(session, self._step.parent).taken(),
            http.Client(trust_env=False) as client,
        ):
            for _ in range(self._max_turns):
                answer = self._asked(client, body)
                messages.append(
                    {key: value for key, value in answer.items() if value not in _EMPTY or key == "content"}
                )
                calls = answer.get("tool_calls")
                if not isinstance(calls, list) or not calls:
                    return shaped_as(self._trace, answer.get("content"))
                messages += [self._called(session, call) for call in calls]
        raise StepLimit(f"the model still called tools after {self._max_turns} turns")

    def _asked(self, client: Any, body: Mapping[str, Any]) -> dict[str, Any]:
        """The assistant's message."""
        response = client.post(self._url, json=body)
        try:
            message = response.json()["choices"][0]["message"]
        except (ValueError, KeyError, IndexError, TypeError):
            raise EndpointError(f"status {response.status_code}: {response.text[:300]}") from None
        if not isinstance(message, dict):
            raise EndpointError("the completion holds no message")
        return {**message, "role": "assistant"}

    def _called(self, session: Session, call: Any) -> dict[str, Any]:
        """The tool's message that answers a call."""
        function = call.get("function") if isinstance(call, dict) else None
        function = function if isinstance(function, dict) else {}
        name = str(function.get("name") or "")
        arguments = object_of(function.get("arguments"))
        if isinstance(arguments, dict):
            text = self._answered(session, name, arguments)
        else:
            text = _text({"error": f"the arguments of {name} are no JSON object"})
        return {
            "role": "tool",
            "tool_call_id": str(call.get("id") or "") if isinstance(call, dict) else "",
            "content": text,
        }

    def _answered(self, session: Session, name: str, arguments: dict[str, Any]) -> str:
        turn = session.begin(self._tools.call(name, arguments))
        answer = turn.answer or Answer()
        turn.end(answer)
        if answer.error is not None:
            return _text({"error": f"{answer.error.type}: {answer.error.message}"})
        return _text(answer.output)


def first_request(step: Step) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a recorded model step asked, as a chat completion request, and the parameters that it can't say."""
    given: Any = step.input if isinstance(step.input, dict) else {}
    params = {key: value for key, value in (given.get("params") or {}).items() if value is not None}
    own = step.attributes.get("wire") == "openai_chat"
    kept = {key: value for key, value in params.items() if key in _PARAMS or (own and key != "n")}
    body: dict[str, Any] = {**kept, "model": step.attributes.get("requested_model") or step.model or ""}
    body["messages"] = [_message(message) for message in given.get("messages") or ()]
    if given.get("tools"):
        body["tools"] = [chat_tool(tool) for tool in given["tools"]]
    return body, tuple(sorted(set(params) - set(kept)))


def _message(message: Any) -> Any:
    if not isinstance(message, dict):
        return {"role": "user", "content": _text(message)}
    if message.get("role") == "assistant":
        said = message_to_openai(message)
        return {key: value for key, value in said.items() if value is not None or key == "content"}
    content = message.get("content")
    return {**message, "content": content if isinstance(content, str | list) else _text(content)}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else exact_text(value).decode()
