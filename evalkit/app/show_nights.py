"""What the commands on nights show, as lines for people and as JSON with stable keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from evalkit.errors import InputError
from evalkit.figures import counted
from evalkit.percent import percent
from evalkit.report.text import interval_text, p_text
from evalkit.stats.interval import midp
from evalkit.trace.visible import visible
from evalkit.verdict.history import Night
from evalkit.verdict.trend import Rate, Shift, Trend, news

__all__ = ["TREND_HEAD", "shift_lines", "trend_json", "trend_rows"]

TREND_HEAD = ("night", "passed", "rate", "95 %", "lost", "cost", "decision", "new")


def trend_rows(trend: Trend, case_id: str = "") -> list[list[str]]:
    """A row a night; of one case where that is named.

    Raises:
        InputError: no night has such a case.
    """
    _check_case(trend, case_id)
    rows = []
    for at, night in enumerate(trend.nights):
        passed, n = night.cases.get(case_id, (0, 0)) if case_id else (night.passed, night.n)
        lost = sum(night.lost.get(case_id, (0, 0))) if case_id else night.missed + night.errored
        rate = _rate(trend, at, case_id)
        rows.append(
            [
                night.started_at.replace("T", " ").removesuffix("Z"),
                f"{passed}/{n}",
                "-" if rate is None else percent(rate.rate),
                "" if rate is None else interval_text(rate.low, rate.high),
                str(lost or ""),
                f"${night.cost_usd:.2f}" if night.cost_usd else "",
                _word(night, case_id),
                "; ".join(news(trend.nights[at - 1], night)) if at else "",
            ]
        )
    return rows


def shift_lines(trend: Trend, case_id: str = "") -> Iterator[str]:
    """The changes in words, the suite's first."""
    shifts = [*(() if case_id else trend.suite), *(one for one in trend.cases if case_id in ("", one.case_id))]
    for shift in shifts:
        what = shift.case_id or f"the suite ({trend.shared} cases that every night has)"
        word = "fell" if shift.after < shift.before else "rose"
        told = f"; new that night: {', '.join(shift.news)}" if shift.news else ""
        line = (
            f"{what} {word} from {percent(shift.before)} to {percent(shift.after)} with run {shift.run_id} "
            f"(p {p_text(shift.p)}){told}"
        )
        yield visible(line)
    rated = sum(_rate(trend, at, case_id) is not None for at in range(len(trend.nights)))
    if not rated:
        yield f"no sample of {counted(len(trend.nights), 'night')} came to a result"
    elif not shifts:
        without = len(trend.nights) - rated
        besides = f", and nothing of {counted(without, 'night')} without a result" if without else ""
        yield f"no change of the pass rate shown in {counted(rated, 'night')}{besides}"
    if len(trend.nights) > 1 and not trend.shared and not case_id:
        yield "no case is in every night, so nothing is said of the suite as a whole"


def trend_json(trend: Trend, case_id: str = "") -> dict[str, Any]:
    """The nights and the changes."""
    _check_case(trend, case_id)
    rates = [_rate(trend, at, case_id) for at in range(len(trend.nights))]
    nights = [
        {**asdict(night), "cases": dict(night.cases), "rate": None if rate is None else asdict(rate)}
        for night, rate in zip(trend.nights, rates, strict=True)
    ]
    if case_id:
        for body in nights:
            for table in ("cases", "estimates"):
                body[table] = {one: found for one, found in body[table].items() if one == case_id}
    shifts: list[Shift] = [*trend.suite, *trend.cases]
    return {
        "nights": nights,
        "shared_cases": trend.shared,
        "changes": [asdict(shift) for shift in shifts if case_id in ("", shift.case_id)],
    }


def _check_case(trend: Trend, case_id: str) -> None:
    if case_id and not any(case_id in night.cases for night in trend.nights):
        raise InputError(f"no night has a case {case_id!r}", "the suite's history", "evalkit trend SUITE")


def _rate(trend: Trend, at: int, case_id: str) -> Rate | None:
    if not case_id:
        return trend.rates[at]
    passed, n = trend.nights[at].cases.get(case_id, (0, 0))
    return Rate(passed / n, *midp(passed, n)) if n else None


def _word(night: Night, case_id: str) -> str:
    if not case_id:
        return night.outcome
    return night.verdicts.get(case_id, "PASS") if case_id in night.cases else ""
