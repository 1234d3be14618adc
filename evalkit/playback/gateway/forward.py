"""A live model behind the gateway: the agent's request goes on to the endpoint, its answer comes back as it comes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import Any

from evalkit.capture.exchange import CLOSED, Exchange
from evalkit.capture.seam import NOWHERE, Answer, error_of
from evalkit.playback.gateway.http_server import Request, Response
from evalkit.trace.model import StepError
from evalkit.wire.answer import kept_headers

__all__ = ["Unreachable", "Upstream"]

_PASSED = ("content-type", "accept", "user-agent", "openai-beta", "anthropic-version", "anthropic-beta")


_GIVEN_UP = StepError("GivenUp", "the replay ended before the answer did")


class Unreachable(Exception):
    """The endpoint gave no response."""


class Upstream:
    """The endpoint of a live model.

    Args:
        base_url: up to ``/v1``.
        openai_key, anthropic_key: what the endpoint is shown; the agent has neither. Empty for none.
    """

    def __init__(self, base_url: str, openai_key: str = "", anthropic_key: str = "") -> None:
        self._base_url = base_url
        self._openai_key = openai_key
        self._anthropic_key = anthropic_key
        self._sockets: set[socket.socket] = set()
        self._over = False

    def hang_up(self) -> None:
        """Gives up the calls that are under way: the threads that wait for them go on."""
        self._over = True
        for one in list(self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def url(self, path: str, query: str = "") -> str:
        """Where a request for `path` (``/v1/chat/completions``) goes."""
        return self._base_url.rstrip("/") + path.removeprefix("/v1") + (f"?{query}" if query else "")

    def headers(self, wire: str, asked: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request that goes on: what the client says of the API, and the endpoint's own key."""
        found = {name: asked[name] for name in _PASSED if name in asked} | {"accept-encoding": "identity"}
        if wire == "anthropic" and self._anthropic_key:
            return {**found, "x-api-key": self._anthropic_key}
        return {**found, "authorization": f"Bearer {self._openai_key}"} if self._openai_key else found

    def forwarded(self, exchange: Exchange, request: Request, url: str, done: Callable[[Answer], None]) -> Response:
        """The endpoint's response, streamed through. The exchange ends with its last byte.

        Args:
            done: is told the whole answer.

        Raises:
            Unreachable: there was none; the exchange has ended so.
        """
        library = _client_library()
        sockets: list[socket.socket] = []

        def connected(event: str, told: Mapping[str, Any]) -> None:
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                sockets.append(told["return_value"].get_extra_info("socket"))
                self._sockets.add(sockets[-1])

        with ExitStack() as stack, NOWHERE.taken():
            stack.callback(lambda: self._sockets.difference_update(sockets))
            client = stack.enter_context(library.Client(timeout=library.Timeout(600.0, connect=10.0), trust_env=False))
            body = request.body if exchange.body is None else exchange.body
            headers = self.headers(exchange.wire.name, request.headers)
            asked = client.stream("POST", url, content=body, headers=headers, extensions={"trace": connected})
            try:
                response = stack.enter_context(asked)
            except library.HTTPError as error:
                exchange.turn.end(Answer(error=self._failure(error)))
                raise Unreachable(f"{type(error).__name__}: {error}") from None
            lower = {name.lower(): value for name, value in response.headers.items()}
            pieces = _Passing(exchange, response, lower, done, library.HTTPError, self._failure, stack.pop_all())
            if exchange.asked.stream and response.status_code < 400:
                return Response(response.status_code, kept_headers(lower), pieces=pieces)
            whole = b"".join(pieces)
            return Response(response.status_code, kept_headers(lower), whole, broken=pieces.failure is not None)

    def _failure(self, error: Exception) -> StepError:
        """What is told of a failed call; one that was given up is not the endpoint's failure."""
        return _GIVEN_UP if self._over else error_of(error)


class _Passing:
    """The bytes of a response, passed on as they come."""

    def __init__(
        self,
        exchange: Exchange,
        response: Any,
        headers: Mapping[str, str],
        done: Callable[[Answer], None],
        fails: type[Exception],
        told: Callable[[Exception], StepError],
        stack: ExitStack,
    ) -> None:
        self._exchange = exchange
        self._response = response
        self._headers = headers
        self._done = done
        self._fails = fails
        self._told = told
        self._stack = stack
        self._chunks: list[bytes] = []
        self._open = True
        self.failure: StepError | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._response.iter_bytes():
                self._chunks.append(chunk)
                yield chunk
        except self._fails as error:
            self._finish(self._told(error))
        else:
            self._finish(None)

    def close(self) -> None:
        """The client reads no further."""
        self._finish(CLOSED)

    def _finish(self, failure: StepError | None) -> None:
        if not self._open:
            return
        self._open = False
        self._stack.close()
        self.failure = failure
        content = b"".join(self._chunks)
        self._done(self._exchange.observed(self._response.status_code, self._headers, content, failure))


def _client_library() -> Any:
    try:
        return import_module("httpx2")
    except ImportError:
        return import_module("httpx")
