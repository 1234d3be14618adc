"""A suite's nights: pass rate and cost as a picture and as text, where the rate changed, and who set the baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evalkit.figures import counted
from evalkit.percent import percent
from evalkit.report.text import cost_text, cut, interval_text, p_text
from evalkit.verdict.baseline import BaselineInfo
from evalkit.verdict.history import Night
from evalkit.verdict.trend import Rate, Shift, Trend, news, trend_of

__all__ = ["CHART_HEIGHT", "CHART_WIDTH", "Chart", "History", "NightLine", "build_history"]

MOST_NIGHTS = 60
CHART_WIDTH, CHART_HEIGHT = 1000, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 985, 12, 116
_COST_TOP, _COST_BOTTOM = 134, 176
_MOST_CASES = 60
"""Cases with varying rates beyond which changes of single ones are left to `evalkit trend`."""
_MOST_SHIFTS = 20
_MOST_TOLD = 3
_LOWS = (0.95, 0.9, 0.8, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class NightLine:
    """One night as text.

    Attributes:
        new: what it has otherwise than the one before.
        changed: the suite's rate is another one from here on.
        here: this run.
    """

    date: str
    run_id: str
    outcome: str
    counts: str
    rate: str
    interval: str
    cost: str
    new: str
    changed: bool
    here: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """The picture, as path data.

    Attributes:
        band: the rate's 95 % interval.
        bad: the points of nights that did not pass.
        bars: the cost.
        changes: lines where the suite's rate changed.
        ticks: (y, label) of the rate's axis, bottom first.
        dearest: the highest cost as text.
    """

    band: str = ""
    line: str = ""
    points: str = ""
    bad: str = ""
    bars: str = ""
    changes: str = ""
    ticks: tuple[tuple[float, str], ...] = ()
    dearest: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The section.

    Attributes:
        sentences: what the nights show, in words.
        nights: newest first; none where there is only this run.
        shifts: changes of single cases, as (case id, sentence).
        baselines: (when, run, who, why), the present one first.
    """

    sentences: tuple[str, ...] = ()
    nights: tuple[NightLine, ...] = ()
    chart: Chart = Chart()
    shifts: tuple[tuple[str, str], ...] = ()
    more_shifts: int = 0
    baselines: tuple[tuple[str, str, str, str], ...] = ()


def build_history(
    before: Sequence[Night],
    tonight: Callable[[], Night],
    baseline: BaselineInfo | None = None,
) -> History:
    """The history of a suite, this run last.

    Args:
        before: the nights before this one, oldest first.
        tonight: gives this run; asked for where there are others.
        baseline: what this run is compared with, and what came before it.
    """
    baselines = tuple(_baselines(baseline))
    if not before:
        return History(baselines=baselines)
    trend = trend_of([*before, tonight()][-MOST_NIGHTS:], most_cases=_MOST_CASES)
    return History(
        sentences=tuple(_told(trend)),
        nights=tuple(_lines(trend))[::-1],
        chart=_chart(trend),
        shifts=tuple((shift.case_id, _shift(shift)) for shift in trend.cases[:_MOST_SHIFTS]),
        more_shifts=max(len(trend.cases) - _MOST_SHIFTS, 0),
        baselines=baselines,
    )


def _told(trend: Trend) -> Iterator[str]:
    here, before = trend.rates[-1], trend.nights[:-1]
    rates = [rate.rate for rate in trend.rates[:-1] if rate is not None]
    runs = counted(len(before), "run")
    earlier = f"the {runs} before none"
    if rates:
        earlier = f"that of the {runs} before was {percent(sum(rates) / len(rates))}"
    now = "This run has no pass rate" if here is None else f"This run's mean pass rate is {percent(here.rate)}"
    yield f"{now}; {earlier}."
    if not trend.shared:
        yield "No case ran every night: from the mix of cases no change can be told."
        return
    over = f"Over the {counted(trend.shared, 'case')} that ran every night"
    if not trend.suite:
        yield f"{over} no lasting change of the pass rate is shown."
        return
    told = [f"it {_shift(shift)}." for shift in trend.suite[-_MOST_TOLD:]]
    often = f" {len(trend.suite)} times, at last" if len(trend.suite) > _MOST_TOLD else ""
    yield f"{over} the pass rate changed{often}: {' '.join(told)}"


def _shift(shift: Shift) -> str:
    word = "fell" if shift.after < shift.before else "rose"
    p = p_text(shift.p)
    told = (
        f"{word} from {percent(shift.before)} to {percent(shift.after)} with the run of {shift.started_at[:10]} "
        f"(p {p if p.startswith('<') else f'= {p}'})"
    )
    return cut(f"{told}; new then: {', '.join(shift.news)}" if shift.news else told, 400)


def _lines(trend: Trend) -> Iterator[NightLine]:
    changed = {shift.night for shift in trend.suite}
    for at, (night, rate) in enumerate(zip(trend.nights, trend.rates, strict=True)):
        here = at == len(trend.nights) - 1
        yield NightLine(
            date=night.started_at[:16].replace("T", " "),
            run_id=night.run_id,
            outcome=night.outcome,
            counts=f"{night.passed:,} of {night.n:,}",
            rate="–" if rate is None else percent(rate.rate),
            interval="" if rate is None else interval_text(rate.low, rate.high),
            cost=cost_text(night.cost_usd),
            new="" if not at else "; ".join(news(trend.nights[at - 1], night)),
            changed=at in changed,
            here=here,
        )


def _chart(trend: Trend) -> Chart:
    nights = trend.nights
    xs = [_LEFT + 5 + at * (_RIGHT - _LEFT - 5) / max(len(nights) - 1, 1) for at in range(len(nights))]
    seen = [(x, rate, night) for x, rate, night in zip(xs, trend.rates, nights, strict=True) if rate is not None]
    lowest = min((rate.low for _, rate, _ in seen), default=0.0)
    low = next(low for low in _LOWS if lowest > low or not low)
    dearest = max(night.cost_usd for night in nights)
    bar = (_COST_BOTTOM - _COST_TOP) / dearest if dearest else 0.0
    return Chart(
        band=_band([(x, rate) for x, rate, _ in seen], low),
        line="".join(f"{'L' if at else 'M'}{x:.0f} {_y(rate.rate, low):.1f}" for at, (x, rate, _) in enumerate(seen)),
        points="".join(f"M{x:.0f} {_y(rate.rate, low):.1f}h0" for x, rate, night in seen if _good(night)),
        bad="".join(
            f"M{x:.0f} {_y(rate.rate, low):.1f}m-4-4l8 8m0-8l-8 8" for x, rate, night in seen if not _good(night)
        ),
        bars="".join(
            f"M{x:.0f} {_COST_BOTTOM}V{_COST_BOTTOM - bar * night.cost_usd:.1f}"
            for x, night in zip(xs, nights, strict=True)
            if night.cost_usd
        ),
        changes="".join(
            f"M{(xs[shift.night - 1] + xs[shift.night]) / 2:.0f} {_TOP - 6}V{_COST_BOTTOM}" for shift in trend.suite
        ),
        ticks=tuple((_y(share, low), percent(share)) for share in (low, (1 + low) / 2, 1.0)),
        dearest=cost_text(dearest),
    )


def _good(night: Night) -> bool:
    return night.outcome in ("PASS", "")


def _band(places: Sequence[tuple[float, Rate]], low: float) -> str:
    if not places:
        return ""
    top = [f"{x:.0f} {_y(rate.high, low):.1f}" for x, rate in places]
    bottom = [f"{x:.0f} {_y(rate.low, low):.1f}" for x, rate in reversed(places)]
    return f"M{'L'.join([*top, *bottom])}z"


def _y(rate: float, low: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (max(rate, low) - low) / (1 - low)


def _baselines(info: BaselineInfo | None) -> Iterator[tuple[str, str, str, str]]:
    if info is not None:
        for one in (info.as_former, *reversed(info.former)):
            yield one.set_at[:16].replace("T", " "), one.run_id, one.actor, cut(one.reason, 200)
