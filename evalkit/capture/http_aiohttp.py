"""aiohttp: the one coroutine of its client session that every request goes through goes through our session.

A substituted answer is a `ClientResponse` over a `StreamReader` that is fed a piece at a time, when the one before has
been read: what a caller sees of a stream's pieces does not hang on timing. Not run for a substituted answer are the
session's middlewares and trace configs.
"""

from __future__ import annotations

import asyncio
import functools
import http
import inspect
import json as json_module
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from evalkit.capture.exchange import CLOSED, Exchange, Failure, Reply, begin_exchange, failure_of
from evalkit.capture.patching import Patches
from evalkit.capture.rebuild import rebuild_error
from evalkit.capture.seam import error_of
from evalkit.trace.model import StepError

__all__ = ["patch_aiohttp"]

_RAISED: dict[Failure, str] = {
    "timeout": "ServerTimeoutError",
    "connect": "ClientConnectionError",
    "broken": "ClientPayloadError",
}
_LONGEST_LINE = 2**18


def patch_aiohttp(patches: Patches, library: Any) -> None:
    """Replaces the one method of the loaded module `library`."""
    patches.replace_method(library.ClientSession, "_request", functools.partial(_capturing_request, library))


def _capturing_request(library: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def _request(self: Any, method: str, str_or_url: Any, *, raise_for_status: Any = None, **options: Any) -> Any:
        exchange = _begin(self, method, str_or_url, options)
        if exchange is None:
            return await original(self, method, str_or_url, raise_for_status=raise_for_status, **options)
        reply = await exchange.reply_async()
        if reply is not None:
            response = _response(library, self, method, str_or_url, reply)
        else:
            if exchange.body is not None:
                options = {**options, "data": exchange.body, "json": None, "headers": _json_headers(options)}
            with exchange.turn.inside():
                response = await original(self, method, str_or_url, raise_for_status=False, **options)
            response.content = _tee_class(library.StreamReader)(exchange, response)
        # asked here, so that the answer is seen before it is refused
        wanted = self.raise_for_status if raise_for_status is None else raise_for_status
        if callable(wanted):
            await wanted(response)
        elif wanted:
            response.raise_for_status()
        return response

    return _request


def _begin(session: Any, method: str, str_or_url: Any, options: dict[str, Any]) -> Exchange | None:
    data, json = options.get("data"), options.get("json")
    if data is None and json is not None:
        try:
            data = json_module.dumps(json)
        except (TypeError, ValueError):  # a serializer of the session's own, which the model APIs don't need
            return None
    if isinstance(data, str):
        data = data.encode()
    if not isinstance(data, bytes | bytearray):  # a form, or a body that is a stream: no model call
        return None
    headers = {**session.headers, **_json_headers(options)}
    return begin_exchange(method.upper(), str(session._build_url(str_or_url)), bytes(data), headers)


def _json_headers(options: dict[str, Any]) -> dict[str, str]:
    """The request's headers, said to be JSON where the library would have said so itself."""
    headers = dict(options.get("headers") or {})
    if not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = "application/json"
    return headers


def _raised(library: Any, error: StepError) -> BaseException:
    """The failure as aiohttp raises it, whichever library recorded it."""
    failure = failure_of(error.type)
    kind = getattr(library, error.type if failure is None else _RAISED[failure], None)
    if isinstance(kind, type) and issubclass(kind, library.ClientError):
        try:
            raised: BaseException = kind(error.message)
        except TypeError:  # a constructor of its own
            return rebuild_error(error)
        return raised
    return rebuild_error(error)


def _response(library: Any, session: Any, method: str, str_or_url: Any, reply: Reply) -> Any:
    """A response of the library that says what was recorded.

    Raises:
        whatever the recorded call raised.
    """
    failure = None if reply.failure is None else _raised(library, reply.failure)
    if reply.status is None:
        assert failure is not None
        raise failure
    loop = asyncio.get_running_loop()
    url = session._build_url(str_or_url)
    multidict: Any = sys.modules["multidict"]  # aiohttp stands on it
    headers = multidict.CIMultiDictProxy(multidict.CIMultiDict(reply.headers or {}))
    sent = multidict.CIMultiDictProxy(multidict.CIMultiDict(session.headers))
    known = inspect.signature(library.ClientResponse.__init__).parameters
    options = {
        "writer": None,
        "continue100": None,
        "timer": None,
        "request_info": library.RequestInfo(url, method.upper(), sent, url),
        "traces": [],
        "loop": loop,
        "session": session,
        "stream_writer": SimpleNamespace(output_size=0),
    }
    response = library.ClientResponse(method.upper(), url, **{key: options[key] for key in options if key in known})
    response.version = library.HttpVersion11
    response.status = reply.status
    response.reason = next((one.phrase for one in http.HTTPStatus if one == reply.status), "")
    response._headers = headers
    response._raw_headers = tuple((key.encode(), value.encode()) for key, value in headers.items())
    pieces = reply.pieces if reply.body is None else [reply.body]
    feeder = _Feeder(iter([piece for piece in pieces if piece]), failure, loop, ends=reply.cancelled is None)
    response.content = feeder.reader = library.StreamReader(feeder, _LONGEST_LINE, loop=loop)
    feeder.resume_reading()
    return response


class _Feeder:
    """Stands where a connection does for a reader, and feeds it: the next piece when it asks for more.

    Args:
        ends: whether anything comes after the pieces; else the reader waits until it is cancelled.
    """

    connected = True

    def __init__(
        self,
        pieces: Iterator[bytes],
        failure: BaseException | None,
        loop: asyncio.AbstractEventLoop,
        *,
        ends: bool = True,
    ) -> None:
        self.reader: Any = None
        self._pieces = pieces
        self._failure = failure
        self._ends = ends
        self._loop = loop
        self._asked = False
        self._reading_paused = True  # a reader tells this one whenever it has given something away

    def pause_reading(self) -> None:
        """The reader holds a long piece; the next one waits anyway."""

    def resume_reading(self, resume_parser: bool = True) -> None:
        """The reader has room: it is fed once it is empty."""
        del resume_parser
        if not self._asked and not self.reader._size:
            self._asked = True
            self._loop.call_soon(self._feed)

    def _feed(self) -> None:
        self._asked = False
        piece = next(self._pieces, None)
        if piece is not None:
            self.reader.feed_data(piece)
        elif not self._ends:
            return
        elif self._failure is not None:
            self.reader.set_exception(self._failure)
        elif not self.reader.is_eof():
            self.reader.feed_eof()


@functools.lru_cache(maxsize=2)
def _tee_class(reader: type) -> Callable[..., Any]:
    """A reader that passes on what another one gives, and tells an exchange once what it was.

    It is the library's by type only: it has no state of its own, and what it lacks is looked up in the other one.
    """

    def told(name: str) -> Callable[..., Any]:
        async def read(self: Any, *args: Any, **options: Any) -> Any:
            return await self._told(getattr(self._inner, name)(*args, **options))

        return read

    names = ("read", "readany", "readline", "readuntil", "readchunk", "readexactly")
    return type("_Tee", (_Tee, reader), {name: told(name) for name in names})


class _Tee:
    _inner: Any

    def __init__(self, exchange: Exchange, response: Any) -> None:
        self._inner = response.content
        self._exchange: Exchange | None = exchange
        self._status = response.status
        self._sent_headers = {name.lower(): value for name, value in response.headers.items()}
        self._chunks: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_inner"), name)

    async def _told(self, reading: Any) -> Any:
        try:
            found = await reading
        except BaseException as error:
            self._finish(error_of(error))
            raise
        self._keep(found[0] if isinstance(found, tuple) else found)
        return found

    def read_nowait(self, n: int = -1) -> bytes:
        found: bytes = self._inner.read_nowait(n)
        self._keep(found)
        return found

    def unread_data(self, data: bytes) -> None:
        self._inner.unread_data(data)
        self._chunks = [b"".join(self._chunks).removesuffix(data)]

    def set_exception(self, exc: Any, *args: Any) -> None:
        self._inner.set_exception(exc, *args)
        self._finish(CLOSED)  # the response sets one when its caller lets go of it

    def exception(self) -> Any:
        return self._inner.exception()

    def at_eof(self) -> Any:
        return self._inner.at_eof()

    def is_eof(self) -> Any:
        return self._inner.is_eof()

    def on_eof(self, callback: Any) -> None:
        self._inner.on_eof(callback)

    def _keep(self, data: bytes) -> None:
        self._chunks.append(data)
        if self._inner.at_eof():
            self._finish(None)

    def _finish(self, failure: StepError | None) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.observed(self._status, self._sent_headers, b"".join(self._chunks), failure)
