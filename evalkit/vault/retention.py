"""How long evidence is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from evalkit.errors import ConfigError
from evalkit.vault.model import Evidence, RetentionClass

__all__ = ["expired", "parse_days"]

_DAY_S = 86_400


def parse_days(text: str, where: str) -> int:
    """The days of a text such as ``180d``.

    Raises:
        ConfigError: it is none.
    """
    match = re.fullmatch(r"([1-9]\d{0,4})d", text.strip())
    if match is None:
        raise ConfigError(f"{text!r} is no time to keep something", where, "write days: 180d")
    return int(match[1])


def expired(every: Iterable[Evidence], days: Mapping[RetentionClass, int], now: str) -> list[Evidence]:
    """The evidence that is past its class; what is on hold never is.

    Args:
        days: of the classes that end.
        now: UTC, ISO 8601 with seconds.
    """
    at = _seconds(now)
    return [one for one in every if one.effective in days and at - _seconds(one.kept_at) > days[one.effective] * _DAY_S]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp()
