"""The seam behind which every model API stands: HTTP bodies on one side, plain model calls on the other.

One module a dialect gives a `Wire`; the table in `wire.registry` names it, or a third party registers it under the
entry-point group ``evalkit.wires``. A wire works on bytes and plain dicts: it never sends anything. Its methods that
read must not raise whatever the bytes hold, because they run inside a recorded agent.

The normal form of requests and messages is that of a model step (see `trace.model`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from evalkit.canonical import Json

__all__ = ["STREAM_CUT", "Wire", "WireAnswer", "WireError", "WireRequest", "WireUsage"]

STREAM_CUT = "StreamCut"
"""Type of the error of a stream that ended before its answer did."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request for one model answer.

    Attributes:
        asked: ``{"messages": [Message], "tools": [...], "params": {...}}``: what decides the answer.
        model: the model asked for.
        stream: whether the answer is to come as a stream.
        extra: the body's other fields, which are not part of what was asked (``user``, ``metadata``, ``store`` ...).
        partial: whether the provider holds messages that the body only refers to.
    """

    asked: dict[str, Json]
    model: str | None = None
    stream: bool = False
    extra: dict[str, Any] = field(default_factory=dict)
    partial: bool = False


@dataclass(frozen=True, slots=True)
class WireUsage:
    """Token counts as the provider reported them; None where it did not."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class WireError:
    """The provider's refusal to answer.

    Attributes:
        type: its error code or type, ``http_<status>`` when the body names none, or `STREAM_CUT`.
        message: its text.
    """

    type: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """What came back for a request.

    Attributes:
        output: the assistant Message; None when there is none.
        model: the model that answered.
        error: set for a status from 400, for an unreadable body, and for a stream that broke off (`output` then holds
            what had come).
        status: the HTTP status.
        extra: what rebuilding the response needs beyond the message; its keys are the wire's own.
    """

    output: Json = None
    model: str | None = None
    usage: WireUsage | None = None
    error: WireError | None = None
    status: int = 200
    extra: dict[str, Any] = field(default_factory=dict)


class Wire(Protocol):
    """One model API."""

    name: str
    """What the attribute ``wire`` of a recorded step holds."""

    def matches(self, method: str, url: str) -> bool:
        """Whether a request to `url` speaks this API."""
        ...

    def request(self, body: bytes) -> WireRequest | None:
        """The plain form of a request's body; None when it is not one of this API."""
        ...

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> WireAnswer:
        """The plain form of a response that did not stream. Header names are lower case."""
        ...

    def answer_from_stream(self, chunks: Iterable[bytes], headers: Mapping[str, str]) -> WireAnswer:
        """The plain form of a streamed response, also of one that broke off."""
        ...

    def response(self, answer: WireAnswer, request: WireRequest) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body that say `answer`; also for an answer that never was HTTP."""
        ...

    def stream(self, answer: WireAnswer, request: WireRequest) -> list[bytes]:
        """The pieces of a stream that says `answer`, without an end where `answer` broke off."""
        ...
