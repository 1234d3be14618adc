"""Numbers and long strings as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from evalkit.canonical import Json, canonical
from evalkit.errors import InputError
from evalkit.percent import percent, whole_percent
from evalkit.verdict.model import BaselineRow, CaseVerdict

__all__ = [
    "MAX_TEXT",
    "baseline_text",
    "cost_text",
    "cut",
    "date_text",
    "interval_text",
    "json_text",
    "p_text",
    "rate_text",
]

MAX_TEXT = 2_400
"""No text of a page is longer than this, in characters, whatever the model holds."""


def date_text(seconds: float) -> str:
    """A moment, from seconds since 1970 UTC."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):  # a hostile or broken clock
        return f"second {seconds:g} since 1970"


def rate_text(verdict: CaseVerdict) -> str:
    """The pass rate; a dash without samples."""
    return "–" if verdict.rate is None else percent(verdict.rate)


def interval_text(low: float, high: float) -> str:
    """An interval of a rate, in whole percents where they tell enough."""
    return f"{whole_percent(low).removesuffix('%')}–{whole_percent(high)}"


def baseline_text(row: BaselineRow | None) -> str:
    """The baseline's counts and rate; empty without a baseline."""
    if row is None or not row.n:
        return ""
    return f"{percent(row.passed / row.n)} ({row.passed} of {row.n})"


def p_text(p: float | None) -> str:
    """A p value with two significant digits; empty where there is none."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def cost_text(usd: float) -> str:
    """Dollars with two significant digits at least; empty for none."""
    if not usd:
        return ""
    return f"${usd:,.2f}" if usd >= 1 else "<$0.0001" if usd < 0.0001 else f"${usd:.2g}"


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and its length."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def json_text(value: Json) -> str:
    """A JSON value as one line of text: strings bare, objects canonical; empty for null."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return canonical(value).decode()
    except InputError:  # a lone surrogate, or an absurd depth: shown all the same
        return repr(value)
