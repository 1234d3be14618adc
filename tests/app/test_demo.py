"""The demo: the whole loop on one incident, with the real commands' code and a model whose error rate is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.app.demo.server import ScriptedModel
from evalkit.app.demo.walk import CASE_ID, walk
from evalkit.case.store import read_case
from evalkit.suite.results import read_samples
from tests.project import Project


def test_the_loop_closes_and_opens_the_gate(tmp_path: Path) -> None:
    """Buggy: BLOCKED, with both outcomes among its samples; mended: PASS; tools frozen, model live."""
    said: list[str] = []
    buggy, fixed = walk(tmp_path, say=said.append)
    outcomes = {sample.outcome for sample in read_samples(buggy.folder)[CASE_ID]}
    assert outcomes == {"passed", "failed"}
    assert any("BLOCKED" in line for line in said)
    assert fixed.decision.outcome == "PASS"
    for sample in read_samples(fixed.folder)[CASE_ID]:
        assert (sample.outcome, sample.tool_bodies, sample.live_model) == ("passed", 0, 4)
        assert sample.input_tokens > 0
    assert (tmp_path / "suites" / "release.baseline.parquet").exists()


@pytest.mark.parametrize(("rate", "low", "high"), [(0.0, 0, 0), (1.0, 1, 1), (0.35, 0.30, 0.40)])
def test_the_scripted_model_errs_at_its_rate(rate: float, low: float, high: float) -> None:
    """2,000 conversations at a known rate."""
    model = ScriptedModel(rate, seed=3)
    call = {"function": {"name": "refund_order", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "help"},
        {"role": "user", "content": "order A-1001"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "lookup_order", "arguments": "{}"}}]},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": '{"amount": 5.0}'},
    ]
    names = [model.reply(messages)["tool_calls"][0]["function"]["name"] for _ in range(2000)]
    assert low <= names.count("refund_order") / 2000 <= high


def test_the_command_tells_the_story_without_the_customer(project: Project) -> None:
    """In a folder of one's own; the customer of the incident appears in no file, the recording included."""
    done = project.run("demo", "--keep", "demo")
    assert done.code == 0
    assert "PASS: 1 permanent case passed" in done.out
    left = [path for path in (project.root / "demo").rglob("*") if path.is_file()]
    assert len(left) > 10
    for path in left:
        content = path.read_bytes()
        assert b"posteo-mail" not in content, path
        assert b"Vogt" not in content, path
    case = read_case(project.root / "demo" / "cases" / CASE_ID)
    assert "Vogt" not in json.dumps([step.output for step in case.incident.steps])


def test_init_overwrites_nothing(project: Project) -> None:
    """A second init keeps what is there."""
    assert project.run("init").code == 0
    project.write("evalkit.toml", 'owner = "me"\n')
    assert "kept  evalkit.toml" in project.run("init").out
    assert (project.root / "evalkit.toml").read_text("utf-8") == 'owner = "me"\n'
    assert project.run("list").code == 0
