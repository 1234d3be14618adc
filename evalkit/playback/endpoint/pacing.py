"""How many calls at once, and how long until the next try: fewer after a refusal, slowly more after answers."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST_WAIT_S", "Pace", "delay_s", "retry_after_s"]

LONGEST_WAIT_S = 60.0
_FIRST_WAIT_S, _LONGEST_OWN_S = 0.5, 20.0
_JITTER = 0.25
_SHORTEST_PAUSE_S = 0.05


@dataclass(slots=True)
class Pace:
    """The calls at once that an endpoint bears: additive increase, multiplicative decrease.

    Attributes:
        limit: calls at once; its whole part counts.
        most: what it never exceeds.
        cut_at: when it was last halved.
        pause_until: no call begins before.
    """

    limit: float
    most: int
    cut_at: float = 0.0
    pause_until: float = 0.0

    def answered(self) -> None:
        """An answer came: one more call at once after as many answers as there are calls at once."""
        self.limit = min(self.limit + 1 / max(self.limit, 1.0), float(self.most))

    def refused(self, began: float, now: float, wait_s: float) -> None:
        """The endpoint said that it is too much.

        Args:
            began: when the refused call began; one from before the last cut tells nothing new.
            wait_s: how long it wants to be left alone; no longer than `LONGEST_WAIT_S` is waited, as by `delay_s`.
        """
        if began >= self.cut_at:
            self.limit = max(self.limit / 2, 1.0)
            self.cut_at = now
        self.pause_until = max(self.pause_until, now + min(max(wait_s, _SHORTEST_PAUSE_S), LONGEST_WAIT_S))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long an answer asks to wait: seconds, or a date (RFC 9110, 10.2.3); None where it does not say.

    A date is held against the answer's own ``Date``: this machine's clock may be frozen.
    """
    milliseconds, said = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is None and said is None:
            return None
        seconds = float(said or "") if milliseconds is None else float(milliseconds) / 1000
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    except ValueError:
        until, now = _date(said), _date(headers.get("date"))
        return None if until is None or now is None else max((until - now).total_seconds(), 0.0)


def delay_s(tried: int, headers: Mapping[str, str], draw: random.Random) -> float:
    """Seconds until the next try: what the endpoint asks for and up to a quarter more, else longer each time.

    Full jitter on its own waits (Brooker, "Exponential Backoff and Jitter", AWS 2015): callers that failed together
    don't come back together.

    Args:
        tried: how often it was asked, from 1.
    """
    asked = retry_after_s(headers)
    if asked is not None:
        return min(asked, LONGEST_WAIT_S) * (1 + _JITTER * draw.random())
    return draw.uniform(0, min(_FIRST_WAIT_S * 2.0**tried, _LONGEST_OWN_S))


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else None
