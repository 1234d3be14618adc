"""The page of an A/B comparison: which arm is better, by how much, in which cases, and where they part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalkit.figures import counted
from evalkit.percent import percent
from evalkit.report.ab_rows import LIKE, CaseRow, MetricRow, amount, case_row, metric_rows
from evalkit.report.packed import STATIC_DETAILS, entry
from evalkit.report.page import render_page
from evalkit.report.text import cost_text, cut
from evalkit.report.trajectory import Trajectory
from evalkit.verdict.ab import ABVerdict, Better, CasePair, Metric, MetricChange, RateChange
from evalkit.verdict.ab_words import metric_name

__all__ = ["render_ab_html"]

_SECTIONS: tuple[tuple[Better, str, str], ...] = (
    ("a", "Worse in B", "shown to be better in arm A"),
    ("b", "Better in B", "shown to be better in arm B"),
    ("not compared", "Not compared", ""),
    ("neither shown", "No difference shown", "which is not shown to be none"),
)
_KEYS: dict[Better, str] = {"a": "fail", "b": "pass", "not compared": "inconclusive", "neither shown": "degraded"}
_CHIPS: dict[Better, str] = {"a": "worse in B", "b": "better in B", "not compared": "not compared",
                             "neither shown": "no difference shown"}  # fmt: skip
_SLOPE_TOP, _SLOPE_BOTTOM, _SLOPE_A, _SLOPE_B = 14, 206, 60, 300
_HALF = 65
"""Half of the track on which a difference is drawn; its middle is no difference."""
_MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class ABRow:
    """One case in both arms.

    Attributes:
        anchor: ``case=ID``.
        key: the icon's name.
        text: the numbers as text.
        rate_a, rate_b: pass rates as text.
        bar, point: path data of the difference and its interval around no difference; empty where not compared.
        means: cost, latency, steps and tokens of both arms as text.
        links: of the case in each arm's own report; empty where there is none.
        trajectory: where the arms part.
    """

    pair: CasePair
    anchor: str
    key: str
    text: CaseRow
    rate_a: str
    rate_b: str
    bar: str
    point: str
    means: tuple[tuple[str, str, str], ...]
    links: tuple[str, str]
    trajectory: Trajectory | None


@dataclass(frozen=True, slots=True)
class ABSection:
    """Cases of one sort."""

    key: Better
    title: str
    note: str
    rows: tuple[ABRow, ...]
    folded: bool


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric with its picture; `bar` is empty where it was not compared."""

    text: MetricRow
    bar: str = ""
    point: str = ""


@dataclass(frozen=True, slots=True)
class Slopes:
    """The picture of all cases' rates in both arms, as path data by which arm is better; `mean` is the mean's line."""

    worse: str
    better: str
    same: str
    mean: str
    sentence: str


def render_ab_html(
    found: ABVerdict,
    *,
    folder: str = "",
    stopped: str = "",
    reports: tuple[str, str] = ("", ""),
    trajectories: Mapping[str, Trajectory] | None = None,
) -> str:
    """The whole file's text.

    Args:
        folder: the comparison's name.
        stopped: why it stopped before its end.
        reports: where each arm's own report is, seen from this page.
        trajectories: by case id, where its arms part.
    """
    sections = tuple(_sections(found, reports, trajectories or {}))
    headline, _, reason = (_sentence(part) for part in found.sentence.partition("; "))
    parts = render_page(
        "ab.html",
        "macros/ab_row.html",
        [row for section in sections for row in section.rows],
        (_entry(row, section) for section in sections for row in section.rows),
        found=found,
        headline=headline,
        reason=reason,
        folder=folder,
        stopped=stopped,
        reports=reports,
        sections=sections,
        metrics=tuple(_metrics(found)),
        like=LIKE,
        uncompared=tuple(_uncompared(found)),
        slopes=_slopes(found),
        chips=[(_KEYS[one], _CHIPS[one], sum(p.better == one for p in found.pairs)) for one, _, _ in _SECTIONS],
        tone={"a": "fail", "b": "pass"}.get(found.better, "inconclusive"),
    )
    return "".join(parts)


def _sections(
    found: ABVerdict, reports: tuple[str, str], trajectories: Mapping[str, Trajectory]
) -> Iterator[ABSection]:
    for better, title, note in _SECTIONS:
        pairs = sorted(
            (pair for pair in found.pairs if pair.better == better),
            key=lambda pair: (not pair.permanent, -abs(pair.difference or 0.0), pair.case_id),
        )
        if pairs:
            rows = tuple(_row(pair, reports, trajectories.get(pair.case_id)) for pair in pairs)
            yield ABSection(better, title, note, rows, folded=better == "neither shown" and len(pairs) > STATIC_DETAILS)


def _row(pair: CasePair, reports: tuple[str, str], trajectory: Trajectory | None) -> ABRow:
    bar, point = _interval(pair.low, pair.difference, pair.high, 1.0)
    return ABRow(
        pair=pair,
        anchor=f"case={pair.case_id}",
        key=_KEYS[pair.better],
        text=case_row(pair),
        rate_a="–" if pair.a.rate is None else percent(pair.a.rate),
        rate_b="–" if pair.b.rate is None else percent(pair.b.rate),
        bar=bar,
        point=point,
        means=tuple(_means(pair)),
        links=tuple(f"{report}#case={pair.case_id}" if report else "" for report in reports),  # type: ignore[arg-type]  # two
        trajectory=trajectory,
    )


def _entry(row: ABRow, section: ABSection) -> dict[str, Any]:
    pair = row.pair
    cost_a, cost_b = pair.a.means.get("cost"), pair.b.means.get("cost")
    cheaper = None if cost_a is None or cost_b is None else cost_a - cost_b
    return entry(
        pair.case_id,
        section=section.key,
        folded=section.folded,
        keys=[row.key, *(["gate"] if pair.permanent else [])],
        numbers={"rate": pair.difference, "p": pair.p_adjusted, "cost": cheaper},
        chosen={},
        text=f"{pair.case_id} {cut(pair.title, 200)} {row.text.word}".lower(),
    )


def _means(pair: CasePair) -> Iterator[tuple[str, str, str]]:
    for metric, a in pair.a.means.items():
        b = pair.b.means.get(metric)
        if b is not None and (a or b):
            yield metric, _mean(metric, a), _mean(metric, b)


def _mean(metric: Metric, value: float) -> str:
    return cost_text(value) or "0" if metric == "cost" else amount(metric, value)


def _sentence(part: str) -> str:
    return f"{part[:1].upper()}{part[1:]}"


def _metrics(found: ABVerdict) -> Iterator[MetricLine]:
    """The metrics' rows, each with a picture on a scale of its own: what matters is whether it meets no change."""
    changes: dict[str, tuple[RateChange | MetricChange, float | None]] = {
        metric_name(change.metric): (change, change.change) for change in found.metrics
    }
    if found.rate is not None:
        changes["pass rate"] = found.rate, found.rate.difference
    name = ""
    for row in metric_rows(found):
        name = name if row.name == LIKE else row.name.removesuffix(", this suite")
        change, middle = changes[name]
        suite, like = (change.low, middle, change.high), (change.low_like, middle, change.high_like)
        yield MetricLine(row, *(_scaled(*like, beside=suite) if row.name == LIKE else _scaled(*suite, beside=like)))


def _uncompared(found: ABVerdict) -> Iterator[str]:
    """Which metrics were not compared, by why."""
    names: dict[str, list[str]] = {}
    for change in found.metrics:
        if change.better == "not compared" and change.metric != found.primary:
            names.setdefault(change.reason, []).append(metric_name(change.metric))
    yield from (f"{', '.join(several)} not compared: {reason}" for reason, several in names.items())


def _scaled(
    low: float | None, middle: float | None, high: float | None, *, beside: tuple[float | None, ...] = ()
) -> tuple[str, str]:
    """A picture whose ends are the farthest of its numbers, or of those that it must be comparable with."""
    most = max((abs(value) for value in (low, middle, high, *beside) if value is not None), default=0.0)
    return _interval(low, middle, high, most * 1.1) if most else ("", "")


def _interval(low: float | None, middle: float | None, high: float | None, most: float) -> tuple[str, str]:
    """Path data of an interval and its middle, on a track whose ends are -`most` and `most`."""
    if middle is None:
        return "", ""

    def x(value: float) -> str:
        return f"{70 + _HALF * max(-1.0, min(1.0, value / most)):.1f}"

    return ("" if low is None or high is None else f"M{x(low)} 9H{x(high)}"), f"M{x(middle)} 9h0"


def _slopes(found: ABVerdict) -> Slopes | None:
    pairs = [pair for pair in found.pairs if pair.a.rate is not None and pair.b.rate is not None]
    if found.rate is None or not pairs:
        return None
    paths: dict[str, str] = {"a": "", "b": "", "": ""}
    for pair in pairs[:_MOST_LINES]:
        assert pair.a.rate is not None
        assert pair.b.rate is not None
        paths[pair.better if pair.better in ("a", "b") else ""] += _slope(pair.a.rate, pair.b.rate)
    left_out = len(pairs) - _MOST_LINES
    return Slopes(
        worse=paths["a"],
        better=paths["b"],
        same=paths[""],
        mean=_slope(found.rate.a, found.rate.b),
        sentence=(
            f"Each line is a case, from its pass rate in A to that in B: "
            f"{counted(sum(p.better == 'b' for p in pairs), 'case')} better in B (blue), "
            f"{sum(p.better == 'a' for p in pairs)} worse (orange, dashed), the others grey; the thick line is the "
            f"mean, {percent(found.rate.a)} to {percent(found.rate.b)}."
            + (f" {left_out:,} more are not drawn." if left_out > 0 else "")
        ),
    )


def _slope(a: float, b: float) -> str:
    return f"M{_SLOPE_A} {_slope_y(a)}L{_SLOPE_B} {_slope_y(b)}"


def _slope_y(rate: float) -> str:
    return f"{_SLOPE_BOTTOM - (_SLOPE_BOTTOM - _SLOPE_TOP) * rate:.1f}"
