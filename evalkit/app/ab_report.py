"""The page of an A/B comparison: read what the arms left, lay it side by side where they differ, write one file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalkit.app.ab_model import ABRun
from evalkit.report.ab_page import render_ab_html
from evalkit.report.detail import shown_samples
from evalkit.report.trajectory import Trajectory, build_trajectory
from evalkit.suite.model import Outcome, Sample
from evalkit.suite.results import read_samples, read_traces
from evalkit.trace.model import Trace

__all__ = ["ab_html"]

_MOST_TOLD = 30
"""Cases whose steps are laid side by side, those with the largest difference first."""
_TEXT = 1_000
_KINDS: Mapping[Outcome, str] = {"passed": "passing", "failed": "failing", "missed": "missed", "errored": "errored"}


def ab_html(run: ABRun, folder: Path) -> str:
    """The page, as it will stand in `folder`."""
    return render_ab_html(
        run.verdict,
        folder=folder.name,
        stopped=run.stopped,
        reports=(_seen_from(folder, run.runs[0]), _seen_from(folder, run.runs[1])),
        trajectories=_trajectories(run),
    )


def _seen_from(folder: Path, run: Path) -> str:
    """The path of a run's report as a link; empty where there is none."""
    report = run / "report.html"
    return Path(os.path.relpath(report, folder)).as_posix() if report.exists() else ""


def _trajectories(run: ABRun) -> dict[str, Trajectory]:
    """Where the arms part, by case: the better arm's passing replay beside the other's failing one."""
    differ = sorted(
        (pair for pair in run.verdict.pairs if pair.better in ("a", "b")), key=lambda pair: -abs(pair.difference or 0.0)
    )[:_MOST_TOLD]
    if not differ:
        return {}
    samples = {arm: read_samples(folder) for arm, folder in zip(("a", "b"), run.runs, strict=True)}
    chosen: dict[str, list[Sample]] = {}
    for pair in differ:
        ours = [_example(one.get(pair.case_id, ()), failing=pair.better != arm) for arm, one in samples.items()]
        if all(ours):
            chosen[pair.case_id] = [sample for sample in ours if sample is not None]
    traces = [read_traces(folder, {two[arm].trace for two in chosen.values()}) for arm, folder in enumerate(run.runs)]
    return {
        case_id: build_trajectory(_columns(two, traces), _TEXT)
        for case_id, two in chosen.items()
        if all(sample.trace in kept for sample, kept in zip(two, traces, strict=True))
    }


def _example(samples: Sequence[Sample], *, failing: bool) -> Sample | None:
    """A sample that failed or that passed; the other where there is none."""
    bad, good = shown_samples(samples)
    return (bad or good) if failing else (good or bad)


def _columns(samples: Sequence[Sample], traces: Sequence[Mapping[str, Trace]]) -> list[tuple[str, Trace]]:
    return [
        (f"{_KINDS[sample.outcome]} replay of {arm} (sample {sample.index + 1})", kept[sample.trace])
        for arm, sample, kept in zip(("A", "B"), samples, traces, strict=True)
    ]
