"""What SDKs ask of a model API beside its answers: which models there are, and embeddings.

The models are those of the recording. Embeddings are in no recording, nor is whatever else an API offers (moderation,
counting of tokens, files), so a request for them is a miss, as any other call of which the case holds nothing: the
agent is told so, and the replay says nothing about it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from evalkit.capture.encodable import encodable
from evalkit.capture.seam import Answer, Call, Session
from evalkit.playback.fixtures import ReplayHalt
from evalkit.playback.gateway.body import read_body
from evalkit.playback.gateway.http_server import Request, Response, json_response
from evalkit.playback.keys import requested_model
from evalkit.trace.model import StepError, Trace

__all__ = ["SideRequests"]

_MODELS = "/v1/models"
_EMBEDDINGS = "/v1/embeddings"
_SHOWN = 200
"""Letters of a path, or of a body that is no JSON, that are kept."""


class SideRequests:
    """One session's answers to them.

    Args:
        incident: the case's run.
        lock: held while the session decides.
    """

    def __init__(self, session: Session, incident: Trace, lock: threading.Lock) -> None:
        self._session = session
        self._lock = lock
        asked = [name for step in incident.of_kind("model") for name in (requested_model(step), step.model) if name]
        self._models = [_described(name, incident.started_at or 0.0) for name in dict.fromkeys(asked)]

    def serves(self, path: str) -> tuple[str, Callable[[Request], Response]] | None:
        """The method that a path takes, and what answers it; None for another path."""
        if path == _MODELS or path.startswith(f"{_MODELS}/"):
            return "GET", self._listed
        return ("POST", self._embedded) if path == _EMBEDDINGS else None

    def _listed(self, request: Request) -> Response:
        """The list of the models or one of them, in a form that OpenAI's and Anthropic's SDKs both read."""
        if request.path != _MODELS:
            name = unquote(request.path.removeprefix(f"{_MODELS}/"))
            found = next((model for model in self._models if model["id"] == name), None)
            if found is None:
                words = f"the case recorded no call of model {name[:200]!r}"
                return json_response(404, _error(words, "model_not_recorded"), x_should_retry="false")
            return json_response(200, found)
        ends = [self._models[at]["id"] if self._models else None for at in (0, -1)]
        page = {"has_more": False, "first_id": ends[0], "last_id": ends[1]}
        return json_response(200, {"object": "list", "data": self._models, **page})

    def _embedded(self, request: Request) -> Response:
        try:
            asked, _ = read_body(request.body)
        except ValueError as error:
            return json_response(400, _error(f"the body is not JSON: {error}", "no_json"))
        call = Call("retrieval", "embeddings", asked)
        return self._answered(call, lambda why: _refused(f"{why}; embeddings are not recorded"))

    def unrecorded(self, request: Request, refused: Callable[[str], Response]) -> Response:
        """The answer to a request of a kind that no recording holds: a miss, as the tool ``POST /its/path``.

        Args:
            refused: the response for who gets no answer, and why.
        """
        try:
            asked, _ = read_body(request.body) if request.body else (None, True)
        except ValueError:
            asked = encodable(request.body[:_SHOWN].decode("utf-8", "replace"))
        return self._answered(Call("tool", f"{request.method} {request.path[:_SHOWN]}", asked), refused)

    def _answered(self, call: Call, refused: Callable[[str], Response]) -> Response:
        with self._lock:
            try:
                turn = self._session.begin(call)
            except ReplayHalt as halt:
                return refused(f"evalkit: {halt}")
            answer = turn.answer or Answer(error=StepError("NotRecorded", f"{call.name} has no body to run"))
            turn.end(answer)
        if answer.error is not None:
            return refused(f"evalkit: {answer.error.message}")
        if not isinstance(answer.output, dict):
            return refused(f"evalkit: a stub of {call.name} is a whole response: an object of JSON")
        return json_response(200, answer.output)


def _described(name: str, started_at: float) -> dict[str, Any]:
    """A model as both APIs describe one."""
    made_at = datetime.fromtimestamp(started_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ours = {"id": name, "object": "model", "created": int(started_at), "owned_by": "evalkit"}
    return {**ours, "type": "model", "display_name": name, "created_at": made_at}


def _refused(why: str) -> Response:
    return json_response(400, _error(why, "embeddings_not_recorded"), x_should_retry="false")


def _error(message: str, code: str) -> dict[str, Any]:
    """An error as both APIs tell one."""
    return {"type": "error", "error": {"message": message, "type": "evalkit", "param": None, "code": code}}
