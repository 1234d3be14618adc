"""A suite's nights: pass rate and cost as a picture and as text, and where the rate changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.report.text import cost_text, counted, p_text, percent
from evalkit.stats.change_point import ChangePoint, change_point
from evalkit.suite.model import Manifest
from evalkit.verdict.history import Night
from evalkit.verdict.model import CaseVerdict, Decision

__all__ = ["CHART_HEIGHT", "CHART_WIDTH", "NO_HISTORY", "History", "NightLine", "build_history"]

MOST_NIGHTS = 60
CHART_WIDTH, CHART_HEIGHT = 1000, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 990, 12, 116
_COST_TOP, _COST_BOTTOM = 134, 176
_FEWEST = 5
"""Nights below which no change is looked for."""
_SHOWN = 0.05


@dataclass(frozen=True, slots=True)
class NightLine:
    """One night as text.

    Attributes:
        changed: the rate is another one from here on.
        here: this run.
    """

    date: str
    run_id: str
    outcome: str
    rate: str
    counts: str
    cost: str
    changed: bool
    here: bool


@dataclass(frozen=True, slots=True)
class History:
    """The section.

    Attributes:
        sentence: what the nights show, in words.
        nights: newest first.
        line, points, bad: path data of the rate, its points, and those of nights that were not passed.
        bars: path data of the cost.
        change: path data of the line where the rate changed.
        ticks: (y, label) of the rate's axis, bottom first.
        dearest: the highest cost as text.
    """

    sentence: str = ""
    nights: tuple[NightLine, ...] = ()
    line: str = ""
    points: str = ""
    bad: str = ""
    bars: str = ""
    change: str = ""
    ticks: tuple[tuple[float, str], ...] = ()
    dearest: str = ""


NO_HISTORY = History()


def build_history(
    before: Sequence[Night], manifest: Manifest, verdicts: Sequence[CaseVerdict], decision: Decision
) -> History:
    """The history of a suite, this run last.

    Args:
        before: the nights before this one, oldest first.
    """
    nights = [*before, _now(manifest, verdicts, decision)][-MOST_NIGHTS:]
    changed, same = _change(nights)
    low, ticks = _axis(nights)
    xs = [_LEFT + at * (_RIGHT - _LEFT) / max(len(nights) - 1, 1) for at in range(len(nights))]
    places = [(x, _y(night.passed / night.n, low)) for x, night in zip(xs, nights, strict=True) if night.n]
    dearest = max(night.cost_usd for night in nights)
    return History(
        sentence=" ".join(_told(nights, changed, same)),
        nights=tuple(_lines(nights, changed))[::-1],
        line="".join(f"{'L' if at else 'M'}{x:.0f} {y:.1f}" for at, (x, y) in enumerate(places)),
        points="".join(f"M{x:.0f} {y:.1f}h0" for x, y in places),
        bad="".join(
            f"M{x:.0f} {_y(night.passed / night.n, low):.1f}m-3.5-3.5l7 7m0-7l-7 7"
            for x, night in zip(xs, nights, strict=True)
            if night.n and night.outcome not in ("PASS", "")
        ),
        bars="".join(
            f"M{x:.0f} {_COST_BOTTOM}V{_COST_BOTTOM - (_COST_BOTTOM - _COST_TOP) * night.cost_usd / dearest:.1f}"
            for x, night in zip(xs, nights, strict=True)
            if dearest and night.cost_usd
        ),
        change="" if changed is None else f"M{(xs[changed.at - 1] + xs[changed.at]) / 2:.0f} {_TOP - 6}V{_COST_BOTTOM}",
        ticks=ticks,
        dearest=cost_text(dearest),
    )


def _now(manifest: Manifest, verdicts: Sequence[CaseVerdict], decision: Decision) -> Night:
    return Night(
        run_id=manifest.run_id,
        started_at=manifest.started_at,
        passed=sum(verdict.passed for verdict in verdicts),
        n=sum(verdict.n for verdict in verdicts),
        cost_usd=sum(verdict.cost_usd for verdict in verdicts),
        cases={verdict.case_id: (verdict.passed, verdict.n) for verdict in verdicts},
        outcome=decision.outcome,
    )


def _change(nights: Sequence[Night]) -> tuple[ChangePoint | None, int]:
    """Where the rate of the cases that ran every night changed, if that is shown; and how many these cases are."""
    if len(nights) < _FEWEST:
        return None, 0
    same = set(nights[0].cases).intersection(*(night.cases for night in nights))
    counts = [[night.cases[case_id] for case_id in same] for night in nights]
    passed = [sum(one for one, _ in night) for night in counts]
    n = [sum(all_ for _, all_ in night) for night in counts]
    found = change_point(passed, n, np.random.default_rng(0)) if same else None
    return (found if found is not None and found.p <= _SHOWN else None), len(same)


def _told(nights: Sequence[Night], changed: ChangePoint | None, same: int) -> Iterator[str]:
    now, before = nights[-1], nights[:-1]
    n = sum(night.n for night in before)
    earlier = percent(sum(night.passed for night in before) / n) if n else "–"
    tonight = percent(now.passed / now.n) if now.n else "–"
    yield f"{tonight} of this run's samples passed, {earlier} in the {counted(len(before), 'run')} before."
    if len(nights) < _FEWEST:
        yield f"A change is looked for from {_FEWEST} runs on."
    elif not same:
        yield "No case ran every night, so no change can be told from the mix of cases."
    elif changed is None:
        yield f"Over the {counted(same, 'case')} that ran every night no lasting change of the pass rate is shown."
    else:
        yield (
            f"Over the {counted(same, 'case')} that ran every night the pass rate changed with the run of "
            f"{nights[changed.at].started_at[:10]}: {percent(changed.before)} before, {percent(changed.after)} from "
            f"then on (p {_p(changed.p)}, all places accounted for)."
        )


def _p(p: float) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _lines(nights: Sequence[Night], changed: ChangePoint | None) -> Iterator[NightLine]:
    for at, night in enumerate(nights):
        yield NightLine(
            date=night.started_at[:16].replace("T", " "),
            run_id=night.run_id,
            outcome=night.outcome,
            rate=percent(night.passed / night.n) if night.n else "–",
            counts=f"{night.passed:,} of {night.n:,}",
            cost=cost_text(night.cost_usd),
            changed=changed is not None and at == changed.at,
            here=at == len(nights) - 1,
        )


def _axis(nights: Sequence[Night]) -> tuple[float, tuple[tuple[float, str], ...]]:
    """Where the axis begins, a round share below the lowest rate, and its ticks."""
    lowest = min((night.passed / night.n for night in nights if night.n), default=0.0)
    low = next(low for low in (0.95, 0.9, 0.8, 0.5, 0.0) if lowest > low or not low)
    return low, tuple((_y(share, low), percent(share)) for share in (low, (1 + low) / 2, 1.0))


def _y(rate: float, low: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (rate - low) / (1 - low)
