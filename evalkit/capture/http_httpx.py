"""httpx and httpx2, which have one shape: `send` of their two clients goes through the session."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from evalkit.capture.exchange import CLOSED, Exchange, Failure, Reply, begin_exchange, failure_of
from evalkit.capture.patching import Patches
from evalkit.capture.rebuild import rebuild_error
from evalkit.capture.seam import error_of
from evalkit.trace.model import StepError

__all__ = ["patch_httpx"]

_RAISED: dict[Failure, str] = {"timeout": "ReadTimeout", "connect": "ConnectError", "broken": "RemoteProtocolError"}

_OF_A_BODY = frozenset({"content-length", "transfer-encoding", "content-encoding"})


def patch_httpx(patches: Patches, library: Any) -> None:
    """Replaces the two methods of the loaded module `library`."""
    patches.replace_method(library.Client, "send", functools.partial(_capturing_send, library))
    patches.replace_method(library.AsyncClient, "send", functools.partial(_capturing_async_send, library))


def _capturing_send(library: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def send(self: Any, request: Any, **options: Any) -> Any:
        exchange = _begin(library, request)
        if exchange is None:
            return original(self, request, **options)
        reply = exchange.reply()
        if reply is not None:
            for hook in self.event_hooks["request"]:
                hook(request)
            response = _response(library, request, reply)
            for hook in self.event_hooks["response"]:
                hook(response)
            if not options.get("stream"):
                response.read()
            return response
        with exchange.turn.inside():
            response = original(self, _sent(library, request, exchange), **options)
        _observe(library, exchange, response)
        return response

    return send


def _capturing_async_send(library: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def send(self: Any, request: Any, **options: Any) -> Any:
        exchange = _begin(library, request)
        if exchange is None:
            return await original(self, request, **options)
        reply = await exchange.reply_async()
        if reply is not None:
            for hook in self.event_hooks["request"]:
                await hook(request)
            response = _response(library, request, reply)
            for hook in self.event_hooks["response"]:
                await hook(response)
            if not options.get("stream"):
                await response.aread()
            return response
        with exchange.turn.inside():
            response = await original(self, _sent(library, request, exchange), **options)
        _observe(library, exchange, response)
        return response

    return send


def _begin(library: Any, request: Any) -> Exchange | None:
    try:
        body = request.content
    except library.RequestNotRead:  # a body that is itself a stream is no model call
        return None
    return begin_exchange(request.method, str(request.url), body, request.headers)


def _sent(library: Any, request: Any, exchange: Exchange) -> Any:
    """The request, with another body where the exchange has one."""
    if exchange.body is None:
        return request
    headers = [pair for pair in request.headers.multi_items() if pair[0].lower() not in _OF_A_BODY]
    return library.Request(
        request.method, request.url, headers=headers, content=exchange.body, extensions=request.extensions
    )


def _response(library: Any, request: Any, reply: Reply) -> Any:
    """A response of the library that says what the reply does.

    Raises:
        whatever the recorded call raised.
    """
    failure = None if reply.failure is None else _raised(library, reply.failure, request)
    if reply.status is None:
        assert failure is not None
        raise failure
    body: dict[str, Any] = {"content": reply.body}
    if reply.body is None:
        body = {"stream": _stream(library, _Pieces, reply.pieces, failure, reply.cancelled)}
    extensions = {"http_version": b"HTTP/1.1"}
    response = library.Response(reply.status, headers=reply.headers, request=request, extensions=extensions, **body)
    response.elapsed = timedelta(0)
    return response


def _raised(library: Any, error: StepError, request: Any) -> BaseException:
    """The failure as the library at hand raises it, whichever recorded it."""
    kind = getattr(library, error.type, None)
    if not (isinstance(kind, type) and issubclass(kind, library.RequestError)):
        failure = failure_of(error.type)
        if failure is None:
            return rebuild_error(error)
        kind = getattr(library, _RAISED[failure])
    raised: BaseException = kind(error.message, request=request)
    return raised


def _observe(library: Any, exchange: Exchange, response: Any) -> None:
    """Lets a real response go on to the caller; ends the turn now if it is read, else when it will be."""
    try:
        content = response.content
    except library.ResponseNotRead:
        done = functools.partial(_streamed, library, exchange, response)
        response.stream = _stream(library, _Tee, response.stream, done)
        return
    exchange.observed(response.status_code, dict(response.headers), content, None)


def _streamed(library: Any, exchange: Exchange, response: Any, raw: bytes, failure: StepError | None) -> None:
    encoding = response.headers.get("content-encoding")
    if encoding:
        try:
            raw = library.Response(200, headers={"content-encoding": encoding}, content=raw).content
        except library.DecodingError as error:
            raw, failure = b"", failure or error_of(error)
    exchange.observed(response.status_code, dict(response.headers), raw, failure)


class _Tee:
    """A response's raw bytes, passed on as they come; `done` is told once what they were and how they ended."""

    def __init__(self, inner: Any, done: Callable[[bytes, StepError | None], None]) -> None:
        self._inner = inner
        self._done: Callable[[bytes, StepError | None], None] | None = done
        self._chunks: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self._chunks.append(chunk)
                yield chunk
        except GeneratorExit:  # the caller reads no further; `close` follows
            raise
        except BaseException as error:
            self._finish(error_of(error))
            raise
        self._finish(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._finish(error_of(error))
            raise
        self._finish(None)

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self._finish(CLOSED)

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._finish(CLOSED)

    def _finish(self, failure: StepError | None) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(b"".join(self._chunks), failure)


class _Pieces:
    """A recorded stream's bytes, and at their end the failure that was met there."""

    def __init__(
        self,
        pieces: Sequence[bytes],
        failure: BaseException | None,
        cancelled: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._pieces = pieces
        self._failure = failure
        self._cancelled = cancelled

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._failure is not None:
            raise self._failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._cancelled is not None:
            await self._cancelled()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Nothing is held."""

    async def aclose(self) -> None:
        """Nothing is held."""


@functools.lru_cache(maxsize=8)
def _stream_class(base: type, sync_base: type, async_base: type) -> type:
    return type(base.__name__, (base, sync_base, async_base), {})


def _stream(library: Any, base: type, *args: Any) -> Any:
    """An instance of `base` that the library takes for one of its own streams."""
    return _stream_class(base, library.SyncByteStream, library.AsyncByteStream)(*args)
