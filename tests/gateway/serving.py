"""A gateway in this process, for the tests that speak to it directly."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.playback.gateway.gateway import Gateway
from evalkit.playback.model import Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.protocol import Surroundings

__all__ = ["Caller", "Served", "serving"]


@dataclass
class Served:
    """A session that is open while a test speaks to it.

    Attributes:
        replay: what it came to, once it is over.
    """

    around: Surroundings | None = None
    replay: Replay | None = None
    caller: Caller = field(default_factory=lambda: Caller(0, ""))

    @property
    def gateway(self) -> Gateway:
        """The gateway itself."""
        assert self.around is not None
        return self.around.gateway

    @property
    def done(self) -> Replay:
        """The finished replay."""
        assert self.replay is not None
        return self.replay


@dataclass
class Caller:
    """Asks over plain HTTP."""

    port: int
    prefix: str

    def ask(self, path: str, body: Any = None, method: str = "POST", **headers: str) -> tuple[int, Any]:
        """Status and body (as JSON where it is) of one request; underscores in header names stand for dashes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, self.prefix + path, data, named)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        try:
            return response.status, json.loads(raw)
        except ValueError:
            return response.status, raw

    def raw(self, data: bytes) -> bytes:
        """What comes back for some bytes, until the server hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            found = b""
            while piece := connection.recv(65536):
                found += piece
        return found

    def rpc(self, method: str, params: Any = None, request_id: Any = 1) -> Any:
        """The answer to one MCP request."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}
        status, body = self.ask("/mcp", message, content_type="application/json")
        assert status == 200, body
        return body


@contextmanager
def serving(case: Case, *, token: str = "t0k", **options: Any) -> Iterator[Served]:
    """A replay of a case whose agent is the code inside of the block.

    Args:
        options: those of `playback.replay.prepare`.
    """
    served, opened, over = Served(), threading.Event(), threading.Event()
    raised: list[BaseException] = []

    class Here:
        place = (0, token)

        def run_outside(self, given: Json, around: Surroundings) -> Json:
            served.around = around
            served.caller = Caller(around.address.port, f"/{around.address.token}")
            opened.set()
            over.wait()
            return around.gateway.said[1]

    def replay() -> None:
        try:
            served.replay = prepare(case, **options).replay(Here())
        except BaseException as error:
            raised.append(error)
        finally:
            opened.set()

    thread = threading.Thread(target=replay)
    thread.start()
    opened.wait()
    if raised:
        raise raised[0]
    try:
        yield served
    finally:
        over.set()
        thread.join()
    if raised:
        raise raised[0]
