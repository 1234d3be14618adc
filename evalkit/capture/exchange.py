"""One model call over HTTP, whatever the client library: what it asks, what is told of its answer, what replaces that.

The libraries' modules (``http_httpx``, ``http_requests``, ``http_aiohttp``) turn their requests into an `Exchange`, and
a `Reply` into their responses; everything that a trace holds of the call is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from evalkit.capture.caller import Caller, ModelRequest, ModelResponse
from evalkit.capture.seam import Answer, Call, Session, Turn, current_session, is_cancelled
from evalkit.trace.model import StepError, Usage
from evalkit.wire.answer import kept_headers
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.protocol import STREAM_CUT, Wire, WireAnswer, WireError, WireRequest, WireUsage
from evalkit.wire.registry import find_wire

__all__ = ["CLOSED", "Exchange", "Failure", "Reply", "begin_exchange", "failure_of"]

CLOSED = StepError("StreamClosed", "the caller closed the stream before its end")
"""What ended a stream that its caller read no further."""

Failure: TypeAlias = Literal["timeout", "connect", "broken"]
"""Ways in which a call fails before its answer is whole: no answer in time, no connection, a connection that broke."""

_FAILURES: dict[str, Failure] = {
    **dict.fromkeys(
        "ReadTimeout WriteTimeout PoolTimeout ConnectTimeout APITimeoutError TimeoutError Timeout ReadTimeoutError "
        "ConnectTimeoutError ServerTimeoutError SocketTimeoutError ConnectionTimeoutError".split(),
        "timeout",
    ),
    **dict.fromkeys(
        "ConnectError APIConnectionError ConnectionError ConnectionRefusedError NewConnectionError "
        "ClientConnectorError ClientConnectorDNSError ClientConnectionError ProxyError SSLError MaxRetryError".split(),
        "connect",
    ),
    **dict.fromkeys(
        "ReadError WriteError RemoteProtocolError LocalProtocolError ConnectionResetError ChunkedEncodingError "
        "ProtocolError IncompleteRead InvalidChunkLength ServerDisconnectedError ClientOSError ClientPayloadError "
        "ClientConnectionResetError".split(),
        "broken",
    ),
}
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


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as HTTP: a recorded one, or a live one that came whole.

    Attributes:
        status: None where the call never got a response: `failure` says why.
        body: the whole body; None for a stream.
        pieces: of a stream.
        failure: what the caller met at the end of `pieces`, or instead of a response.
        cancelled: waits there until the caller cancels the call, where it did so; for a client that awaits.
    """

    status: int | None = None
    headers: Mapping[str, str] | None = None
    body: bytes | None = None
    pieces: Sequence[bytes] = ()
    failure: StepError | None = None
    cancelled: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One model call under way: what it asks, and the turn that it takes.

    Attributes:
        body: what is to be sent instead of what the client sent; None to leave it.
        caller, request: who sends it in the client's place, and what; None where the client does.
    """

    wire: Wire
    asked: WireRequest
    turn: Turn
    body: bytes | None = None
    caller: Caller | None = None
    request: ModelRequest | None = None

    def reply(self) -> Reply | None:
        """What the client is to get, recorded or live; None where it is to send its request itself.

        Raises:
            whatever ends the replay in place of a live answer.
        """
        if self.turn.answer is not None:
            return self.substitute(self.turn.answer)
        if self.caller is None or self.request is None:
            return None
        with self.turn.inside():
            response = self.caller.submit(self.request).result()
        return self._received(response)

    async def reply_async(self) -> Reply | None:
        """The same, for a client that must not block."""
        if self.turn.answer is not None or self.caller is None or self.request is None:
            reply = self.reply()
            if reply is not None and reply.status is None and reply.cancelled is not None:
                await reply.cancelled()
            return reply
        import asyncio  # a client that awaits has loaded it

        with self.turn.inside():
            response = await asyncio.wrap_future(self.caller.submit(self.request))
        return self._received(response)

    def substitute(self, answer: Answer) -> Reply:
        """Ends the turn with a recorded answer; what the client is to get for it."""
        self.turn.end(answer)
        recorded = _recorded(self.wire, answer)
        broken = answer.error if answer.attributes.get("ended") == "raised" else None
        cancelled = self.turn.cancelled_again if is_cancelled(answer) else None
        if recorded is None or (broken is not None and not self.asked.stream):
            return Reply(failure=answer.error or StepError("ReadError"), cancelled=cancelled)
        if not self.asked.stream or recorded.status >= 400 or "body" in recorded.extra:
            status, headers, body = self.wire.response(recorded, self.asked)
            return Reply(status, headers, body)
        headers = {**kept_headers(recorded.extra.get("headers")), "content-type": "text/event-stream; charset=utf-8"}
        return Reply(200, headers, None, self.wire.stream(recorded, self.asked), broken, cancelled)

    def observed(self, status: int, headers: Mapping[str, str], content: bytes, failure: StepError | None) -> None:
        """Ends the turn with what came back.

        Args:
            headers: names in lower case.
            content: the body, decoded; as far as it came, where `failure` ended it.
        """
        self.turn.end(self._answer(status, headers, content, failure))

    def _answer(
        self, status: int, headers: Mapping[str, str], content: bytes, failure: StepError | None = None
    ) -> Answer:
        streamed = self._streams(status, headers)
        if streamed:
            answer = self.wire.answer_from_stream([content], headers)
        else:
            answer = self.wire.answer(status, headers, content)
        return _answer(answer, self.asked, failure, streamed=streamed)

    def _streams(self, status: int, headers: Mapping[str, str]) -> bool:
        is_json = headers.get("content-type", "").startswith("application/json")
        return self.asked.stream and status < 400 and not is_json  # some servers mislabel their streams

    def _received(self, response: ModelResponse) -> Reply:
        """Ends the turn with a live answer; what the client is to get for it."""
        content = b"".join(response.pieces)
        answer = self._answer(response.status, response.headers, content)
        if response.cost_usd is not None:
            answer = replace(answer, usage=replace(answer.usage or Usage(), cost_usd=response.cost_usd))
        if response.tries > 1:
            answer = replace(answer, attributes={**answer.attributes, "tries": response.tries})
        self.turn.end(answer)
        if self._streams(response.status, response.headers):
            return Reply(response.status, response.headers, None, response.pieces)
        return Reply(response.status, response.headers, content)


def begin_exchange(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Exchange | None:
    """The exchange that a request opens; None where there is no session, or when it is no model call.

    Args:
        headers: of the request, names in any case.
    """
    session = current_session()
    wire = None if session is None else find_wire(method, url)
    if session is None or wire is None:
        return None
    asked = wire.request(body)
    if asked is None:
        return None
    sent: bytes | None = None
    if session.rewrite is not None:
        sent = dump_json(session.rewrite(wire.name, parse_json(body)))
        asked = wire.request(sent) or asked
    if asked.model is None:
        asked = replace(asked, model=_model_in(url))
    turn = _open(session, wire, asked, url)
    caller = session.caller
    if caller is None or turn.answer is not None or not caller.takes(url):
        return Exchange(wire, asked, turn, sent)
    named = {str(name).lower(): str(value) for name, value in headers.items()}
    return Exchange(wire, asked, turn, sent, caller, ModelRequest(url, named, body if sent is None else sent))


def failure_of(type_name: str) -> Failure | None:
    """How a call failed that raised an error of this class, in any of the libraries; None for other errors."""
    return _FAILURES.get(type_name)


def _model_in(url: str) -> str | None:
    """The model where the path names it, as those of Azure, Vertex AI and Bedrock do."""
    found = _MODEL_IN_PATH.search(urlsplit(url).path)
    return None if found is None else unquote(found.group(1))


def _open(session: Session, wire: Wire, asked: WireRequest, url: str) -> Turn:
    parts = urlsplit(url)
    endpoint = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    attributes: dict[str, Any] = {"wire": wire.name, "endpoint": endpoint, "stream": asked.stream}
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
    if failure is not None and not (whole and failure.type == CLOSED.type):  # closed after its end is no failure
        attributes["ended"] = "closed" if failure.type == CLOSED.type else "raised"
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
