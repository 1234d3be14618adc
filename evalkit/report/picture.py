"""The geometry of a row's two pictures, as SVG path data: sample dots and intervals.

A dot has a shape of its own for each outcome, so that colour is never the only difference. A run of passed samples is
one line that the style sheet draws as round dots (zero-length dashes with round caps, one each `PITCH`): a page of many
thousand cases stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from evalkit.suite.model import Outcome
from evalkit.verdict.model import CaseVerdict

__all__ = ["MAX_DOTS", "TRACK", "Dots", "IntervalPicture", "draw_dots", "draw_interval"]

MAX_DOTS = 60
"""More samples than this are told as counts only."""
DOTS_A_ROW = 20
PITCH = 8
_MARGIN = 4
_PAST_END = 0.1  # or the last dash, which begins where the line ends, would not be drawn

TRACK = 140
"""Width of the interval's track, in SVG units, with the margins."""

_SHAPES: dict[Outcome, str] = {
    "failed": "m-2.5-2.5l5 5m0-5l-5 5",
    "missed": "m-2.5-2.5h5v5h-5z",
    "errored": "m0-3l3 5.5h-6z",
}


@dataclass(frozen=True, slots=True)
class Dots:
    """Path data of a case's samples by outcome; empty where no sample has that outcome, or there are too many dots."""

    passed: str = ""
    failed: str = ""
    missed: str = ""
    errored: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class IntervalPicture:
    """Where the rate and its interval lie on the track, and the baseline's below it.

    Attributes:
        bar, base_bar: path data of the intervals; empty where there are no samples, no baseline.
        point, base_point: path data of the rates, a disc (zero-length stroke) and a diamond.
    """

    bar: str = ""
    point: str = ""
    base_bar: str = ""
    base_point: str = ""


def draw_dots(outcomes: Sequence[Outcome]) -> Dots:
    """The dots of a case's samples in the order of their index, twenty a line."""
    if not 0 < len(outcomes) <= MAX_DOTS:
        return Dots()
    paths: dict[Outcome, str] = {"passed": "", "failed": "", "missed": "", "errored": ""}
    lines = [outcomes[at : at + DOTS_A_ROW] for at in range(0, len(outcomes), DOTS_A_ROW)]
    for number, line in enumerate(lines):
        x, y = _MARGIN, _MARGIN + number * PITCH
        for outcome, run in groupby(line):
            count = len(list(run))
            paths[outcome] += _run(outcome, count, x, y)
            x += count * PITCH
    return Dots(**paths, width=len(lines[0]) * PITCH, height=len(lines) * PITCH)


def _run(outcome: Outcome, count: int, x: int, y: int) -> str:
    if outcome == "passed":
        return f"M{x} {y}H{x + (count - 1) * PITCH + _PAST_END}"
    return "".join(f"M{x + at * PITCH} {y}{_SHAPES[outcome]}" for at in range(count))


def draw_interval(verdict: CaseVerdict) -> IntervalPicture:
    """The interval picture of a verdict."""
    bar = point = base_bar = base_point = ""
    if verdict.rate is not None:
        bar = f"M{_x(verdict.low)} 7H{_x(verdict.high)}"
        point = f"M{_x(verdict.rate)} 7h0"
    if verdict.baseline is not None and verdict.baseline.n:
        row = verdict.baseline
        base_bar = f"M{_x(row.low)} 17H{_x(row.high)}"
        base_point = f"M{_x(row.passed / row.n)} 13l4 4l-4 4l-4-4z"
    return IntervalPicture(bar, point, base_bar, base_point)


def _x(share: float) -> str:
    return f"{5 + share * (TRACK - 10):.1f}".removesuffix(".0")
