"""The gateway: one replay's session over HTTP, for agents that are not in this process.

It speaks the model APIs of `wire.registry` (OpenAI's and Anthropic's), and serves the frozen tools over MCP.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import unquote

from evalkit.canonical import Json
from evalkit.capture.seam import Session
from evalkit.playback.gateway.address import Address
from evalkit.playback.gateway.body import read_body
from evalkit.playback.gateway.http_server import Request, Response, json_response, serve_loopback
from evalkit.playback.gateway.mcp_server import McpServer
from evalkit.playback.gateway.model_calls import ModelCalls, api_error
from evalkit.playback.gateway.self_run import SelfRun
from evalkit.playback.gateway.side_requests import SideRequests
from evalkit.playback.known_tools import KnownTools
from evalkit.trace.model import Trace
from evalkit.wire.body import dump_json
from evalkit.wire.mcp import PARSE_ERROR, error_reply
from evalkit.wire.protocol import Wire
from evalkit.wire.registry import find_wire

__all__ = ["Gateway"]

_SERVED = "serves POST /v1/chat/completions, /v1/responses, /v1/messages and /mcp, and GET /v1/models"


class Gateway:
    """One session behind HTTP.

    Args:
        session: what decides and tells.
        incident: the case's run, for its tools.
        endpoint: base URL of a live model; None where none answers.
        missed: how many misses there are so far.
        give_up: ends what waits for the live model.

    Attributes:
        faults: what failed in the gateway itself, in words; such a replay says nothing about the agent.
        stirred: set when a call was missed; whoever waits for the agent may set and clear it.
        asked: whether the agent found its way here at all.
    """

    def __init__(
        self,
        session: Session,
        incident: Trace,
        endpoint: str | None = None,
        missed: Callable[[], int] = lambda: 0,
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        lock = threading.Lock()
        self._self_run = SelfRun()
        tools = KnownTools(incident)
        self._model = ModelCalls(session, endpoint, tools, lock, self._self_run)
        self._side = SideRequests(session, incident, lock)
        self._tools = McpServer(session, incident, tools, lock, self._self_run.served)
        self._give_up = give_up
        self._missed = missed
        self._output: list[Json] = []
        self._token = ""
        self._closed = False
        self.faults: list[str] = []
        self.stirred = threading.Event()
        self.asked = False

    @property
    def missed(self) -> bool:
        """Whether a call had no answer, recorded or live."""
        return self._missed() > 0 or self._model.halted

    @property
    def stopped(self) -> BaseException | None:
        """Why the agent is to be stopped; None while it may go on."""
        return self._model.stopped

    @property
    def waited_s(self) -> float:
        """Seconds for which a live model was waited for: not the agent's."""
        return self._model.waited_s

    @property
    def said(self) -> tuple[bool, Json]:
        """Whether the agent's answer was told (at ``/output``), and that, or the text that the model said last."""
        return (True, self._output[-1]) if self._output else (False, self._model.last_text)

    @contextmanager
    def serving(self, port: int = 0, token: str = "") -> Iterator[Address]:
        """Serves while the block runs; gives the address. Calls that are under way at its end are given up.

        Raises:
            ConfigError: the port can't be had.
        """
        self._token = token
        with serve_loopback(port, self.answer) as own:
            try:
                yield Address(own, token)
            finally:
                self._closed = True
                self._give_up()

    def answer(self, request: Request) -> Response:
        """The response to any request; a fault of the gateway's own is noted and answered as one."""
        if self._closed:
            return json_response(503, _error("the replay is over"))
        try:
            return self._answer(request)
        except Exception as error:  # noqa: BLE001  # the border: nothing that is sent here may end the session
            self.faults.append(f"{type(error).__name__}: {error}")
            return json_response(
                500, _error(f"evalkit failed: {type(error).__name__}: {error}"), x_should_retry="false"
            )
        finally:
            if self.missed or self.stopped is not None:
                self.stirred.set()

    def reply(self, line: bytes) -> bytes | None:
        """The answer to one MCP message, as JSON; None where none is due."""
        try:
            message, _ = read_body(line)
        except ValueError as error:
            return dump_json(error_reply(None, PARSE_ERROR, f"not JSON: {error}"))
        self.asked = True
        found = self._tools.reply(message)
        return None if found is None else dump_json(found)

    def _answer(self, request: Request) -> Response:
        path = self._own_path(request.path)
        if path is None:
            return json_response(404, _error("the path lacks this session's token; use the printed base URLs"))
        request = replace(request, path=path)
        wire = find_wire("POST", path)
        aside = self._side.serves(path)
        if wire is None and aside is None and path not in ("/mcp", "/output"):
            return self._unserved(request)
        if path == "/mcp":
            return self._mcp(request)
        self.asked = True
        if aside is not None:
            method, answer = aside
            return answer(request) if request.method == method else _other_method(request, method)
        if request.method != "POST":
            return _other_method(request, "POST")
        if wire is None:
            return self._told(request)
        try:
            value, as_sent = read_body(request.body)
        except ValueError as error:
            return self._unasked(wire, request, f"the body is not JSON: {error}")
        response = self._model.answer(wire, request if as_sent else replace(request, body=dump_json(value)))
        if response is None:
            return self._unasked(wire, request, f"the body is no request of this API ({wire.name})")
        return response

    def _unasked(self, wire: Wire, request: Request, words: str) -> Response:
        """A call of a model API that asks its model nothing, so that no recording holds it."""
        return self._side.unrecorded(request, lambda why: api_error(wire, 400, f"{words}; {why}"))

    def _unserved(self, request: Request) -> Response:
        """A path that nothing here answers: a look whether there is something, or a call that nobody recorded."""
        words = f"there is no {request.path[:200]!r}; the gateway {_SERVED}"
        looks = request.method == "GET" and not request.path.startswith("/v1/")
        if looks or request.method in ("HEAD", "OPTIONS"):
            return json_response(404, _error(words))
        self.asked = True
        return self._side.unrecorded(request, lambda why: json_response(404, _error(f"{words}; {why}")))

    def _own_path(self, path: str) -> str | None:
        if not self._token:
            return path
        token, slash, rest = path.removeprefix("/").partition("/")
        return f"/{rest}" if slash and unquote(token) == self._token else None

    def _mcp(self, request: Request) -> Response:
        """Streamable HTTP without streams: every request is answered at once, and the server asks nothing itself."""
        if request.method != "POST":
            words = "this server sends no messages of its own, and has no sessions to end"
            return json_response(405, _error(words), allow="POST")
        reply = self.reply(request.body)
        if reply is None:
            return Response(202)
        return Response(200, {"content-type": "application/json"}, reply)

    def _told(self, request: Request) -> Response:
        try:
            self._output.append(read_body(request.body)[0])
        except ValueError as error:
            return json_response(400, _error(f"the agent's answer is told as JSON: {error}"))
        return Response(204)


def _other_method(request: Request, method: str) -> Response:
    return json_response(405, _error(f"{request.path} takes {method}, got {request.method}"), allow=method)


def _error(message: str) -> dict[str, Json]:
    return {"error": {"type": "evalkit_gateway", "message": message}}
