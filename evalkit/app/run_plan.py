"""Before a run: its suite, what it is measured against, what keeps it in, and what it may cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.app.settings import Settings
from evalkit.case.store import read_case
from evalkit.errors import ReplayRefused
from evalkit.playback.endpoint.budget import check_prices
from evalkit.playback.keys import requested_model
from evalkit.playback.model import LAYERS, OUTSIDE_LAYERS
from evalkit.playback.targets.reference import is_outside
from evalkit.suite.case_ref import CaseRef, targets_of
from evalkit.suite.config import load_suite
from evalkit.suite.model import Suite
from evalkit.suite.texts import beside, shared
from evalkit.verdict.baseline import Baseline, read_baseline
from evalkit.verdict.compare import baseline_rows
from evalkit.verdict.plans import Measure, Plans
from evalkit.verdict.staleness import stale_cases

__all__ = [
    "baseline_path",
    "check_cost_budget",
    "layers_of",
    "measures_of",
    "models_asked",
    "read_suite",
    "runs_twice",
    "samples_about",
    "suite_baseline",
    "underpowered_lines",
    "with_settings",
]


def read_suite(path: str | Path, settings: Settings, overrides: Mapping[str, Any] | None = None) -> Suite:
    """A suite's file with what the settings add: target, baseline beside it, model, miss policies, prices.

    Args:
        overrides: suite keys that win over the file; None among the values is none.

    Raises:
        ConfigError: it can't be used.
    """
    suite = load_suite(path, overrides, settings.model)
    baseline = str(settings.root / suite.baseline) if suite.baseline else _baseline_beside(path)
    return with_settings(replace(suite, baseline=baseline), settings)


def with_settings(suite: Suite, settings: Settings) -> Suite:
    """A suite with the project's prices; its target and miss policies hold where it says nothing itself."""
    return replace(
        suite,
        target=suite.target or settings.target,
        on_miss=(*suite.on_miss, *settings.on_miss),
        prices=settings.prices,
    )


def baseline_path(suite_path: Path) -> Path:
    """Where a suite's baseline stands: beside it."""
    return suite_path.with_name(f"{suite_path.stem}.baseline.parquet")


def suite_baseline(suite: Suite) -> Baseline | None:
    """The baseline that a suite names, if it does."""
    return read_baseline(Path(suite.baseline)) if suite.baseline else None


def measures_of(suite: Suite, cases: Sequence[CaseRef], at: str) -> Mapping[str, Measure]:
    """Passes and samples in the suite's baseline, of each case that has one which is not known to be stale."""
    baseline = suite_baseline(suite)
    rows, stale = baseline_rows(cases, baseline), stale_cases(cases, {}, baseline, suite.baseline_rules, at)
    return beside(rows, shared(None if id in stale else (row.passed, row.n) for id, row in rows.items()))


def underpowered_lines(underpowered: Mapping[str, str], *, frozen: bool) -> Iterator[str]:
    """What is said before a run whose samples are too few; cases of one sentence share a line."""
    unless = "; only cases whose replays are all equal need fewer" if frozen else ""
    for said in dict.fromkeys(underpowered.values()):
        cases = [case_id for case_id, one in underpowered.items() if one == said]
        others = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        yield f"UNDERPOWERED: {cases[0]}{others}: {said}{unless}"


def runs_twice(suite: Suite) -> bool:
    """Whether two equal replays are enough."""
    return suite.mode == "exact" and suite.sequential


def samples_about(suite: Suite, plans: Plans) -> int:
    """About how many samples a run takes: without early stopping, and two a case where equal replays are enough."""
    return sum(2 if runs_twice(suite) else plan.fixed for plan in plans.values())


def check_cost_budget(suite: Suite, cases: Sequence[CaseRef]) -> None:
    """Refuses a cost budget that can't be kept; which models will be asked, the recordings say."""
    if suite.budget.cost_usd is None or suite.model is None or not suite.live:
        return
    check_prices(suite.budget, suite.prices, models_asked(suite, cases))


def models_asked(suite: Suite, cases: Sequence[CaseRef]) -> Iterator[str]:
    """The models that a suite with a live model asks: its own, else those that the recordings name; "" for no name."""
    if suite.model is not None and suite.model.name is not None:
        yield suite.model.name
        return
    for case in cases:
        steps = read_case(case.path).trace.trace.of_kind("model")
        yield from sorted({requested_model(step) or "" for step in steps})


def layers_of(suite: Suite, cases: Sequence[CaseRef]) -> tuple[str, ...]:
    """What will keep the run's replays from the world; said in the manifest and the report.

    Raises:
        ReplayRefused: a sandbox is asked for, and Landlock or seccomp does not hold.
    """
    if not suite.sandbox:
        outside = [is_outside(suite.target or target) for target in targets_of(cases)]
        return (*(() if outside and all(outside) else LAYERS), *(OUTSIDE_LAYERS if any(outside) else ()))
    from evalkit.playback.sandbox.run import probe_layers  # runs without a sandbox need not load it

    held = probe_layers()
    if not held.safe and not suite.unsafe_replay:
        raise ReplayRefused(*held.refusal("sandbox"))
    return held.told(live=suite.live)


def _baseline_beside(path: str | Path) -> str:
    """The baseline beside a suite, where there is one; empty otherwise."""
    found = baseline_path(Path(path))
    return str(found) if found.exists() else ""
