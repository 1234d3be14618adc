"""Real traces through the whole of `ingest`, and a real incident through its replay."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.app.ingest import ingest_trace, load_one
from evalkit.app.settings import Settings
from evalkit.capture.tools import tool
from evalkit.case.store import read_case
from evalkit.check.judge import judge_checks
from evalkit.errors import CaseRefused
from evalkit.trace.model import Json, Trace
from evalkit.trace.read import load_traces
from tests.corpora import CORPORA, needs_corpora

pytestmark = needs_corpora

TAU = sorted((CORPORA / "tau-bench").glob("*.json"))
BUNDLES = sorted((CORPORA / "stepfork").rglob("*.sftrace"))
INCIDENT = CORPORA / "stepfork" / "examples" / "real-llm-case-study"
NEVER_CALLED: Json = {"called": [{"name": "a_tool_that_no_run_calls"}]}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A project of its own."""
    return Settings(root=tmp_path, cases=tmp_path / "cases", pseudonym_key="22" * 32)


def ingest_all(traces: list[Trace], settings: Settings) -> int:
    """Ingests each trace twice, into a library of its own: by itself, where a refusal is an answer, and with an
    expectation that it breaks."""
    for number, trace in enumerate(traces):
        alone = replace(settings, cases=settings.cases / str(number))
        with suppress(CaseRefused):
            ingest_trace(trace, alone, dry_run=True)
        done = ingest_trace(trace, alone, expect=NEVER_CALLED, case_id="case")
        assert done.path is not None
        back = read_case(done.path)
        assert any(not result.passed for result in judge_checks(back.gating, back.incident))
    return len(traces)


@pytest.mark.parametrize("path", TAU, ids=lambda path: path.stem)
def test_every_tau_bench_run_ingests(path: Path, settings: Settings) -> None:
    """Read, sanitized, pruned, given checks that fail on it, written, and read back."""
    assert ingest_all(list(load_traces(path)), settings) >= 58


def test_every_stepfork_bundle_ingests(settings: Settings) -> None:
    """Whole, failed, partial and old bundles."""
    assert ingest_all([trace for path in BUNDLES for trace in load_traces(path)], settings) == len(BUNDLES)


def recorded_calls() -> list[dict[str, Any]]:
    """The incident's own events."""
    lines = (INCIDENT / "traces" / "incident-triage.sftrace" / "events.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def body(name: str) -> Callable[..., Any]:
    """A tool of the incident; its body must never run."""

    def run(**arguments: Any) -> Any:
        raise AssertionError(f"{name} ran in a frozen replay")

    run.__name__ = name
    return tool(run)


def triage(severity: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An agent that makes the recorded calls, the model's through the SDK, and rates the incident."""

    def agent(given: dict[str, Any]) -> dict[str, Any]:
        from openai import OpenAI

        model = OpenAI(api_key="none", base_url="http://model.invalid/v1")
        answer = ""
        for event in recorded_calls():
            if event["type"] == "tool_call":
                body(event["name"])(**event["input"])
            elif event["type"] == "llm_request":
                reply = model.chat.completions.create(**event["input"]["request"])
                answer = reply.choices[0].message.content or ""
        decision: dict[str, Any] = json.loads(answer)
        return {**decision, **given, "severity": severity, "escalation_required": severity == "P0"}

    return agent


def incident_case(settings: Settings) -> str:
    """The real incident, with what people said that it should have come to."""
    trace = load_one(str(INCIDENT / "traces" / "incident-triage.sftrace"))
    expected = json.loads((INCIDENT / "expected.json").read_bytes())
    done = ingest_trace(trace, settings, expect=expected, case_id="triage")
    reasons = " ".join(result.reason for result in done.failing)
    assert "severity" in reasons
    assert "escalation_required" in reasons
    assert "incident_id" not in reasons
    return "triage"


@pytest.mark.parametrize(("severity", "status"), [("P1", "failed"), ("P0", "passed")])
def test_the_real_incident_replays_frozen(settings: Settings, severity: str, status: str) -> None:
    """Six calls recorded, six substituted, none executed; the bug fails, the fix passes, without a new recording."""
    case = incident_case(settings)
    target: Any = triage(severity)
    done = evalkit.replay(read_case(settings.cases / case), target, settings=settings)
    assert done.status == status, done.reason
    assert (done.recorded, done.counts.substituted) == (6, 6)
    assert (done.counts.tool_bodies, done.counts.live_model) == (0, 0)
