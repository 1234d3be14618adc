"""requests: `send` of its adapter goes through the session, below redirects, hooks and cookies.

A substituted answer is a response of urllib3 over bytes as they would have come through a socket, so that `raw`,
`iter_content` and `iter_lines` are the library's own.
"""

from __future__ import annotations

import functools
import http.client
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

from evalkit.capture.exchange import CLOSED, Exchange, Failure, Reply, begin_exchange, failure_of
from evalkit.capture.patching import Patches
from evalkit.capture.rebuild import rebuild_error
from evalkit.capture.seam import error_of
from evalkit.trace.model import StepError

__all__ = ["patch_requests"]

_RAISED: dict[Failure, str] = {"timeout": "ReadTimeout", "connect": "ConnectionError", "broken": "ConnectionError"}


def patch_requests(patches: Patches, library: Any) -> None:
    """Replaces the one method of the loaded module `library`."""
    patches.replace_method(library.adapters.HTTPAdapter, "send", functools.partial(_capturing_send, library))


def _capturing_send(library: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def send(self: Any, request: Any, *args: Any, **options: Any) -> Any:
        exchange = _begin(request)
        if exchange is None:
            return original(self, request, *args, **options)
        reply = exchange.reply()
        if reply is not None:
            if reply.status is None:
                raise _raised(library, reply.failure or StepError("ReadError"), request)
            return self.build_response(request, _raw(request, reply))
        if exchange.body is not None:
            request = request.copy()
            request.prepare_body(exchange.body, None)
        with exchange.turn.inside():
            response = original(self, request, *args, **options)
        raw = response.raw
        raw.__class__, raw.tee = _told(raw.__class__), _Tee(exchange, response.status_code, _lower(response.headers))
        return response

    return send


def _begin(request: Any) -> Exchange | None:
    body = request.body
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, bytes) or not isinstance(request.url, str):  # a body that is a stream is no model call
        return None
    return begin_exchange(request.method or "", request.url, body, request.headers)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _raised(library: Any, error: StepError, request: Any) -> BaseException:
    """The failure as requests raises it, whichever library recorded it."""
    exceptions = library.exceptions
    kind = getattr(exceptions, error.type, None)
    if not (isinstance(kind, type) and issubclass(kind, exceptions.RequestException)):
        failure = failure_of(error.type)
        if failure is None:
            return rebuild_error(error)
        kind = getattr(exceptions, _RAISED[failure])
    raised: BaseException = kind(error.message, request=request)
    return raised


class _Tee:
    """What the caller reads of a real response, told once when it ends.

    It holds no response: a response that refers to itself would keep its connection open until the next sweep of the
    garbage collector, where one of requests itself lets it go with its last user.
    """

    def __init__(self, exchange: Exchange, status: int, headers: dict[str, str]) -> None:
        self._headers = headers
        self._exchange: Exchange | None = exchange
        self._status = status
        self._chunks: list[bytes] = []
        self._decoded = False
        self._depth = 0

    def read(self, raw: Any, read: Callable[..., bytes], amt: int | None = None, *args: Any, **options: Any) -> bytes:
        """A read of `raw` by its own method."""
        decode = args[0] if args else options.get("decode_content")
        self._depth += 1
        try:
            data = read(amt, *args, **options)
        except BaseException as error:
            self._finish(error_of(error))
            raise
        finally:
            self._depth -= 1
        if not self._depth:
            self._keep(raw, data, decode)
            at_end = not data or (raw.closed and len(data) < (amt or 0))
            if amt is None or amt < 0 or (amt and at_end):
                self._finish(None)
        return data

    def stream(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """A stream of `read` or `read_chunked`, which are told of themselves."""
        yield from pieces
        self._finish(None)

    def read_chunked(self, raw: Any, chunks: Iterator[bytes], decode: bool | None) -> Iterator[bytes]:
        """The chunks of `raw`, one read each."""
        while True:
            self._depth += 1
            try:
                data = next(chunks)
            except StopIteration:
                self._finish(None)
                return
            except BaseException as error:
                self._finish(error_of(error))
                raise
            finally:
                self._depth -= 1
            self._keep(raw, data, decode)
            try:
                yield data
            except GeneratorExit:  # the caller reads no further, and urllib3 lets go of the connection
                self._finish(CLOSED)
                raise

    def close(self, raw: Any, close: Callable[[], None]) -> None:
        """An end of reading, early or not."""
        at_end = raw.closed
        try:
            close()
        finally:
            if not self._depth:  # reading to the end closes as well
                self._finish(None if at_end else CLOSED)

    def _keep(self, raw: Any, data: bytes, decode: bool | None) -> None:
        self._decoded = bool(raw.decode_content if decode is None else decode)
        self._chunks.append(data)

    def _finish(self, failure: StepError | None) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        content = b"".join(self._chunks)
        encoding = self._headers.get("content-encoding")
        if encoding and not self._decoded:
            try:
                content = sys.modules["urllib3"].HTTPResponse(content, headers={"content-encoding": encoding}).data
            except sys.modules["urllib3"].exceptions.HTTPError as error:
                content, failure = b"", failure or error_of(error)
        exchange.observed(self._status, self._headers, content, failure)


@functools.cache
def _told(kind: Any) -> Any:
    """The class of a response of urllib3 whose reading a tee, its attribute `tee`, is told of."""

    class Told(kind):  # type: ignore[misc]  # urllib3 is known only when it is there
        tee: _Tee

        def read(self, amt: int | None = None, *args: Any, **options: Any) -> bytes:
            return self.tee.read(self, super().read, amt, *args, **options)

        def read1(self, amt: int | None = None, *args: Any, **options: Any) -> bytes:
            return self.tee.read(self, super().read1, amt, *args, **options)

        def read_chunked(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
            return self.tee.read_chunked(self, super().read_chunked(amt, decode_content), decode_content)

        def stream(self, *args: Any, **options: Any) -> Iterator[bytes]:
            return self.tee.stream(super().stream(*args, **options))

        def close(self) -> None:
            self.tee.close(self, super().close)

        def release_conn(self) -> None:
            self.tee.close(self, super().release_conn)

    Told.__name__, Told.__qualname__, Told.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Told


class _Socket:
    """Bytes as a socket gives them, and at their end the failure that was met there."""

    def __init__(self, pieces: Iterator[bytes], failure: BaseException | None) -> None:
        self._file = io.BufferedReader(_Bytes(pieces, failure))

    def makefile(self, mode: str) -> Any:
        del mode
        return self._file


class _Bytes(io.RawIOBase):
    """A file of pieces, each given apart from the next."""

    def __init__(self, pieces: Iterator[bytes], failure: BaseException | None) -> None:
        self._pieces = pieces
        self._failure = failure
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                if self._failure is not None:
                    raise self._failure
                return 0
            self._rest = piece
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _raw(request: Any, reply: Reply) -> Any:
    """A response of urllib3 that says what was recorded."""
    urllib3: Any = sys.modules["urllib3"]
    failure = None if reply.failure is None else _broken(urllib3, reply.failure)
    parsed = http.client.HTTPResponse(_Socket(_sent(reply, failure), failure), method=request.method)  # type: ignore[arg-type]  # what it needs of a socket
    parsed.begin()
    headers = urllib3.HTTPHeaderDict(parsed.headers.items())
    return urllib3.HTTPResponse(
        parsed,
        headers=headers,
        status=parsed.status,
        version=parsed.version,
        reason=parsed.reason,
        preload_content=False,
        decode_content=False,
        original_response=parsed,
        request_method=request.method,
        request_url=request.url,
    )


def _sent(reply: Reply, failure: BaseException | None) -> Iterator[bytes]:
    status = reply.status or 200
    headers = dict(reply.headers or {})
    if reply.body is None:
        headers["transfer-encoding"] = "chunked"
    else:
        headers["content-length"] = str(len(reply.body))
    head = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    yield ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")
    if reply.body is not None:
        yield reply.body
        return
    for piece in reply.pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    if failure is None:
        yield b"0\r\n\r\n"


def _broken(urllib3: Any, error: StepError) -> BaseException:
    """What urllib3 raises amid a body; requests makes its own error of it."""
    if failure_of(error.type) == "timeout":
        failure: BaseException = urllib3.exceptions.ReadTimeoutError(None, None, error.message)
        return failure
    if failure_of(error.type) is not None:
        broken: BaseException = urllib3.exceptions.ProtocolError(error.message)
        return broken
    return rebuild_error(error)
