"""Model calls seen, and answered, at the HTTP client: no SDK is wrapped, and none can tell.

httpx and httpx2 have one shape, so one implementation serves both: `send` of their two clients is replaced while a
session may be active, in whichever of them is loaded, now or later. A request outside of any session, or one that no
wire knows, goes straight through. A streamed answer flows through piece by piece as it comes; its step ends when the
stream does, or when the caller closes it.

Attributes of a recorded step: ``wire``, ``endpoint`` (no query), ``request_extra``, ``requested_model`` (where another
one answered), ``missing`` (``["input"]`` where the provider keeps messages that the request only refers to),
``status``, ``stream``, ``extra`` (the wire's) and ``ended``, for a stream that did not come to its end:
``raised`` (reading it failed), ``cut`` (the server ended it) or ``closed`` (the caller did).
"""

from __future__ import annotations

import functools
import importlib.machinery
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

from evalkit.capture.patching import Patches
from evalkit.capture.rebuild import rebuild_error
from evalkit.capture.seam import Answer, Call, Session, Turn, current_session, error_of
from evalkit.trace.model import StepError, Usage
from evalkit.wire.answer import kept_headers
from evalkit.wire.protocol import STREAM_CUT, Wire, WireAnswer, WireError, WireRequest, WireUsage
from evalkit.wire.registry import WIRES, find_wire

__all__ = ["http_capture"]

_LIBRARIES = ("httpx", "httpx2")
_STREAM_CLOSED = "StreamClosed"
_MODEL_IN_PATH = re.compile(r"/(?:models?|deployments)/([^/]+?)(?::(?:rawPredict|streamRawPredict))?(?:/|\Z)")
_STATUS_OF = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "ConflictError": 409,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
    "RequestTooLargeError": 413,
    "ServiceUnavailableError": 503,
    "DeadlineExceededError": 504,
    "OverloadedError": 529,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Statuses by the error classes of the SDKs and the codes of the APIs, for traces that hold only these."""
_TRANSPORT_OF = {"APITimeoutError": "ReadTimeout", "APIConnectionError": "ConnectError"}


@contextmanager
def http_capture() -> Iterator[None]:
    """While active, model calls over httpx and httpx2 made inside of a session go through that session.

    Raises:
        ConfigError: a third party's wire failed to load.
    """
    with _PATCHES.active():
        yield


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One model call under way: a request and the turn that it takes."""

    library: Any
    wire: Wire
    asked: WireRequest
    turn: Turn
    request: Any

    def substitute(self, answer: Answer) -> Any:
        """Ends the turn with a recorded answer; a response of the library that says it.

        Raises:
            whatever the recorded call raised.
        """
        self.turn.end(answer)
        recorded = _recorded(self.wire, answer)
        ended = answer.attributes.get("ended")
        if recorded is None or (answer.error is not None and ended == "raised" and not self.asked.stream):
            raise _transport_error(self.library, answer.error or StepError("ReadError"), self.request)
        if not self.asked.stream or recorded.status >= 400 or "body" in recorded.extra:
            status, headers, body = self.wire.response(recorded, self.asked)
            return self._response(status, headers, content=body)
        failure = None
        if answer.error is not None and ended == "raised":
            failure = _transport_error(self.library, answer.error, self.request)
        pieces = self.wire.stream(recorded, self.asked)
        headers = {**kept_headers(recorded.extra.get("headers")), "content-type": "text/event-stream; charset=utf-8"}
        return self._response(200, headers, stream=_stream(self.library, _Pieces, pieces, failure))

    def _response(self, status: int, headers: dict[str, str], **body: Any) -> Any:
        extensions = {"http_version": b"HTTP/1.1"}
        response = self.library.Response(status, headers=headers, request=self.request, extensions=extensions, **body)
        response.elapsed = timedelta(0)
        return response

    def observe(self, response: Any) -> None:
        """Lets a real response go on to the caller; ends the turn now if it is read, else when it will be."""
        try:
            content = response.content
        except self.library.ResponseNotRead:
            response.stream = _stream(self.library, _Tee, response.stream, functools.partial(self._streamed, response))
            return
        self._end(response, content, None)

    def _streamed(self, response: Any, raw: bytes, failure: StepError | None) -> None:
        encoding = response.headers.get("content-encoding")
        if encoding:
            try:
                raw = self.library.Response(200, headers={"content-encoding": encoding}, content=raw).content
            except self.library.DecodingError as error:
                raw, failure = b"", failure or error_of(error)
        self._end(response, raw, failure)

    def _end(self, response: Any, content: bytes, failure: StepError | None) -> None:
        status, headers = response.status_code, dict(response.headers)
        is_json = headers.get("content-type", "").startswith("application/json")
        streamed = self.asked.stream and status < 400 and not is_json  # some servers mislabel their streams
        if streamed:
            answer = self.wire.answer_from_stream([content], headers)
        else:
            answer = self.wire.answer(status, headers, content)
        self.turn.end(_answer(answer, self.asked, failure, streamed=streamed))


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
            self._finish(StepError(_STREAM_CLOSED, "the caller closed the stream before its end"))

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._finish(StepError(_STREAM_CLOSED, "the caller closed the stream before its end"))

    def _finish(self, failure: StepError | None) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(b"".join(self._chunks), failure)


class _Pieces:
    """A recorded stream's bytes, and at their end the failure that was met there."""

    def __init__(self, pieces: Sequence[bytes], failure: BaseException | None) -> None:
        self._pieces = pieces
        self._failure = failure

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._failure is not None:
            raise self._failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
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


def _begin(library: Any, request: Any) -> _Exchange | None:
    """The exchange that a request opens; None when it is none of ours."""
    session = current_session()
    if session is None:
        return None
    url = str(request.url)
    wire = find_wire(request.method, url)
    if wire is None:
        return None
    try:
        body = request.content
    except library.RequestNotRead:  # a body that is itself a stream is no model call
        return None
    asked = wire.request(body)
    if asked is None:
        return None
    if asked.model is None:
        asked = replace(asked, model=_model_in(url))
    return _Exchange(library, wire, asked, _open(session, wire, asked, request), request)


def _model_in(url: str) -> str | None:
    """The model where the path names it, as those of Azure, Vertex AI and Bedrock do."""
    found = _MODEL_IN_PATH.search(urlsplit(url).path)
    return None if found is None else unquote(found.group(1))


def _open(session: Session, wire: Wire, asked: WireRequest, request: Any) -> Turn:
    endpoint = request.url.copy_with(query=None, fragment=None, username="", password="")
    attributes: dict[str, Any] = {"wire": wire.name, "endpoint": str(endpoint), "stream": asked.stream}
    if asked.extra:
        attributes["request_extra"] = asked.extra
    if asked.partial:
        attributes["missing"] = ["input"]
    return session.begin(Call("model", "chat", dict(asked.asked), model=asked.model, attributes=attributes))


def _answer(wired: WireAnswer, asked: WireRequest, failure: StepError | None, *, streamed: bool) -> Answer:
    """A wire's answer as the seam has it. What the caller met weighs more than what the bytes say."""
    attributes: dict[str, Any] = {"status": wired.status, "extra": wired.extra}
    if wired.model is not None and wired.model != asked.model:
        attributes["requested_model"] = asked.model
    error = None if wired.error is None else StepError(wired.error.type, wired.error.message)
    whole = wired.error is None or wired.error.type not in (STREAM_CUT, "UnreadableAnswer")
    if failure is not None and not (whole and failure.type == _STREAM_CLOSED):  # closed after its end is no failure
        attributes["ended"] = "closed" if failure.type == _STREAM_CLOSED else "raised"
        error = failure
    elif error is not None and error.type == STREAM_CUT:
        attributes["ended"] = "cut"
    usage = None if wired.usage is None else Usage(**asdict(wired.usage))
    return Answer(wired.output, error, usage, wired.model, attributes={**attributes, "stream": streamed})


def _recorded(wire: Wire, answer: Answer) -> WireAnswer | None:
    """The seam's answer as the wire has it; None where the call never got a response."""
    attributes, error = answer.attributes, answer.error
    status, extra = attributes.get("status"), attributes.get("extra")
    if not isinstance(status, int) or not 200 <= status < 600:
        status = 200 if error is None else _STATUS_OF.get(error.type)
        if status is None:
            return None
    return WireAnswer(
        output=answer.output,
        model=answer.model,
        usage=None if answer.usage is None else _wire_usage(answer.usage),
        error=None if error is None else WireError(error.type, error.message),
        status=status,
        extra=extra if isinstance(extra, dict) and attributes.get("wire") == wire.name else {},
    )


def _wire_usage(usage: Usage) -> WireUsage:
    return WireUsage(usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)


def _transport_error(library: Any, error: StepError, request: Any) -> BaseException:
    """The failure as the library at hand raises it, whichever of the two recorded it."""
    kind = getattr(library, _TRANSPORT_OF.get(error.type, error.type), None)
    if isinstance(kind, type) and issubclass(kind, library.RequestError):
        raised: BaseException = kind(error.message, request=request)
        return raised
    return rebuild_error(error)


def _capturing_send(library: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def send(self: Any, request: Any, **options: Any) -> Any:
        exchange = _begin(library, request)
        if exchange is None:
            return original(self, request, **options)
        if exchange.turn.answer is not None:
            for hook in self.event_hooks["request"]:
                hook(request)
            response = exchange.substitute(exchange.turn.answer)
            for hook in self.event_hooks["response"]:
                hook(response)
            if not options.get("stream"):
                response.read()
            return response
        with exchange.turn.inside():
            response = original(self, request, **options)
        exchange.observe(response)
        return response

    return send


def _capturing_async_send(library: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def send(self: Any, request: Any, **options: Any) -> Any:
        exchange = _begin(library, request)
        if exchange is None:
            return await original(self, request, **options)
        if exchange.turn.answer is not None:
            for hook in self.event_hooks["request"]:
                await hook(request)
            response = exchange.substitute(exchange.turn.answer)
            for hook in self.event_hooks["response"]:
                await hook(response)
            if not options.get("stream"):
                await response.aread()
            return response
        with exchange.turn.inside():
            response = await original(self, request, **options)
        exchange.observe(response)
        return response

    return send


class _OnImport:
    """Finds the libraries' modules as anybody would, and replaces their methods once they are loaded."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _LIBRARIES:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((spec for finder in others if (spec := finder.find_spec(name, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _patch_library(self._patches, module)

            loader.exec_module = exec_module
        return spec


def _patch_library(patches: Patches, library: ModuleType) -> None:
    patches.replace_method(library.Client, "send", functools.partial(_capturing_send, library))
    patches.replace_method(library.AsyncClient, "send", functools.partial(_capturing_async_send, library))


def _place(patches: Patches) -> None:
    list(WIRES.items())  # a wire that fails to load is reported here, not inside of the agent
    for name in _LIBRARIES:
        library = sys.modules.get(name)
        if library is not None and hasattr(library, "AsyncClient"):
            _patch_library(patches, library)
    sys.meta_path.insert(0, _OnImport(patches))


def _lift(patches: Patches) -> None:
    del patches
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _OnImport)]


_PATCHES = Patches(_place, _lift)
