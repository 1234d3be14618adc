"""Calls to the live model: checked, counted, paced, tried again, priced. All of a run's go through here."""

from __future__ import annotations

import math
import os
import random
import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalkit.capture.caller import ModelRequest, ModelResponse
from evalkit.capture.seam import NOWHERE
from evalkit.errors import ConfigError
from evalkit.playback.endpoint.address import headers_for, why_not_endpoint
from evalkit.playback.endpoint.client import client_library
from evalkit.playback.endpoint.ledger import Entry, Ledger
from evalkit.playback.endpoint.model import DEFAULT_KEY, Endpoint, EndpointHalt
from evalkit.playback.endpoint.pacing import delay_s, retry_after_s
from evalkit.playback.endpoint.prices import Price, cost_of, price_of
from evalkit.playback.endpoint.told_faults import told_fault
from evalkit.trace.model import Usage
from evalkit.wire.protocol import Wire, WireAnswer, WireRequest
from evalkit.wire.registry import find_wire

__all__ = ["LiveModel", "check_headers"]

_TRY_AGAIN = frozenset({408, 409, 425, 429})
_TOO_MUCH = frozenset({429, 503, 529})
_KEY_REFUSED = frozenset({401, 402, 403, 407})
_CHARACTERS_A_TOKEN = 4
_OF_ONE_CONNECTION = frozenset(
    "connection keep-alive transfer-encoding content-length content-encoding trailer upgrade te set-cookie "
    "proxy-authenticate".split()
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONNECT_S = 10.0
_ANTHROPIC_KEY = "ANTHROPIC_API_KEY"


@dataclass(frozen=True, slots=True)
class _Met:
    """What one try met: an answer, or why there is none.

    Attributes:
        status: None where nothing came.
        broken: an answer that did not come to its end, tells a fault of the endpoint, or none at all, in words.
        waited: whether the endpoint had the whole request, and was at work on it until nobody waited any more.
    """

    status: int | None = None
    headers: Mapping[str, str] | None = None
    pieces: tuple[bytes, ...] = ()
    broken: str = ""
    waited: bool = False

    @property
    def may_try_again(self) -> bool:
        """Whether the next try may be answered: a rate limit, a fault of the server, a connection that failed."""
        return bool(self.broken) or self.status in _TRY_AGAIN or (self.status or 0) >= 500


class LiveModel:
    """An endpoint, the run's account, and the key.

    Args:
        environment: where the key and the headers' variables are.

    Raises:
        ConfigError: a header names a variable that is not set.
    """

    def __init__(
        self, endpoint: Endpoint, ledger: Ledger, prices: Sequence[Price], environment: Mapping[str, str] = os.environ
    ) -> None:
        self._endpoint = endpoint
        self._ledger = ledger
        self._prices = tuple(prices)
        self._key = environment.get(endpoint.key_env, "")
        own = environment.get(_ANTHROPIC_KEY, "") if endpoint.key_env == DEFAULT_KEY else ""
        self._anthropic_key = own or self._key
        check_headers(endpoint, environment)
        self._own = {
            name: _VARIABLE.sub(lambda found: environment[found[1]], text) for name, text in endpoint.headers.items()
        }
        self._secrets = [
            text.encode() for text in (self._key, self._anthropic_key, *self._secret_values()) if len(text) >= 8
        ]
        self._draw = random.Random(time.perf_counter_ns())  # not the process' own: that belongs to the replay
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._client: Any = None

    def takes(self, url: str) -> bool:
        """Whether a request is for this endpoint."""
        return not why_not_endpoint(self._endpoint.base_url, url)

    def call(self, request: ModelRequest) -> ModelResponse:
        """The endpoint's answer, by whatever number of tries; one that refuses the request itself is an answer.

        Raises:
            EndpointHalt: there is none, or none is to be had; also by a fault of our own, which is none of the agent's.
        """
        try:
            return self._answered(request)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise EndpointHalt("outage", f"evalkit failed to ask the model endpoint: {what}") from error

    def _answered(self, request: ModelRequest) -> ModelResponse:
        why = why_not_endpoint(self._endpoint.base_url, request.url)
        wire = find_wire("POST", request.url)
        asked = None if wire is None else wire.request(request.body)
        if why or wire is None or asked is None:
            raise EndpointHalt("refused", f"refused to ask the model endpoint: {why or 'it is no model call'}")
        self._check_price(asked.model)
        headers = headers_for(
            request.url, request.headers, self._own, self._anthropic_key if wire.name == "anthropic" else self._key
        )
        for tried in range(1, self._endpoint.tries + 1):
            entry = self._ledger.enter(again=tried > 1, given_up=self._stopped.is_set)
            met = _Met(broken="interrupted")
            try:
                met = self._once(request, headers)
            finally:
                with self._left_by_error(entry):
                    answer = _told(wire, asked, met)
                    if fault := told_fault(answer):
                        met = replace(met, broken=fault)
                    priced = self._leave(entry, met, answer, wire, asked)
            if met.status in _KEY_REFUSED:
                raise EndpointHalt("outage", f"the model endpoint refused the key: {_said(met, answer)}")
            if not met.may_try_again:
                return ModelResponse(
                    met.status or 502, self._masked_headers(met.headers or {}), self._masked(met.pieces), tried, priced
                )
            if tried < self._endpoint.tries and not _is_over_quota(answer):
                self._stopped.wait(min(delay_s(tried, met.headers or {}, self._draw), self._ledger.left_s()))
            else:
                break
        tries = f" (tried {tried} times)" if tried > 1 else ""
        raise EndpointHalt("outage", f"the model endpoint failed: {_said(met, answer)}{tries}")

    def stop(self) -> None:
        """Lets no further try begin."""
        self._stopped.set()

    def close(self) -> None:
        """Lets go of connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _once(self, request: ModelRequest, headers: Mapping[str, str]) -> _Met:
        library = client_library()
        with self._lock:
            if self._client is None:
                timeout = library.Timeout(self._endpoint.timeout_s, connect=min(_CONNECT_S, self._endpoint.timeout_s))
                limits = library.Limits(max_connections=None)
                self._client = library.Client(timeout=timeout, limits=limits, follow_redirects=False)
        pieces: list[bytes] = []
        status, found = None, None
        try:
            with (
                NOWHERE.taken(),
                self._client.stream("POST", request.url, content=request.body, headers=dict(headers)) as response,
            ):
                status = response.status_code
                found = {name.lower(): value for name, value in response.headers.items()}
                pieces += response.iter_bytes()
        except (library.HTTPError, library.StreamError) as error:
            waited = isinstance(error, library.ReadTimeout)
            return _Met(status, found, tuple(pieces), f"{type(error).__name__}: {error}", waited)
        if 300 <= status < 400:
            return _Met(status, found, tuple(pieces), f"it redirects to {found.get('location', 'nowhere')[:200]}")
        return _Met(status, found, tuple(pieces))

    @contextmanager
    def _left_by_error(self, entry: Entry) -> Iterator[None]:
        """Gives the place back where that fails: others would wait for it for ever."""
        try:
            yield
        except Exception:
            self._ledger.leave(entry)
            raise

    def _leave(
        self, entry: Entry, met: _Met, answer: WireAnswer | None, wire: Wire, asked: WireRequest
    ) -> float | None:
        """Puts the try on the account; gives its cost, where it was answered and has a price."""
        wait = (retry_after_s(met.headers or {}) or 0.0) if met.status in _TOO_MUCH else None
        if (met.status is None and not met.waited) or (met.status or 0) >= 300:
            self._ledger.leave(entry, wait_s=wait)
            return None
        came = _told(wire, asked, replace(met, broken="")) if answer is None else answer
        usage, estimated = _used(asked, met, came)
        price = price_of(None if came is None else came.model, self._prices) or price_of(asked.model, self._prices)
        cost = None if price is None else cost_of(usage, price)
        self._ledger.leave(entry, usage, cost_usd=cost, estimated=estimated, broken=bool(met.broken))
        return cost

    def _check_price(self, model: str | None) -> None:
        """A budget of dollars can't be kept with a model whose price nobody knows: the run stops there."""
        _, limits = self._ledger.told()
        if "cost_usd" in limits and price_of(model, self._prices) is None:
            reason = f"the agent asks for {model or 'no model by name'}, which has no price, and a cost budget is set"
            self._ledger.stop(reason)
            raise EndpointHalt("budget", reason)

    def _secret_values(self) -> list[str]:
        """What the environment put into the endpoint's headers."""
        return [self._own[name] for name, text in self._endpoint.headers.items() if _VARIABLE.search(text)]

    def _masked(self, pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """The pieces without the key, should the endpoint give it back."""
        whole = b"".join(pieces)
        if not any(secret in whole for secret in self._secrets):
            return pieces
        for secret in self._secrets:
            whole = whole.replace(secret, b"*" * len(secret))
        cut, at = [], 0
        for piece in pieces:
            cut.append(whole[at : at + len(piece)])
            at += len(piece)
        return tuple(cut)

    def _masked_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in headers.items() if name not in _OF_ONE_CONNECTION}
        return {
            name: value for name, value in kept.items() if not any(each.decode() in value for each in self._secrets)
        }


def check_headers(endpoint: Endpoint, environment: Collection[str]) -> None:
    """Refuses headers that can't be made; looks at the variables' names only.

    Raises:
        ConfigError: one names a variable that is not set.
    """
    for text in endpoint.headers.values():
        for name in _VARIABLE.findall(text):
            if name not in environment:
                raise ConfigError(
                    f"a header names ${{{name}}}, which is not set", "[model] headers", f"export {name}=..."
                )


def _told(wire: Wire, asked: WireRequest, met: _Met) -> WireAnswer | None:
    if met.status is None or met.broken:
        return None
    headers = met.headers or {}
    if asked.stream and met.status < 400 and not headers.get("content-type", "").startswith("application/json"):
        return wire.answer_from_stream(met.pieces, headers)
    return wire.answer(met.status, headers, b"".join(met.pieces))


def _used(asked: WireRequest, met: _Met, came: WireAnswer | None) -> tuple[Usage, bool]:
    """What an answer used, and whether that is an estimate: a budget must not be had for nothing.

    A token every four characters, where the endpoint tells none. An answer that broke off is paid for, too, and what
    was asked where the endpoint took too long. A stream's events don't count: they are fifty times the text they hold.

    Args:
        came: what can be read of it.
    """
    told = Usage() if came is None or came.usage is None else Usage(**asdict(came.usage))
    if not met.broken and (told.input_tokens is not None or told.output_tokens is not None):
        return told, False
    readable = came is not None and came.output is not None
    got = len(repr(came.output)) if came is not None and readable else sum(map(len, met.pieces))
    sent, said = (math.ceil(size / _CHARACTERS_A_TOKEN) for size in (len(repr(asked.asked)), got))
    return replace(told, input_tokens=told.input_tokens or sent, output_tokens=max(told.output_tokens or 0, said)), True


def _said(met: _Met, answer: WireAnswer | None) -> str:
    if met.broken or answer is None:
        return met.broken or "nothing came"
    if answer.error is None:
        return f"status {met.status}"
    return f"{answer.error.type}: {answer.error.message}"[:500]


def _is_over_quota(answer: WireAnswer | None) -> bool:
    """Whether waiting won't help."""
    return answer is not None and answer.error is not None and "insufficient_quota" in answer.error.type
