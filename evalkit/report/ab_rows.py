"""An A/B verdict as rows of text, which the terminal, Markdown and the page lay out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evalkit.figures import figures
from evalkit.percent import percent, points_between, signed_points
from evalkit.report.text import p_text
from evalkit.verdict.ab import ABVerdict, ArmOfCase, CasePair, Metric
from evalkit.verdict.ab_words import change_between, change_text, metric_name

__all__ = ["CASE_HEAD", "LIKE", "METRIC_HEAD", "CaseRow", "MetricRow", "amount", "case_row", "case_rows", "metric_rows"]

METRIC_HEAD = ("", "A", "B", "change", "adjusted p")
LIKE = "cases like these"
"""The name of a row that says what the one above is elsewhere."""
CASE_HEAD = ("case", "A", "B", "change", "adjusted p", "")


class MetricRow(NamedTuple):
    """One metric in both arms."""

    name: str
    a: str
    b: str
    change: str
    p: str


class CaseRow(NamedTuple):
    """One case in both arms.

    Attributes:
        word: which arm is better there, or why it was not compared.
    """

    case_id: str
    a: str
    b: str
    change: str
    p: str
    word: str


def metric_rows(found: ABVerdict) -> Iterator[MetricRow]:
    """The pass rate, then each metric that was compared or asked for: for this suite, and for cases like these."""
    rate = found.rate
    if rate is not None:
        p = "" if found.deterministic else p_text(rate.p_adjusted)
        moved = f"{signed_points(rate.difference)}, {points_between(rate.low, rate.high)}"
        yield MetricRow("pass rate, this suite", percent(rate.a), percent(rate.b), moved, p)
        if rate.low_like is not None and rate.high_like is not None:
            yield MetricRow(LIKE, "", "", points_between(rate.low_like, rate.high_like), "")
    for change in found.metrics:
        if change.a is not None and change.b is not None:
            name = metric_name(change.metric)
            told = (amount(change.metric, change.a), amount(change.metric, change.b), change_text(change))
            yield MetricRow(f"{name}, this suite", *told, "" if found.deterministic else p_text(change.p_adjusted))
            if change.low_like is not None and change.high_like is not None:
                like = change_between(change.low_like, change.high_like)
                yield MetricRow(LIKE, "", "", f"{like} %", "")
        elif change.metric == found.primary:
            yield MetricRow(metric_name(change.metric), "", "", f"not compared: {change.reason}", "")


def case_rows(found: ABVerdict, *, every: bool = False) -> list[CaseRow]:
    """The cases that are shown to differ, largest difference first, and those not compared.

    Args:
        every: the other cases, too, after them.
    """
    order = {"a": 0, "b": 0, "not compared": 1, "neither shown": 2}
    pairs = sorted(found.pairs, key=lambda pair: (order[pair.better], -abs(pair.difference or 0.0), pair.case_id))
    return [case_row(pair) for pair in pairs if every or pair.better != "neither shown"]


def case_row(pair: CasePair) -> CaseRow:
    """One case."""
    change = ""
    if pair.difference is not None and pair.low is not None and pair.high is not None:
        between = "" if pair.deterministic else f", {points_between(pair.low, pair.high)}"
        change = f"{signed_points(pair.difference)}{between}"
    words = {"a": "A is better", "b": "B is better", "neither shown": "no difference shown"}
    word = words.get(pair.better, f"not compared: {pair.reason}")
    return CaseRow(pair.case_id, _counts(pair.a), _counts(pair.b), change, p_text(pair.p_adjusted), word)


def _counts(arm: ArmOfCase) -> str:
    lost = f" ({arm.lost} lost)" if arm.lost else ""
    return f"{arm.passed} of {arm.n}{lost}"


def amount(metric: Metric, value: float) -> str:
    """A metric's value in its unit."""
    if metric == "cost":
        return f"${figures(value, 4)}"
    return f"{figures(value, 3)} s" if metric == "latency" else figures(value, 4)
