"""The order of sets is the same in every process of a replay, and in the recording that `evalkit record` makes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from evalkit.trace.read import load_traces
from tests.project import Project

WORDS = "refund lookup order ticket price seat"
AGENT = f"""
import evalkit

@evalkit.tool(effect="read")
def look(words: list) -> str:
    return "found"

def run():
    look(list(set({WORDS!r}.split())))
    raise ValueError("broken")

if __name__ == "__main__":
    run()
"""


@pytest.fixture
def unseeded(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose processes draw their hash seeds."""
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    project.write("hashing.py", AGENT)
    return project


def test_an_agent_that_goes_through_a_set_is_recorded_and_replayed(unseeded: Project) -> None:
    """Three replays in processes of their own ask what the recorded one asked."""
    assert unseeded.started("record", "--out", "run.trace", "--", sys.executable, "hashing.py").code == 1
    made = unseeded.started("ingest", "run.trace", "--id", "set", "--target", "hashing:run", "--no-verify")
    assert made.code == 0, made.err
    for _ in range(3):
        done = unseeded.started("replay", "set")
        assert "missed 0" in done.out, done.out + done.err


def test_a_chosen_seed_stays(unseeded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone wants another order."""
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    unseeded.started("record", "--out", "run.trace", "--", sys.executable, "hashing.py")
    (trace,) = load_traces(unseeded.root / "run.trace")
    show = f"print(*set({WORDS!r}.split()))"
    told = subprocess.run([sys.executable, "-c", show], env=os.environ, capture_output=True, text=True, check=True)
    (step,) = [step for step in trace.steps if step.kind == "tool"]
    assert step.input == {"words": told.stdout.split()}
