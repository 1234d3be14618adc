"""The process that asks the model endpoint for one sandbox: it has the key and the network, the sandbox has a socket.

It is forked before the sandbox, from a process with one thread, so that it may have threads of its own; what the
sandbox sends it is checked against the configured endpoint by `playback.endpoint.calls`, like every call.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from evalkit.capture.caller import ModelRequest
from evalkit.forks import forking
from evalkit.playback.endpoint.calls import LiveModel
from evalkit.playback.endpoint.frames import receive_frame, send_frame
from evalkit.playback.endpoint.model import EndpointHalt

__all__ = ["Relay", "start_relay"]

_AT_ONCE, _LONGEST_REQUEST = 16, 32 << 20
"""What a sandbox can make this process hold: so many requests of so many bytes."""
_NOTE = struct.Struct(">?d")


class Relay:
    """A relay at work.

    Attributes:
        socket: the sandbox's end; close it here once the sandbox has it.
    """

    def __init__(self, process: int, theirs: socket.socket, notes: int) -> None:
        self._process = process
        self._notes = notes
        self._busy_s, self._since = 0.0, 0.0
        self.socket = theirs

    def busy_s(self) -> float:
        """Seconds for which the sandbox has waited for the endpoint so far: not the agent's time."""
        with contextlib.suppress(BlockingIOError):
            while note := os.read(self._notes, _NOTE.size):
                began, at = _NOTE.unpack(note)
                if began:
                    self._since = at
                else:
                    self._busy_s, self._since = self._busy_s + at - self._since, 0.0
        return self._busy_s + (time.monotonic() - self._since if self._since else 0.0)

    def end(self) -> None:
        """Ends the process."""
        self.socket.close()
        os.close(self._notes)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


def start_relay(model: Callable[[], LiveModel]) -> Relay:
    """Forks a relay.

    Args:
        model: makes what asks the endpoint; called in the relay, so that no other process reads the key.
    """
    ours, theirs = socket.socketpair()
    notes, write_notes = os.pipe()
    os.set_blocking(notes, False)
    with forking():
        process = os.fork()
    if process == 0:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            theirs.close()
            _serve(ours, write_notes, model())
        finally:
            os._exit(0)
    ours.close()
    os.close(write_notes)
    return Relay(process, theirs, notes)


class _Busy:
    """Tells through a pipe when calls begin to be under way, and when none is any more."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._count = 0

    def change(self, by: int) -> None:
        with self._lock:
            before, self._count = self._count, self._count + by
            if (before == 0) != (self._count == 0):
                os.write(self._pipe, _NOTE.pack(self._count > 0, time.monotonic()))


def _serve(channel: socket.socket, notes: int, model: LiveModel) -> None:
    """Answers until the sandbox is gone."""
    busy, sending, room = _Busy(notes), threading.Lock(), threading.Semaphore(_AT_ONCE)
    pool = ThreadPoolExecutor(_AT_ONCE)
    while room.acquire() and (frame := receive_frame(channel, _LONGEST_REQUEST)) is not None:
        head, body = frame
        request = _request(head, body)
        if request is None:
            break
        busy.change(1)
        done = pool.submit(_answer, channel, sending, busy, model, head["id"], request)
        done.add_done_callback(lambda _: room.release())
    os._exit(0)  # nobody waits for the calls under way


def _request(head: dict[str, Any], body: bytes) -> ModelRequest | None:
    """The request that a message holds; None for what is none."""
    url, headers = head.get("url"), head.get("headers")
    if not isinstance(head.get("id"), int) or not isinstance(url, str) or not isinstance(headers, dict):
        return None
    if not all(isinstance(each, str) and each.isprintable() and each.isascii() for each in headers.values()):
        return None
    return ModelRequest(url, headers, body)


def _answer(
    channel: socket.socket, sending: threading.Lock, busy: _Busy, model: LiveModel, number: int, request: ModelRequest
) -> None:
    told: dict[str, Any] = {"id": number, "halt": None}
    pieces: tuple[bytes, ...] = ()
    try:
        response = model.call(request)
        pieces = response.pieces
        told |= {"status": response.status, "headers": dict(response.headers), "sizes": [*map(len, pieces)]}
        told |= {"tries": response.tries, "cost_usd": response.cost_usd}
    except EndpointHalt as halt:
        told["halt"] = [halt.kind, halt.reason]
    except Exception as error:  # noqa: BLE001  # what the request made of a library; the sandbox is told, and goes on
        told["halt"] = ["outage", f"the model endpoint could not be asked: {type(error).__name__}"]
    finally:
        busy.change(-1)
    with sending, contextlib.suppress(OSError):
        send_frame(channel, told, b"".join(pieces))
