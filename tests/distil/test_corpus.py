"""On real runs: what the project promises of a case made from an incident and a healthy run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from evalkit.check.judge import judge_checks
from evalkit.distil.propose import propose
from evalkit.distil.signature import signature
from evalkit.trace.read import load_traces

ROOT = Path(__file__).parents[2]
CORPORA = ROOT.parent / "shared" / "corpora"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPORA.is_dir(), reason="the corpora are not beside the repository"),
]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark script as a module."""
    spec = importlib.util.spec_from_file_location("bench_judge", ROOT / "ci" / "bench" / "judge.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_judge", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("corpus", "least"), [("tau-bench airline", 0.88), ("tau2-bench airline", 0.97)])
def test_cases_by_contrast_judge_other_runs(bench: ModuleType, corpus: str, least: float) -> None:
    """Balanced accuracy over all pairs, none refused, above plain equality of the changes."""
    pattern, threshold = bench.CORPORA[corpus]
    runs = list(bench.load_runs(sorted(CORPORA.glob(pattern)), threshold))
    found = bench.score(runs, bench.by_checks)
    plain = bench.score(runs, bench.by_equality_always)
    assert found["refused"] == 0
    assert found["balanced_accuracy"] >= max(least, plain["balanced_accuracy"])


def test_an_expected_answer_names_the_fields_that_differ() -> None:
    """A real incident of another tool, with the answer that its people expected."""
    folder = CORPORA / "stepfork" / "examples" / "real-llm-case-study"
    (incident,) = load_traces(folder / "traces" / "incident-triage.sftrace")
    checks = propose(incident, expect=json.loads((folder / "expected.json").read_text("utf-8")))
    results = judge_checks(checks, incident)
    assert [result.reason for result in results if result.gating] == [
        '/escalation_required: expected true, got false; /severity: expected "P0", got "P1"'
    ]
    assert signature(incident, results) == "DATA_OUTPUT_WRONG:escalation_required+severity"
