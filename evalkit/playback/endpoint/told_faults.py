"""Faults of the endpoint that come with a good status: told inside of an answer, or an answer that is none.

A stream has its status before the model has said anything, so that an overload, a rate limit or a crash can only be
told amid of it; the responses API tells them as a response that failed, and routers in bodies of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalkit.wire.answer import error_of
from evalkit.wire.body import parse_json
from evalkit.wire.protocol import WireAnswer

__all__ = ["told_fault"]

_OF_THE_REQUEST = re.compile(
    r"invalid|content_?(filter|policy)|moderation|safety|policy_violation|context_length|too_(long|large|many_tokens)"
    r"|not_found|unsupported|image",
    re.IGNORECASE,
)
"""Kinds of error that would come again: what was asked is the agent's own affair."""
_PASSING = frozenset({408, 409, 425, 429})


def told_fault(answer: WireAnswer | None) -> str:
    """What the endpoint failed at, in words; empty for an answer, and for a refusal of what was asked."""
    if answer is None or answer.status >= 300:
        return ""
    choice = answer.extra.get("choice")
    if isinstance(choice, Mapping) and choice.get("finish_reason") == "error":
        told = choice.get("error")
        return f"it ended its answer by an error: {told if told else 'it says no more'}"[:500]
    error = answer.error
    if error is None:
        return ""
    raw = answer.extra.get("stream_error") or _json_of(answer.extra.get("body"))
    kind = error.type if error.type != "UnreadableAnswer" else error_of(raw, answer.status).type
    if _OF_THE_REQUEST.search(kind) or _refuses(raw):
        return ""
    told = error.message if error.type.startswith("http_") else f"{error.type}: {error.message}"
    return (told or "it sent an error without words")[:500]


def _json_of(body: Any) -> Any:
    try:
        return parse_json(body.encode()) if isinstance(body, str) else None
    except ValueError:
        return None


def _refuses(told: Any) -> bool:
    """Whether an error inside of an answer has a number that would be a refusal as a status."""
    inner = told.get("error", told) if isinstance(told, Mapping) else None
    code = inner.get("code") if isinstance(inner, Mapping) else None
    return isinstance(code, int) and 400 <= code < 500 and code not in _PASSING
