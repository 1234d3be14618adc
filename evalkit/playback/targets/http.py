"""An agent service: the case's input is posted to it, what it responds is the answer.

Each request says where the replay's model and tools are, in headers: ``X-Evalkit-OpenAI-Base-URL``,
``X-Evalkit-Anthropic-Base-URL`` and ``X-Evalkit-MCP-URL``. A service that was started with fixed base URLs has its
gateway at a fixed port instead, and one replay at a time. Nothing of the service itself is kept in: its clock, files,
memory of earlier requests and network are its own.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from evalkit.canonical import Json, exact_text
from evalkit.playback.targets.answer import answer_of
from evalkit.playback.targets.protocol import Surroundings, TargetUnavailable
from evalkit.playback.targets.tables import HttpTable, read_table
from evalkit.playback.targets.waiting import MOST_SAID, wait_for

__all__ = ["HttpTarget", "ServiceFailed"]

_HANG_UP_S = 5.0
_CONNECT_S = 10.0
_OUTAGES = (502, 503, 504)


class ServiceFailed(Exception):
    """The service refused the input, or failed on it."""


class HttpTarget:
    """The service that a URL or a table names.

    Raises:
        ConfigError: the table is wrong.
    """

    def __init__(self, reference: str | Callable[..., Any] | Mapping[str, Json]) -> None:
        self._table = read_table(HttpTable, {"url": reference} if isinstance(reference, str) else reference, "http")

    @property
    def place(self) -> tuple[int, str]:
        """Where the gateway must be."""
        return self._table.port, self._table.token

    def run_outside(self, given: Json, around: Surroundings) -> Json:
        """Posts the input and waits for the answer.

        Raises:
            ServiceFailed: by the response's status.
            TargetUnavailable: there is no service, or a proxy in front of it says so.
            ReplayTimeout, ReplayHalt: it was not waited for any longer.
        """
        post = _Post(self._table, exact_text(given), around)
        post.start()
        try:
            stopped = wait_for(post.done, around)
        finally:
            post.end()
        if stopped is not None:
            raise stopped
        status, body = post.response()
        if status in _OUTAGES:
            raise TargetUnavailable(f"{self._table.url} answers with status {status}")
        if status >= 300:
            raise ServiceFailed(f"status {status}: {body[:500].decode('utf-8', 'replace')}")
        return answer_of(body, self._table.output)


class _Post:
    """One request under way, in a thread of its own."""

    def __init__(self, table: HttpTable, body: bytes, around: Surroundings) -> None:
        parts = urlsplit(table.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.netloc.rpartition("@")[2], timeout=min(_CONNECT_S, around.timeout_s / 2))
        self._url = table.url
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._body = body
        self._headers = {
            "Content-Type": "application/json",
            "X-Evalkit-OpenAI-Base-URL": around.address.openai,
            "X-Evalkit-Anthropic-Base-URL": around.address.url,
            "X-Evalkit-MCP-URL": around.address.mcp,
            **table.headers,
        }
        self._stirred = around.gateway.stirred
        self._found: tuple[int, bytes] | None = None
        self._error = ""
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def start(self) -> None:
        """Asks."""
        self._thread.start()

    def done(self) -> bool:
        """Whether there is a response, or there will be none."""
        return self._found is not None or bool(self._error)

    def end(self) -> None:
        """Hangs up."""
        with contextlib.suppress(OSError, AttributeError):  # there may be no connection
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(_HANG_UP_S)
        self._connection.close()

    def response(self) -> tuple[int, bytes]:
        """Status and body.

        Raises:
            TargetUnavailable: none came.
        """
        if self._found is None:
            raise TargetUnavailable(f"{self._url} can't be reached: {self._error}")
        return self._found

    def _ask(self) -> None:
        try:
            self._connection.connect()
            self._connection.sock.settimeout(None)  # how long an answer may take, `wait_for` decides
            self._connection.request("POST", self._path, self._body, self._headers)
            response = self._connection.getresponse()
            self._found = response.status, response.read(MOST_SAID)
        except (OSError, HTTPException) as error:
            self._error = f"{type(error).__name__}: {error}"
        finally:
            self._stirred.set()
