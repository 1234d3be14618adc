"""Model calls that come over HTTP: answered from the recording, or by the live model, and told to the session."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from evalkit.capture.exchange import Exchange, Reply, begin_exchange
from evalkit.capture.seam import Answer, Position, Session
from evalkit.playback.endpoint.model import EndpointHalt, GivenUp
from evalkit.playback.endpoint.watched import TooManyCalls
from evalkit.playback.environment import NO_MODEL_URL
from evalkit.playback.fixtures import ReplayHalt
from evalkit.playback.gateway.http_server import Request, Response, json_response
from evalkit.playback.gateway.self_run import SelfRun, ToolCall
from evalkit.playback.known_tools import KnownTools
from evalkit.trace.model import StepError
from evalkit.wire.json_text import object_of
from evalkit.wire.protocol import Wire

__all__ = ["ModelCalls", "api_error"]

_NO_MODEL = "this replay has no live model"


class ModelCalls:
    """One session's model.

    Args:
        endpoint: base URL of a live model, which the session's caller asks; None where none answers.
        lock: held while the session decides.
    """

    def __init__(
        self,
        session: Session,
        endpoint: str | None,
        tools: KnownTools,
        lock: threading.Lock,
        self_run: SelfRun,
    ) -> None:
        self._session = session
        self._tools = tools
        self._base_url = NO_MODEL_URL if endpoint is None else endpoint.rstrip("/")
        self._lock = lock
        self._self_run = self_run
        self.last_text: str | None = None
        """What the model said last."""
        self._waited_s = 0.0
        self._began: list[float] = []
        self.stopped: BaseException | None = None
        """Why the agent is to be stopped."""
        self.halted = False
        """Whether a live call had no answer, so that the replay says nothing about the agent."""

    @property
    def waited_s(self) -> float:
        """Seconds for which answers of the live model are waited for up to now; calls at once count each."""
        with self._lock:
            return self._waited_s + sum(time.monotonic() - began for began in self._began)

    def answer(self, wire: Wire, request: Request) -> Response | None:
        """The response to a request that speaks `wire`; None where its body is no request of that API."""
        asked = wire.request(request.body)
        if asked is None:
            return None
        url = self._base_url + request.path.removeprefix("/v1") + (f"?{request.query}" if request.query else "")
        with self._lock, Position(self._session, None).taken():
            for done in self._self_run.found_in(asked.asked.get("messages")):
                self._done_elsewhere(done)
            try:
                exchange = begin_exchange("POST", url, request.body, request.headers)
            except ReplayHalt as halt:
                return api_error(wire, 400, f"evalkit: {halt}")
            if exchange is None:
                return api_error(wire, 404, f"{request.path} is no model call")
            if exchange.turn.answer is not None:
                return self._told(exchange)
            began = time.monotonic()
            self._began.append(began)
        try:
            return self._told(exchange)
        except EndpointHalt as halt:
            self.halted = True
            return api_error(wire, 502, f"evalkit: {halt.reason}")
        except TooManyCalls as stop:
            self.stopped = stop
            return api_error(wire, 429, f"evalkit: {stop}")
        except GivenUp as over:
            return api_error(wire, 502, f"evalkit: {over}")
        finally:
            with self._lock:
                self._began.remove(began)
                self._waited_s += time.monotonic() - began

    def _done_elsewhere(self, done: ToolCall) -> None:
        """Tells of a tool that the agent ran itself."""
        arguments = done.arguments if isinstance(done.arguments, dict) else {"arguments": done.arguments}
        call = replace(self._tools.call(done.name, arguments), attributes={"run_by": "the agent itself"})
        said = object_of(done.said) if isinstance(done.said, str) else done.said
        self._session.done_elsewhere(call, Answer(said))

    def _told(self, exchange: Exchange) -> Response:
        """The response to a call, recorded or live."""
        reply, said = exchange.reply(), exchange.turn.outcome
        if reply is None or said is None:
            exchange.turn.end(Answer(error=StepError("NoLiveModel", _NO_MODEL)))
            return api_error(exchange.wire, 400, f"evalkit: {_NO_MODEL}")
        self._said(said)
        return _response(reply)

    def _said(self, answer: Answer) -> None:
        self._self_run.model_said(answer.output)
        content = answer.output.get("content") if isinstance(answer.output, dict) else None
        if isinstance(content, str):
            self.last_text = content
        elif isinstance(content, list):
            texts = [part.get("text") for part in content if isinstance(part, dict)]
            self.last_text = "".join(text for text in texts if isinstance(text, str)) or self.last_text


def api_error(wire: Wire, status: int, message: str) -> Response:
    """An error in the form of an API, which its SDK shows and does not try again."""
    if wire.name == "anthropic":
        body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    else:
        body = {"error": {"message": message, "type": "evalkit", "param": None, "code": "evalkit"}}
    return json_response(status, body, x_should_retry="false")


def _response(reply: Reply) -> Response:
    """A recorded reply. A call that never got a response, or whose stream broke, meets a closed connection again."""
    if reply.status is None:
        return Response(502, broken=True)
    headers = dict(reply.headers or {})
    if reply.body is not None:
        return Response(reply.status, headers, reply.body)
    return Response(reply.status, headers, pieces=reply.pieces, broken=reply.failure is not None)
