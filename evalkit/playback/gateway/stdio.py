"""MCP over standard input and output: a message a line, each answered at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from evalkit.errors import ConfigError
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.mcp import NOT_RECORDED, error_reply

__all__ = ["answer_lines", "session_reply"]

_TIMEOUT_S = 120.0


def answer_lines(reply: Callable[[bytes], bytes | None], source: int = 0, sink: int = 1) -> None:
    """Answers every line of `source` on `sink`, until the end of `source`.

    Args:
        reply: the answer to a message; None where none is due.
        source, sink: file descriptors.
    """
    for line in _lines(source):
        found = reply(line) if line.strip() else None
        if found is not None:
            rest = memoryview(found + b"\n")
            while rest:
                rest = rest[os.write(sink, rest) :]


def session_reply(url: str) -> Callable[[bytes], bytes | None]:
    """Asks a session that a gateway serves, at its MCP endpoint.

    Raises:
        ConfigError: the URL is none of a gateway's.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname or not parts.path.endswith("/mcp"):
        raise ConfigError(f"{url!r} is no MCP endpoint of a gateway", "--session", "pass what EVALKIT_MCP_URL holds")

    def reply(line: bytes) -> bytes | None:
        connection = HTTPConnection(parts.netloc, timeout=_TIMEOUT_S)
        try:
            connection.request("POST", parts.path, line, {"Content-Type": "application/json"})
            response = connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            return _failed(line, f"the gateway can't be reached: {error}")
        finally:
            connection.close()
        if response.status == 200:
            return body
        return None if response.status == 202 else _failed(line, body.decode("utf-8", "replace"))

    return reply


def _failed(line: bytes, why: str) -> bytes | None:
    """An error for a request; a notification gets none."""
    try:
        message = parse_json(line)
    except ValueError:
        message = {"id": None}
    if not isinstance(message, dict) or "id" not in message:
        return None
    return dump_json(error_reply(message["id"], NOT_RECORDED, f"evalkit: {why}"))


def _lines(source: int) -> Iterator[bytes]:
    """The lines of a descriptor. No buffered file: a thread that waits in one holds its lock when Python ends."""
    left = b""
    while chunk := os.read(source, 1 << 16):
        *whole, left = (left + chunk).split(b"\n")
        yield from whole
    if left:
        yield left
