"""Messages on the socket between a confined process and the one that asks the model endpoint for it.

Two lengths of four bytes, a JSON head, a body. Whoever reads must expect anything: the other end may be hostile.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

import orjson

__all__ = ["receive_frame", "send_frame"]

_LENGTHS = struct.Struct(">II")
_LONGEST_HEAD, _LONGEST_BODY = 1 << 20, 256 << 20


def send_frame(channel: socket.socket, head: dict[str, Any], body: bytes) -> None:
    """Sends a message; not for two threads at once.

    Raises:
        OSError: the other end is gone.
    """
    told = orjson.dumps(head)
    channel.sendall(_LENGTHS.pack(len(told), len(body)) + told)
    channel.sendall(body)


def receive_frame(channel: socket.socket, longest: int = _LONGEST_BODY) -> tuple[dict[str, Any], bytes] | None:
    """The next message; None when the other end is gone, or what it says is none, or longer than `longest` bytes."""
    lengths = _exactly(channel, _LENGTHS.size)
    if lengths is None:
        return None
    head_size, body_size = _LENGTHS.unpack(lengths)
    if head_size > _LONGEST_HEAD or body_size > longest:
        return None
    told, body = _exactly(channel, head_size), _exactly(channel, body_size)
    if told is None or body is None:
        return None
    try:
        head = orjson.loads(told)
    except orjson.JSONDecodeError:
        return None
    return (head, body) if isinstance(head, dict) else None


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        try:
            part = channel.recv(min(size, 1 << 20))
        except OSError:
            return None
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
