"""The project's own cases and suites: they hold, and they gate the demo agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.app.checkup import check_library
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.app.gate import gate_run
from evalkit.app.run import run_suite
from evalkit.app.settings import Settings

REPOSITORY = Path(__file__).parents[2]


def test_the_library_holds() -> None:
    """Hashes, parents, views and lock of the committed cases."""
    checked, problems = check_library(REPOSITORY / "cases")
    assert checked >= 2
    assert problems == []


@pytest.mark.parametrize(
    ("suite", "target", "outcome"),
    [("release", "run_fixed", "PASS"), ("release", "run_buggy", "BLOCKED"), ("nightly", "run_fixed", "PASS")],
)
def test_the_suites_gate_the_demo_agent(suite: str, target: str, outcome: str, tmp_path: Path) -> None:
    """As committed, but for the port of the model."""
    settings = Settings(
        root=REPOSITORY, cases=REPOSITORY / "cases", suites=REPOSITORY / "suites", reports=tmp_path / "reports"
    )
    with serving(ScriptedModel(0.35, seed=5)) as base_url:
        overrides = {"model": {"base_url": base_url}, "target": f"evalkit.app.demo.agent:{target}"}
        run = run_suite(REPOSITORY / "suites" / f"{suite}.toml", settings, executor="serial", overrides=overrides)
    assert gate_run(run.folder, settings).decision.outcome == outcome
