"""What the commands on baselines show, as lines for people and as JSON with stable keys."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from typing import Any

from evalkit.app.baselines import Comparison
from evalkit.errors import ExitCode
from evalkit.percent import percent, points, points_between, signed_points
from evalkit.report.text import interval_text, p_text
from evalkit.stats.interval import midp
from evalkit.trace.visible import visible
from evalkit.verdict.baseline import Baseline, BaselineInfo
from evalkit.verdict.effect import OPPOSED, opposed
from evalkit.verdict.model import CaseVerdict, Change, SuiteEffect

__all__ = [
    "BASELINE_HEAD",
    "COMPARISON_HEAD",
    "baseline_json",
    "baseline_lines",
    "baseline_rows",
    "comparison_exit_code",
    "comparison_json",
    "comparison_lines",
    "comparison_rows",
]

_ALPHA = 0.05
"""The level at which a suite as a whole is said to be worse."""

BASELINE_HEAD = ("case", "version", "passed", "rate", "95 %", "answered by")
COMPARISON_HEAD = ("case", "then", "now", "change", "p", "adjusted")


def baseline_lines(info: BaselineInfo) -> Iterator[str]:
    """Whose decision it was, of which runs, and what stood there before."""
    runs = ", ".join(info.runs) or info.run_id
    many = f"{len(info.runs)} runs together: " if len(info.runs) > 1 else "run "
    yield visible(f"{many}{runs}, measured {info.measured_at}")
    yield visible(f"set by {info.actor} at {info.set_at}: {info.reason}")
    if len(info.commits) > 1:
        yield visible(f"of {len(info.commits)} commits: {', '.join(commit[:10] for commit in info.commits)}")
    for former in reversed(info.former):
        yield visible(f"before: run {former.run_id}, set by {former.actor} at {former.set_at}: {former.reason}")


def baseline_rows(found: Baseline) -> list[list[str]]:
    """A row a case."""
    rows = []
    for case_id, (passed, n, _) in found.counts.items():
        facts = found.facts[case_id]
        rows.append(
            [
                case_id,
                str(facts.version),
                f"{passed}/{n}",
                percent(passed / n) if n else "-",
                interval_text(*midp(passed, n)) if n else "",
                ", ".join((*facts.models, *facts.fingerprints)),
            ]
        )
    return rows


def baseline_json(found: Baseline) -> dict[str, Any]:
    """Where it comes from, and its table."""
    return {"info": asdict(found.info), "rows": [*found.rows()]}


def comparison_rows(found: Comparison) -> list[list[str]]:
    """A row a case; what was not compared has its reason in the lines."""
    return [
        [
            verdict.case_id,
            "" if verdict.baseline is None else f"{verdict.baseline.passed}/{verdict.baseline.n}",
            f"{verdict.passed}/{verdict.n}",
            verdict.change,
            p_text(verdict.p_value),
            p_text(verdict.p_adjusted),
        ]
        for verdict in found.verdicts
    ]


def comparison_lines(found: Comparison) -> Iterator[str]:
    """The suite as a whole, and why cases were not compared."""
    compared = sum(_is_compared(verdict) for verdict in found.verdicts)
    yield visible(
        f"run {found.run_id} against run {found.info.run_id}: {compared} of {len(found.verdicts)} cases compared"
    )
    if found.effect is not None:
        between = points_between(*found.effect.this_suite)
        sure = f'(95 %: {between} points), exact p of "worse" {p_text(found.effect.p_worse)}'
        how = "in equal replays, here and there" if found.effect.deterministic else sure
        yield f"{_suite_told(found.effect, {verdict.change for verdict in found.verdicts})} {how}"
    for verdict in found.verdicts:
        if verdict.stale:
            yield visible(f"{verdict.case_id}: {verdict.stale}")


def _suite_told(effect: SuiteEffect, changes: AbstractSet[Change]) -> str:
    """What is shown of the suite: by the exact test or the interval, or by a case of it."""
    difference = effect.difference
    if opposed(difference, effect.p_worse):
        return f"this suite: {OPPOSED}; {signed_points(difference)}"
    if _is_worse(effect) or (difference < 0 and "regressed" in changes):
        return f"this suite is worse by {points(-difference)}"
    if difference > 0 and ("improved" in changes or effect.this_suite[0] > 0):
        return f"this suite is better by {points(difference)}"
    shown = "" if effect.deterministic else " shown"
    return f"this suite: no change{shown}, {signed_points(difference)}"


def _is_worse(effect: SuiteEffect) -> bool:
    return effect.p_worse <= _ALPHA and effect.difference < 0


def comparison_json(found: Comparison) -> dict[str, Any]:
    """The comparison."""
    cases = [
        {
            "case": one.case_id,
            "version": one.version,
            "passed": one.passed,
            "n": one.n,
            "baseline": None if one.baseline is None else asdict(one.baseline),
            "change": one.change,
            "p": one.p_value,
            "p_adjusted": one.p_adjusted,
            "stale": one.stale,
        }
        for one in found.verdicts
    ]
    return {"run": found.run_id, "baseline": asdict(found.info), "suite": _effect_json(found.effect), "cases": cases}


def _effect_json(effect: SuiteEffect | None) -> dict[str, Any]:
    if effect is None:
        return {"p_worse": None, "difference": 0.0, "low": 0.0, "high": 0.0, "deterministic": False}
    low, high = effect.this_suite
    return {
        "p_worse": effect.p_worse,
        "difference": effect.difference,
        "low": low,
        "high": high,
        "deterministic": effect.deterministic,
    }


def comparison_exit_code(found: Comparison) -> ExitCode:
    """1 where a case or the suite is shown to be worse, 3 where nothing could be compared, else 0."""
    is_worse = found.effect is not None and _is_worse(found.effect)
    if is_worse or any(verdict.change == "regressed" for verdict in found.verdicts):
        return ExitCode.BLOCKED
    return ExitCode.DONE if any(map(_is_compared, found.verdicts)) else ExitCode.INCONCLUSIVE


def _is_compared(verdict: CaseVerdict) -> bool:
    return verdict.baseline is not None and verdict.n > 0
