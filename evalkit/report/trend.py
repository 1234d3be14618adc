"""A case's pass rate over the last nights: a line small enough for a row, and what it shows in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.figures import counted
from evalkit.percent import percent
from evalkit.verdict.history import Night

__all__ = ["TREND_HEIGHT", "TREND_WIDTH", "Trend", "draw_trend"]

MOST_NIGHTS = 14
TREND_WIDTH, TREND_HEIGHT = 92, 22
_TOP, _BOTTOM, _LEFT, _RIGHT = 4, 18, 3, 88


@dataclass(frozen=True, slots=True)
class Trend:
    """A line over nights.

    Attributes:
        line: path data; nights without a result leave a gap.
        last: path data of the last night's point, a stroke without length.
        text: the rate before in words; empty where there is nothing to compare.
        nights: of how many nights that is.
    """

    line: str = ""
    last: str = ""
    text: str = ""
    nights: str = ""


_NO_TREND = Trend()


def draw_trend(case_id: str, nights: Sequence[Night], now: tuple[int, int]) -> Trend:
    """The trend of a case over the nights before and this run.

    Args:
        nights: the runs before this one, oldest first.
        now: passed and counted samples of this run.
    """
    counts = [night.cases.get(case_id, (0, 0)) for night in nights[-MOST_NIGHTS:]]
    before = [count for count in counts if count[1]]
    if not before:
        return _NO_TREND
    while not counts[0][1]:
        counts = counts[1:]
    points = [*counts, now]
    step = (_RIGHT - _LEFT) / (len(points) - 1)
    places = [(_LEFT + at * step, passed / n if n else None) for at, (passed, n) in enumerate(points)]
    line, joined = "", False
    for x, rate in places:
        if rate is not None:
            line += f"{'L' if joined else 'M'}{x:.0f} {_y(rate)}"
        joined = rate is not None
    last = "" if places[-1][1] is None else f"M{_RIGHT} {_y(places[-1][1])}h0"
    rate = sum(passed for passed, _ in before) / sum(n for _, n in before)
    return Trend(line, last, f"{percent(rate)} before", counted(len(before), "night"))


def _y(rate: float) -> str:
    return f"{_BOTTOM - rate * (_BOTTOM - _TOP):.1f}".removesuffix(".0")
