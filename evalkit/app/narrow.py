"""A part of a suite: cases that a filter means, cases that failed in another run; the run's manifest says which."""

from __future__ import annotations

from pathlib import Path

from evalkit.canonical import Json
from evalkit.errors import ConfigError, InputError
from evalkit.report.data import verdicts_from_json
from evalkit.suite.case_ref import CaseRefs
from evalkit.suite.filter import parse_filter
from evalkit.suite.manifest import read_manifest
from evalkit.suite.results import SAMPLES_NAME

__all__ = ["narrowed"]


def narrowed(cases: CaseRefs, filter_text: str, only_failing: Path | None) -> tuple[CaseRefs, dict[str, Json]]:
    """The cases that are meant, and what the manifest says of it; empty where all are.

    Raises:
        ConfigError: no filter, or nothing is left.
        InputError: there is no such run, or it is not finished.
    """
    part: dict[str, Json] = {}
    chosen = cases
    if filter_text:
        meant = parse_filter(filter_text)
        chosen = chosen.those(meant)
        part["filter"] = filter_text
        if not chosen:
            raise ConfigError(
                f"none of the suite's {len(cases)} cases is meant", f"--filter {filter_text!r}", "evalkit list"
            )
    if only_failing is not None:
        failing = _failing(only_failing)
        chosen = chosen.those(lambda case: case.id in failing)
        part["only_failing"] = read_manifest(only_failing).run_id
        if not chosen:
            raise ConfigError(
                f"none of the cases failed there ({len(failing)} of the run's did)",
                f"--only-failing {only_failing}",
                "run the suite without it",
            )
    return chosen, {**part, "of": len(cases)} if part else {}


def _failing(run: Path) -> set[str]:
    path = run / "verdicts.json"
    read_manifest(run)
    if not (path.exists() and (run / SAMPLES_NAME).exists()):  # verdicts may be of what it was before it went on
        raise InputError("the run is not finished", str(run), f"evalkit run --resume {run}")
    text = path.read_bytes()
    verdicts, _ = verdicts_from_json(text, str(path))
    return {verdict.case_id for verdict in verdicts if verdict.effect != "passes" and not verdict.screened}
