"""A small HTTP server on the loopback: one function answers every request, and nothing sent to it stops it.

It binds 127.0.0.1 only. A request whose ``Host`` or ``Origin`` is not its own is refused: that is how a web page in a
browser on this machine would reach it (DNS rebinding).
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from evalkit.errors import ConfigError

__all__ = ["LARGEST_BODY", "Request", "Response", "json_response", "serve_loopback"]

LARGEST_BODY = 64 << 20
"""Bytes that a request may have."""

_IDLE_S = 120.0
_LINGER_S = 1.0
_JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks.

    Attributes:
        path: without the query.
        headers: names in lower case.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """What it gets.

    Attributes:
        pieces: of a streamed body, sent as they come; None for a whole one.
        broken: close the connection in place of a response, or after the pieces, as a network does that fails.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: Iterable[bytes] | None = None
    broken: bool = False


def json_response(status: int, body: Any, **headers: str) -> Response:
    """A JSON body; underscores in the names of headers stand for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, {"content-type": "application/json", **named}, json.dumps(body).encode())


@contextmanager
def serve_loopback(port: int, answer: Callable[[Request], Response]) -> Iterator[int]:
    """Serves while the block runs; gives the port.

    Args:
        port: 0 for a free one.
        answer: is called in a thread of its own for every connection; must not raise.

    Raises:
        ConfigError: the port can't be had.
    """
    try:
        server = _Server(port, answer)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"port {port} can't be had: {why}", "gateway", "choose another, or one replay at a time"
        ) from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="evalkit-gateway")
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.end()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, answer: Callable[[Request], Response]) -> None:
        self.answer = answer
        self._open: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)
        own = f"127.0.0.1:{self.server_address[1]}", f"localhost:{self.server_address[1]}"
        self.own = frozenset(own)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers a connection in its thread, which `end` can wait for."""
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        with self._lock:
            self._open[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Closes a connection."""
        super().shutdown_request(request)
        with self._lock:
            self._open.pop(request, None)

    def end(self) -> None:
        """Closes everything that is still open."""
        self.server_close()
        with self._lock:
            left = dict(self._open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + _JOIN_S
        for thread in left.values():
            thread.join(max(0.0, until - time.monotonic()))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Refused(Exception):
    """A request that is not answered by the function: status and words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(status, words)
        self.status = status
        self.words = words


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "evalkit", ""
    disable_nagle_algorithm = True  # head and body are two writes: a small answer would wait for an acknowledgement
    server: _Server
    timeout = _IDLE_S

    def serve(self) -> None:
        """Any method."""
        try:
            self._check_origin()
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Request(self.command, parts.path, parts.query, headers, self._body())
        except _Refused as refused:
            self._refuse(refused.status, refused.words)
        except ValueError as error:
            self._refuse(400, f"the request can't be read: {error}")
        else:
            self._send(self.server.answer(asked))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = serve  # noqa: N815  # http.server's names

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server itself refuses: a broken request line, an unknown method."""
        self._refuse(int(code), message or explain or "the request can't be read")

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: what a session did is told at its end."""

    def _check_origin(self) -> None:
        host, origin = self.headers.get("host", ""), self.headers.get("origin")
        if host.lower() not in self.server.own:
            raise _Refused(403, f"host {host[:80]!r} is not this gateway; ask {min(self.server.own)}")
        if origin is not None and urlsplit(origin).netloc.lower() not in self.server.own:
            raise _Refused(403, f"origin {origin[:80]!r} is foreign: web pages may not ask this gateway")

    def _body(self) -> bytes:
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise _Refused(415, "compressed requests are not read; send the body as it is")
        if "transfer-encoding" in self.headers:
            if self.headers["transfer-encoding"].strip().lower() != "chunked":
                raise _Refused(400, "a transfer encoding other than chunked")
            return self._chunks()
        length = self.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise _Refused(400, f"content-length {length[:40]!r} is no number")
        return self._read(_within_limit(int(length[:20])))

    def _chunks(self) -> bytes:
        found: list[bytes] = []
        total = 0
        while True:
            head = self.rfile.readline(1024).partition(b";")[0].strip()
            if not head or len(head) > 16:
                raise _Refused(400, "a chunk without its size")
            size = int(head, 16)
            total = _within_limit(total + max(size, 0))
            if size <= 0:
                break
            found.append(self._read(size))
            self.rfile.readline(8)
        while self.rfile.readline(8192).strip():  # trailers
            pass
        return b"".join(found)

    def _read(self, size: int) -> bytes:
        body = self.rfile.read(size)
        if len(body) < size:
            raise _Refused(400, f"the body ends after {len(body)} of {size} bytes")
        return body

    def _refuse(self, status: int, words: str) -> None:
        """Says why, and hangs up: what is left of the request can't be told from a next one."""
        self.close_connection = True
        if not hasattr(self, "command") or self.command is None:
            self.command = "GET"
        self.request_version = self.protocol_version  # of a line that could not be read, it is one without a status
        self._send(json_response(status, {"error": {"type": "evalkit_gateway", "message": words}}, connection="close"))
        self._linger()

    def _linger(self) -> None:
        """Reads on for a moment: closing on unread bytes would reset the connection before the answer is read."""
        until = time.monotonic() + _LINGER_S
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            while time.monotonic() < until:
                self.connection.settimeout(max(0.01, until - time.monotonic()))
                if not self.connection.recv(1 << 16):
                    break

    def _send(self, response: Response) -> None:
        if response.broken and response.pieces is None:
            self.close_connection = True
            return
        pieces = response.pieces
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if pieces is None:
            if response.status != 204:
                self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for piece in pieces:
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if response.broken:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()


def _within_limit(size: int) -> int:
    if size > LARGEST_BODY:
        raise _Refused(413, f"the body is larger than {LARGEST_BODY >> 20} MiB")
    return size
