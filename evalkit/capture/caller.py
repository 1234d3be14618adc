"""Who sends the requests of a live model in a replay: not the agent's client, but a caller that the session was given.

So retries, limits, keys and costs are one matter for all libraries, and a confined agent needs no network of its own.
An answer comes whole: a stream is given on in the pieces that it came in, after its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["Caller", "ModelRequest", "ModelResponse"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A model request as the agent's client would send it; always a POST.

    Attributes:
        headers: names in lower case.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """What the endpoint answered.

    Attributes:
        headers: names in lower case, without those of one connection.
        pieces: of the body, decoded.
        tries: how often it was asked, the last time included.
        cost_usd: by the price table; None where the model has no price there.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    tries: int = 1
    cost_usd: float | None = None


class Caller(Protocol):
    """Sends model requests."""

    def takes(self, url: str) -> bool:
        """Whether a request to `url` is for this caller; others the client sends by itself."""
        ...

    def submit(self, request: ModelRequest) -> Future[ModelResponse]:
        """Begins a call. The future raises a `BaseException` that ends the replay where there will be no answer."""
        ...
