"""Errors that say nothing about the request: the other side was not reached, or did not answer."""

from __future__ import annotations

import re

from evalkit.trace.model import StepError

__all__ = ["is_outage"]

_TYPES = ("timeout", "timedout", "connection", "reset", "disconnect", "remoteprotocol", "brokenpipe", "readerror",
          "cancelled", "gateway", "unavailable", "deadline", "ratelimit", "toomanyrequests", "internalserver",
          "overloaded")  # fmt: skip
_WORDS = re.compile(
    r"timed? ?out|connection (reset|closed|refused|aborted)|no (response|answer)|outcome unknown|overloaded"
    r"|(service|temporarily) unavailable|rate limit|too many requests|internal server error|bad gateway"
    r"|(^|\D)(429|500|502|503|504)(\D|$)",
    re.IGNORECASE,
)
_SHORT = 300
"""A longer message is a text that may hold such words for other reasons."""


def is_outage(error: StepError) -> bool:
    """Whether an error is of the infrastructure, by its class or, in a short message, by its words.

    Any other error is an answer: what was asked can't be done, and an agent that says so is right.
    """
    kind = error.type.lower().replace("_", "")
    return any(word in kind for word in _TYPES) or _WORDS.search(error.message[:_SHORT]) is not None
