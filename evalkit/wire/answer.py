"""What the answers of all APIs have: headers, counts, errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.wire.protocol import WireError

__all__ = ["count_of", "error_of", "kept_headers", "text_of"]

_KEPT = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "request-id", "apim-request-id"}
)
_KEPT_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_MAX_BODY = 65_536


def kept_headers(headers: Any) -> dict[str, str]:
    """The headers that decide what a client does, apart from those that tell how the body travelled.

    Args:
        headers: of a response, names in lower case; or of a recorded file, which may hold anything.
    """
    return {
        key: value
        for key, value in (headers.items() if isinstance(headers, Mapping) else ())
        if isinstance(key, str)
        and (key in _KEPT or key.startswith(_KEPT_PREFIXES))
        and isinstance(value, str)
        and value.isascii()
        and value.isprintable()
    }


def count_of(raw: Any, key: str) -> int | None:
    """A count in a usage object; None where there is none."""
    value = raw.get(key) if isinstance(raw, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def error_of(raw: Any, status: int, body: bytes = b"") -> WireError:
    """The error of a body ``{"error": {"message", "type", "code"}}``; some servers send it flat, or as text."""
    error = raw.get("error", raw) if isinstance(raw, dict) else raw
    if isinstance(error, dict):
        kind = next((error[key] for key in ("code", "type") if isinstance(error.get(key), str)), f"http_{status}")
        message = next((error[key] for key in ("message", "detail") if isinstance(error.get(key), str)), "")
        return WireError(kind or f"http_{status}", message)
    return WireError(f"http_{status}", error if isinstance(error, str) else text_of(body))


def text_of(body: bytes) -> str:
    """The beginning of a body that is no JSON, as text."""
    return body[:_MAX_BODY].decode("utf-8", "replace")
