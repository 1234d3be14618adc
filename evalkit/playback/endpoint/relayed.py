"""The caller of a confined process: it asks another process, through a socket that was there before it was confined.

That process has the key and the network, and asks the configured endpoint only (`playback.sandbox.relay`).
"""

from __future__ import annotations

import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from evalkit.capture.caller import ModelRequest, ModelResponse
from evalkit.capture.seam import NOWHERE
from evalkit.playback.endpoint.address import why_not_endpoint
from evalkit.playback.endpoint.frames import receive_frame, send_frame
from evalkit.playback.endpoint.model import EndpointHalt

__all__ = ["RelayedCaller"]

_AT_ONCE = 64


class RelayedCaller:
    """Sends requests through `channel`; answers may come in any order.

    Threads send and read, never the agent's own: a replay's time limit, which strikes anywhere in the main thread,
    would else leave half a message behind.
    """

    def __init__(self, channel: socket.socket, base_url: str) -> None:
        self._channel = channel
        self._base_url = base_url
        self._pool = ThreadPoolExecutor(_AT_ONCE, "evalkit-relay")
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._came: dict[int, tuple[dict[str, Any], bytes]] = {}
        self._reading = self._gone = False
        self._count = 0

    def takes(self, url: str) -> bool:
        """Whether a request is the endpoint's."""
        return not why_not_endpoint(self._base_url, url)

    def submit(self, request: ModelRequest) -> Future[ModelResponse]:
        """Begins a call."""
        with NOWHERE.taken():  # it is none of the agent's work
            return self._pool.submit(self._call, request)

    def close(self) -> None:
        """Hangs up; calls under way get no answer."""
        self._channel.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _call(self, request: ModelRequest) -> ModelResponse:
        with self._sending:
            self._count += 1
            number = self._count
            head = {"id": number, "url": request.url, "headers": dict(request.headers)}
            try:
                send_frame(self._channel, head, request.body)
            except OSError:
                raise _gone() from None
        told, body = self._answer(number)
        if told.get("halt"):
            kind, reason = told["halt"]
            raise EndpointHalt(kind, str(reason))
        pieces, at = [], 0
        for size in told["sizes"]:
            pieces.append(body[at : at + size])
            at += size
        return ModelResponse(told["status"], told["headers"], tuple(pieces), told["tries"], told["cost_usd"])

    def _answer(self, number: int) -> tuple[dict[str, Any], bytes]:
        """The answer of that number: whoever waits and finds nobody reading reads for all."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: number in self._came or self._gone or not self._reading)
                if number in self._came:
                    return self._came.pop(number)
                if self._gone:
                    raise _gone()
                self._reading = True
            found = receive_frame(self._channel)
            with self._changed:
                self._reading = False
                if found is None:
                    self._gone = True
                else:
                    self._came[int(found[0]["id"])] = found
                self._changed.notify_all()


def _gone() -> EndpointHalt:
    return EndpointHalt("outage", "the process that asks the model endpoint is gone")
