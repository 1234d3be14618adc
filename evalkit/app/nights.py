"""A finished run becomes a night of its suite's history; which runs do, and what the nights say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.app.settings import Settings
from evalkit.canonical import digest
from evalkit.errors import InputError
from evalkit.suite.model import Manifest, Sample
from evalkit.verdict.history import Night, append_night, history_path, read_history
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.trend import Trend, trend_of

__all__ = ["chosen_history", "keep_night", "night_of", "suite_file", "suite_trend"]

_HARMLESS = {"budget", "sandbox", "unsafe_replay", "history", "baseline", "baseline_rules", "keep_traces", "sequential"}
"""Keys of a suite that change nothing of what is measured, or only how exactly."""
_NOT_MEASURED = {*_HARMLESS, "name", "prices"}
_ASKED_OF_MODEL = ("name", "system_prompt", "temperature", "extra_body")


def chosen_history(
    path: Path, keep: bool, overrides: Mapping[str, Any], asked: bool | None, *, whole: bool = True
) -> str:
    """The history that a run of a suite file goes to; empty for none.

    A run is a night where the suite wants that and the run is the suite's as its file has it: with another target, or
    with fewer samples, it would be compared with nights that measured something else. Another address of the model is
    the same model.

    Args:
        keep: whether the suite keeps nights.
        overrides: keys that were set on the command line; None among them is none.
        asked: ``--history`` or ``--no-history``; None for neither.
        whole: whether all cases of the suite are run.
    """
    changed = {key for key, value in overrides.items() if value is not None} - _HARMLESS
    if isinstance(overrides.get("model"), Mapping) and set(overrides["model"]) <= {"base_url"}:
        changed.discard("model")
    wanted = keep and whole and not changed if asked is None else asked
    return str(history_path(path)) if wanted else ""


def keep_night(manifest: Manifest, night: Night) -> str:
    """Adds a whole run to the history that its manifest names; gives what went wrong, in words.

    It never raises for that: a run that came to its end is worth more than its line in a file.
    """
    try:
        append_night(Path(manifest.history), night)
    except (InputError, OSError) as error:
        return f"not kept in the history: {str(error).splitlines()[0]}"
    return ""


def night_of(
    manifest: Manifest,
    samples: Mapping[str, Sequence[Sample]],
    verdicts: Sequence[CaseVerdict],
    decision: Decision,
) -> Night:
    """A run as a night."""
    every = [sample for one in samples.values() for sample in one]
    served = [sample.served for sample in every if sample.served is not None]
    policy = manifest.suite.get("policy")
    return Night(
        run_id=manifest.run_id,
        started_at=manifest.started_at,
        passed=sum(verdict.passed for verdict in verdicts),
        n=sum(verdict.n for verdict in verdicts),
        cost_usd=sum(sample.cost_usd for sample in every),
        cases={verdict.case_id: (verdict.passed, verdict.n) for verdict in verdicts},
        missed=sum(verdict.missed for verdict in verdicts),
        errored=sum(verdict.errored for verdict in verdicts),
        lost={one.case_id: (one.missed, one.errored) for one in verdicts if one.missed or one.errored},
        verdicts={one.case_id: one.verdict for one in verdicts if one.verdict != "PASS"},
        outcome=decision.outcome,
        suite=_suite_digest(manifest.suite),
        policy=str(policy.get("kind", "")) if isinstance(policy, Mapping) else "",
        commit=str(manifest.environment.get("git_commit") or ""),
        dirty=bool(manifest.environment.get("git_dirty")),
        models=_sorted(name for one in served for name in one.models),
        fingerprints=_sorted(name for one in served for name in one.fingerprints),
        duration_s=sum(sample.duration_s for sample in every),
    )


def suite_file(suite: str, settings: Settings) -> Path:
    """The file of a suite that is named by its file, or by its name."""
    return Path(suite) if suite.endswith(".toml") else settings.suites / f"{suite}.toml"


def suite_trend(suite: str, settings: Settings, *, last: int = 0) -> Trend:
    """The trend of a suite's history.

    Args:
        suite: its name or file, or the history's file.
        last: so many nights, the newest; 0 for all.

    Raises:
        InputError: there is no night, or the history is broken.
    """
    path = Path(suite) if suite.endswith(".jsonl") else history_path(suite_file(suite, settings))
    nights = read_history(path)
    if not nights:
        raise InputError(
            "there is no night in the history", str(path), "evalkit run SUITE keeps whole runs of the suite as it is"
        )
    return trend_of(nights[-last:] if last else nights)


def _suite_digest(suite: Mapping[str, Any]) -> str:
    """16 hex digits for what a suite measures: its cases, target, samples, policy, and what is asked of the model."""
    measured = {key: value for key, value in suite.items() if key not in _NOT_MEASURED}
    if isinstance(measured.get("model"), Mapping):
        measured["model"] = {key: measured["model"].get(key) for key in _ASKED_OF_MODEL}
    return digest(measured)[:16]


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
