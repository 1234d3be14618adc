"""What the answers of all APIs have: headers, bodies, counts, errors, ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalkit.canonical import Json, digest
from evalkit.errors import InputError
from evalkit.shapes import is_whole
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.protocol import STREAM_CUT, WireAnswer, WireError, WireUsage

__all__ = [
    "count_of",
    "error_of",
    "json_headers",
    "kept_headers",
    "laid_out",
    "mark_of",
    "read_answer",
    "recorded_response",
    "stream_fault",
    "text_of",
]

_KEPT = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "request-id", "apim-request-id"}
)
_KEPT_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_MAX_BODY = 65_536
_MOST_COUNTED = 1 << 40
"""No call has more tokens; sums of such counts fit into the 64 bits that files have for them."""


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
    """A count in a usage object; None where there is none, or none that could be."""
    value = raw.get(key) if isinstance(raw, dict) else None
    return value if is_whole(value) and 0 <= value <= _MOST_COUNTED else None


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


def read_answer(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    answered: Callable[[Any, dict[str, Any]], WireAnswer | None],
    name: str,
) -> WireAnswer:
    """The plain form of a body that came whole: of an error, or what `answered` makes of it.

    Args:
        status: of the response.
        headers: of the response, names in lower case.
        body: of the response.
        answered: from the JSON and the first keys of `WireAnswer.extra`; None where the JSON is no answer of the API.
        name: how the API calls an answer, for the error of such a body.
    """
    extra: dict[str, Any] = {"headers": kept_headers(headers)}
    try:
        raw = parse_json(body)
    except ValueError:
        raw = None
    if status >= 400:
        kept = raw if raw is not None else text_of(body)
        return WireAnswer(error=error_of(raw, status, body), status=status, extra={**extra, "body": kept})
    answer = answered(raw, extra)
    if answer is not None:
        return answer
    said = error_of(raw, status).message if isinstance(raw, dict) and raw.get("error") else ""
    error = WireError("UnreadableAnswer", f"the body is no {name}{f': {said}' if said else ''}")
    return WireAnswer(error=error, status=status, extra={**extra, "body": text_of(body)})


def laid_out(
    raw: Mapping[str, Any],
    content: str,
    extra: dict[str, Any],
    *,
    output: Json,
    layout: Any,
    usage: WireUsage | None,
    error: WireError | None,
    status: int,
) -> WireAnswer:
    """The plain form of an answer whose content is a list of blocks or items, with how these were laid out.

    Args:
        raw: the API's answer.
        content: the key of that list in it.
        extra: the first keys of `WireAnswer.extra`; it has ``top``, ``layout`` and ``usage`` then, too.
        output: what is said by it, as one message.
        usage: the counts in the answer's usage.
    """
    extra["top"] = {key: value for key, value in raw.items() if key not in (content, "usage", "model")}
    extra["layout"] = layout
    if raw.get("usage") is not None:
        extra["usage"] = raw["usage"]
    model = raw.get("model")
    return WireAnswer(
        output=output,
        model=model if isinstance(model, str) else None,
        usage=usage,
        error=error,
        status=status,
        extra=extra,
    )


def stream_fault(sent: Any, extra: dict[str, Any], *, done: bool) -> WireError | None:
    """The error of a stream: the server's own, which `extra` has then as ``stream_error``; or that it broke off.

    Args:
        sent: the body of the error amid the stream; None where there was none.
        done: whether the stream came to its end.
    """
    if sent is not None:
        extra["stream_error"] = sent
        return error_of(sent, 200)
    return None if done else WireError(STREAM_CUT, "the stream ended before the answer did")


def recorded_response(answer: WireAnswer) -> tuple[int, dict[str, str], bytes] | None:
    """The response of an answer whose body was kept as it came; None where it is to be written anew."""
    if "body" not in answer.extra:
        return None
    body = answer.extra["body"]
    headers = {"content-type": "application/json", **kept_headers(answer.extra.get("headers"))}
    return answer.status, headers, body.encode("utf-8", "replace") if isinstance(body, str) else dump_json(body)


def json_headers(answer: WireAnswer) -> dict[str, str]:
    """The headers of a response that is written anew, as JSON whatever it was recorded as."""
    return {**kept_headers(answer.extra.get("headers")), "content-type": "application/json"}


def mark_of(message: Any) -> str:
    """What ids are made of where none was recorded."""
    try:
        return digest(message)[:24]
    except InputError:
        return "unencodable"
